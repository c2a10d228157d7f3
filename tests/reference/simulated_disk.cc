#include "reference/simulated_disk.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

namespace retsu::reference {
namespace {

constexpr std::int64_t kSector = 512;

std::string unique_name() {
  static std::atomic<int> made = 0;
  return "retsu-simulated-disk-" + std::to_string(++made);
}

}  // namespace

// What SQLite calls. An open file is a sqlite3_file with ours behind it.
struct DiskMethods {
  using File = SimulatedDisk::File;
  struct Open {
    sqlite3_file base;
    SimulatedDisk* disk;
    std::shared_ptr<File>* file;
    int lock;
    std::array<int, SQLITE_SHM_NLOCK>* held;  // shared locks: 1 reader, -1 writer
  };
  static Open& open(sqlite3_file* file) { return *reinterpret_cast<Open*>(file); }
  static SimulatedDisk& disk(sqlite3_vfs* vfs) {
    return *static_cast<SimulatedDisk*>(vfs->pAppData);
  }

  static int close(sqlite3_file* handle) {
    Open& of = open(handle);
    {
      const std::lock_guard lock(of.disk->mutex_);
      set_lock(of, SQLITE_LOCK_NONE);
      drop_shared(of);
    }
    delete of.file;
    delete of.held;
    return SQLITE_OK;
  }

  static int read(sqlite3_file* handle, void* to, int bytes, sqlite3_int64 at) {
    Open& of = open(handle);
    const std::lock_guard lock(of.disk->mutex_);
    if (of.disk->dead_) return SQLITE_IOERR_READ;
    const std::string& seen = (*of.file)->seen;
    const std::int64_t there =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(seen.size()) - at, 0, bytes);
    if (there > 0) std::memcpy(to, seen.data() + at, static_cast<std::size_t>(there));
    if (there == bytes) return SQLITE_OK;
    std::memset(static_cast<char*>(to) + there, 0, static_cast<std::size_t>(bytes - there));
    return SQLITE_IOERR_SHORT_READ;
  }

  static int write(sqlite3_file* handle, const void* from, int bytes, sqlite3_int64 at) {
    Open& of = open(handle);
    const std::lock_guard lock(of.disk->mutex_);
    if (const int code = of.disk->fault(DiskCall::kWrite)) return code;
    File& file = **of.file;
    const std::int64_t growth =
        std::max<std::int64_t>(0, at + bytes - static_cast<std::int64_t>(file.seen.size()));
    if (of.disk->capacity_ && growth > 0) {
      std::int64_t used = growth;
      for (const auto& [name, other] : of.disk->files_)
        used += static_cast<std::int64_t>(other->seen.size());
      if (used > *of.disk->capacity_) return SQLITE_FULL;
    }
    SimulatedDisk::Write made{
        at, std::string(static_cast<const char*>(from), static_cast<std::size_t>(bytes)), false};
    SimulatedDisk::apply(file.seen, made);
    file.unsynced.push_back(std::move(made));
    return SQLITE_OK;
  }

  static int truncate(sqlite3_file* handle, sqlite3_int64 size) {
    Open& of = open(handle);
    const std::lock_guard lock(of.disk->mutex_);
    if (const int code = of.disk->fault(DiskCall::kTruncate)) {
      return code == SQLITE_FULL ? code : SQLITE_IOERR_TRUNCATE;
    }
    SimulatedDisk::Write made{size, {}, true};
    SimulatedDisk::apply((*of.file)->seen, made);
    (*of.file)->unsynced.push_back(std::move(made));
    return SQLITE_OK;
  }

  static int sync(sqlite3_file* handle, int) {
    Open& of = open(handle);
    const std::lock_guard lock(of.disk->mutex_);
    File& file = **of.file;
    if (of.disk->fault(DiskCall::kSync) != SQLITE_OK) {
      // As Linux: what could not be written is not tried again, though programs go on seeing it.
      if (!of.disk->dead_) std::erase_if(file.unsynced, [](const auto& w) { return !w.truncates; });
      return SQLITE_IOERR_FSYNC;
    }
    for (const SimulatedDisk::Write& write : std::exchange(file.unsynced, {})) {
      SimulatedDisk::apply(file.durable, write);
    }
    file.durably_exists = true;  // as SQLite's own: the first sync of a file syncs its folder
    return SQLITE_OK;
  }

  static int file_size(sqlite3_file* handle, sqlite3_int64* size) {
    Open& of = open(handle);
    const std::lock_guard lock(of.disk->mutex_);
    *size = static_cast<sqlite3_int64>((*of.file)->seen.size());
    return SQLITE_OK;
  }

  static void set_lock(Open& of, int level) {
    File& file = **of.file;
    if (of.lock >= SQLITE_LOCK_RESERVED && level < SQLITE_LOCK_RESERVED) file.writer = 0;
    if (of.lock >= SQLITE_LOCK_SHARED && level == SQLITE_LOCK_NONE) --file.readers;
    of.lock = level;
  }

  static int lock(sqlite3_file* handle, int level) {
    Open& of = open(handle);
    const std::lock_guard guard(of.disk->mutex_);
    File& file = **of.file;
    if (of.lock >= level) return SQLITE_OK;
    if (level == SQLITE_LOCK_SHARED) {
      if (file.writer >= 2) return SQLITE_BUSY;
      ++file.readers;
    } else {
      const bool mine = of.lock >= SQLITE_LOCK_RESERVED;
      if (file.writer != 0 && !mine) return SQLITE_BUSY;
      file.writer = level == SQLITE_LOCK_RESERVED ? 1 : 2;
      if (level == SQLITE_LOCK_EXCLUSIVE) {
        of.lock = SQLITE_LOCK_PENDING;
        if (file.readers > 1) return SQLITE_BUSY;
        file.writer = 3;
      }
    }
    of.lock = level;
    return SQLITE_OK;
  }

  static int unlock(sqlite3_file* handle, int level) {
    Open& of = open(handle);
    const std::lock_guard guard(of.disk->mutex_);
    if (of.lock > level) set_lock(of, level);
    return SQLITE_OK;
  }

  static int check_reserved(sqlite3_file* handle, int* reserved) {
    Open& of = open(handle);
    const std::lock_guard guard(of.disk->mutex_);
    *reserved = (*of.file)->writer != 0;
    return SQLITE_OK;
  }

  static int control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int sector_size(sqlite3_file*) { return kSector; }
  static int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

  static int map_shared(sqlite3_file* handle, int region, int bytes, int extend,
                        void volatile** at) {
    Open& of = open(handle);
    const std::lock_guard guard(of.disk->mutex_);
    auto& shared = (*of.file)->shared;
    *at = nullptr;
    if (region >= static_cast<int>(shared.size())) {
      if (!extend) return SQLITE_OK;
      while (region >= static_cast<int>(shared.size())) {
        shared.push_back(std::make_unique<std::vector<char>>(bytes));
      }
    }
    *at = shared[static_cast<std::size_t>(region)]->data();
    return SQLITE_OK;
  }

  static int lock_shared(sqlite3_file* handle, int first, int count, int flags) {
    Open& of = open(handle);
    const std::lock_guard guard(of.disk->mutex_);
    auto& locks = (*of.file)->shared_locks;
    auto& held = *of.held;
    const auto range = [&](auto&& each) {
      for (int i = first; i < first + count; ++i) each(static_cast<std::size_t>(i));
    };
    bool free = true;
    range([&](std::size_t i) {
      if (flags & SQLITE_SHM_UNLOCK) {
        if (held[i] == 1) --locks[i];
        if (held[i] == -1) locks[i] = 0;
        held[i] = 0;
      } else if (flags & SQLITE_SHM_SHARED) {
        free &= held[i] != 0 || locks[i] >= 0;
      } else {
        free &= locks[i] == 0;
      }
    });
    if (!free) return SQLITE_BUSY;
    if (flags & SQLITE_SHM_UNLOCK) return SQLITE_OK;
    range([&](std::size_t i) {
      if (held[i] != 0) return;
      held[i] = flags & SQLITE_SHM_SHARED ? 1 : -1;
      locks[i] = held[i] == 1 ? locks[i] + 1 : -1;
    });
    return SQLITE_OK;
  }

  static void shared_barrier(sqlite3_file*) { std::atomic_thread_fence(std::memory_order_seq_cst); }

  static void drop_shared(Open& of) {
    auto& locks = (*of.file)->shared_locks;
    for (std::size_t i = 0; i < locks.size(); ++i) {
      if ((*of.held)[i] == 1) --locks[i];
      if ((*of.held)[i] == -1) locks[i] = 0;
      (*of.held)[i] = 0;
    }
  }
  static int unmap_shared(sqlite3_file* handle, int remove) {
    Open& of = open(handle);
    const std::lock_guard guard(of.disk->mutex_);
    drop_shared(of);
    if (remove) (*of.file)->shared.clear();
    return SQLITE_OK;
  }

  static constexpr sqlite3_io_methods kMethods = {
      2,
      close,
      read,
      write,
      truncate,
      sync,
      file_size,
      lock,
      unlock,
      check_reserved,
      control,
      sector_size,
      characteristics,
      map_shared,
      lock_shared,
      shared_barrier,
      unmap_shared,
      nullptr,
      nullptr,
  };

  static int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* handle, int flags,
                       int* out_flags) {
    SimulatedDisk& on = disk(vfs);
    const std::lock_guard guard(on.mutex_);
    Open& of = open(handle);
    of.base.pMethods = nullptr;
    if (on.dead_) return SQLITE_CANTOPEN;
    std::shared_ptr<File> file;
    if (name == nullptr) {
      file = std::make_shared<File>();  // a temporary one
    } else {
      std::shared_ptr<File>& found = on.files_[name];
      if (found == nullptr || !found->exists) {
        if (!(flags & SQLITE_OPEN_CREATE)) return SQLITE_CANTOPEN;
        if (found == nullptr) {
          found = std::make_shared<File>();
        } else {
          found->exists = true;
          found->seen.clear();
          found->unsynced.push_back({0, {}, true});
        }
      }
      file = found;
    }
    of.disk = &on;
    of.file = new std::shared_ptr<File>(std::move(file));
    of.held = new std::array<int, SQLITE_SHM_NLOCK>{};
    of.lock = SQLITE_LOCK_NONE;
    of.base.pMethods = &kMethods;
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  }

  static int delete_file(sqlite3_vfs* vfs, const char* name, int sync_folder) {
    SimulatedDisk& on = disk(vfs);
    const std::lock_guard guard(on.mutex_);
    if (on.fault(DiskCall::kDelete) != SQLITE_OK) return SQLITE_IOERR_DELETE;
    const auto found = on.files_.find(name);
    if (found == on.files_.end() || !found->second->exists) return SQLITE_IOERR_DELETE_NOENT;
    found->second->exists = false;
    found->second->seen.clear();
    if (sync_folder) on.files_.erase(found);
    return SQLITE_OK;
  }

  static int access(sqlite3_vfs* vfs, const char* name, int, int* result) {
    SimulatedDisk& on = disk(vfs);
    const std::lock_guard guard(on.mutex_);
    const auto found = on.files_.find(name);
    // A file without a byte is none, as for SQLite's own file system.
    *result = found != on.files_.end() && found->second->exists && !found->second->seen.empty();
    return SQLITE_OK;
  }

  static int sleep(sqlite3_vfs* vfs, int microseconds) {
    const auto& on_wait = disk(vfs).on_wait_;
    if (!on_wait) return sqlite3_vfs_find(nullptr)->xSleep(vfs, microseconds);
    on_wait();
    return microseconds;
  }

  static int full_path(sqlite3_vfs*, const char* name, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
  }
};

SimulatedDisk::SimulatedDisk() : name_(unique_name()), vfs_(std::make_unique<sqlite3_vfs>()) {
  *vfs_ = *sqlite3_vfs_find(nullptr);
  vfs_->iVersion = 2;
  vfs_->szOsFile = sizeof(DiskMethods::Open);
  vfs_->zName = name_.c_str();
  vfs_->pAppData = this;
  vfs_->xOpen = DiskMethods::open_file;
  vfs_->xDelete = DiskMethods::delete_file;
  vfs_->xAccess = DiskMethods::access;
  vfs_->xFullPathname = DiskMethods::full_path;
  vfs_->xSleep = DiskMethods::sleep;
  sqlite3_vfs_register(vfs_.get(), 0);
}

SimulatedDisk::~SimulatedDisk() { sqlite3_vfs_unregister(vfs_.get()); }

void SimulatedDisk::set_fault(Fault fault) {
  const std::lock_guard lock(mutex_);
  fault_ = std::move(fault);
  calls_ = 0;
}

std::uint64_t SimulatedDisk::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

void SimulatedDisk::set_capacity(std::optional<std::int64_t> bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

std::int64_t SimulatedDisk::used() const {
  const std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const auto& [name, file] : files_) sum += static_cast<std::int64_t>(file->seen.size());
  return sum;
}

void SimulatedDisk::cut_power_at(std::uint64_t call) {
  const std::lock_guard lock(mutex_);
  cut_at_ = call;
  calls_ = 0;
}

void SimulatedDisk::cut_power() {
  const std::lock_guard lock(mutex_);
  dead_ = true;
}

bool SimulatedDisk::keep_power() {
  const std::lock_guard lock(mutex_);
  cut_at_ = 0;
  return !dead_;
}

int SimulatedDisk::fault(DiskCall call) {
  ++calls_;
  dead_ |= cut_at_ != 0 && calls_ >= cut_at_;
  if (!dead_ && fault_) {
    if (const int code = fault_(call, calls_)) return code;
  }
  return dead_ ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

void SimulatedDisk::apply(std::string& content, const Write& write) {
  const auto at = static_cast<std::size_t>(write.at);
  if (write.truncates) {
    content.resize(at);
    return;
  }
  if (content.size() < at + write.bytes.size()) content.resize(at + write.bytes.size());
  content.replace(at, write.bytes.size(), write.bytes);
}

// The sectors of a write reach the disk one by one.
std::vector<SimulatedDisk::Write> SimulatedDisk::torn(const Write& write, std::mt19937_64& dice) {
  if (write.truncates || dice() % 2 == 0) return {write};
  std::vector<Write> parts;
  const auto size = static_cast<std::int64_t>(write.bytes.size());
  for (std::int64_t from = 0; from < size;) {
    const std::int64_t to =
        std::min(size, (write.at + from) / kSector * kSector + kSector - write.at);
    parts.push_back(
        {write.at + from,
         write.bytes.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)),
         false});
    from = to;
  }
  return parts;
}

bool SimulatedDisk::power_loss(std::mt19937_64& dice) {
  const std::lock_guard lock(mutex_);
  if (!dead_) return false;
  for (auto entry = files_.begin(); entry != files_.end();) {
    File& file = *entry->second;
    const bool there =
        file.durably_exists ? (file.exists || dice() % 2 == 0) : (file.exists && dice() % 2 == 0);
    if (!there) {
      entry = files_.erase(entry);
      continue;
    }
    std::vector<Write> writes;
    for (const Write& write : file.unsynced) {
      for (Write& part : torn(write, dice)) writes.push_back(std::move(part));
    }
    // Nothing, everything, or any part of it; in order, or in any.
    const std::uint64_t kept_of_eight = dice() % 9;
    std::erase_if(writes, [&](const Write&) { return dice() % 8 >= kept_of_eight; });
    if (dice() % 2 == 0) std::ranges::shuffle(writes, dice);
    std::string content = file.durable;
    for (const Write& write : writes) apply(content, write);
    auto survivor = std::make_shared<File>();
    survivor->seen = survivor->durable = std::move(content);
    survivor->durably_exists = true;
    entry->second = std::move(survivor);
    ++entry;
  }
  fault_ = nullptr;
  calls_ = 0;
  cut_at_ = 0;
  dead_ = false;
  return true;
}

}  // namespace retsu::reference
