// A disk in memory that behaves as badly as real ones may, for SQLite.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace retsu::reference {

// Calls that reach the disk.
enum class DiskCall : std::uint8_t { kWrite, kSync, kTruncate, kDelete };

// Everything that SQLite stores under its name (see vfs()) is kept twice: as programs see it, and
// as what has reached the platters. A sync carries one file over. power_loss() carries over an
// arbitrary part of the rest: each write in any order, whole, torn between two sectors, or not at
// all; a file that was made and never synced may be missing, one that was deleted may be back.
class SimulatedDisk {
 public:
  SimulatedDisk();  // registers itself with SQLite
  ~SimulatedDisk();
  SimulatedDisk(const SimulatedDisk&) = delete;
  SimulatedDisk& operator=(const SimulatedDisk&) = delete;

  [[nodiscard]] const char* vfs() const { return name_.c_str(); }

  // Asked before each call; a code other than SQLITE_OK is what SQLite gets instead of the call.
  using Fault = std::function<int(DiskCall call, std::uint64_t number)>;
  void set_fault(Fault fault);
  [[nodiscard]] std::uint64_t calls() const;

  // Called when a connection waits for a lock that another one has, instead of sleeping.
  void set_on_wait(std::function<void()> on_wait) { on_wait_ = std::move(on_wait); }

  // Bytes of all files together; a write beyond is answered SQLITE_FULL.
  void set_capacity(std::optional<std::int64_t> bytes);
  [[nodiscard]] std::int64_t used() const;

  // From that call on, or from now on, every one fails, until power_loss() has decided what is
  // left.
  void cut_power_at(std::uint64_t call);
  void cut_power();
  bool keep_power();                       // not after all; false: it has gone already
  bool power_loss(std::mt19937_64& dice);  // false: the power was on

 private:
  friend struct DiskMethods;

  struct Write {
    std::int64_t at = 0;
    std::string bytes;
    bool truncates = false;  // to `at`
  };
  struct File {
    std::string seen;
    std::string durable;
    std::vector<Write> unsynced;
    bool exists = true;
    bool durably_exists = false;
    // The memory that connections share beside a database in WAL mode, and its locks.
    std::vector<std::unique_ptr<std::vector<char>>> shared;
    std::array<int, SQLITE_SHM_NLOCK> shared_locks{};  // readers, or -1
    int readers = 0;                                   // of the file's own lock
    int writer = 0;                                    // 1 reserved, 2 pending, 3 exclusive
  };

  int fault(DiskCall call);
  static void apply(std::string& content, const Write& write);
  static std::vector<Write> torn(const Write& write, std::mt19937_64& dice);

  const std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<File>> files_;
  Fault fault_;
  std::function<void()> on_wait_;
  std::uint64_t calls_ = 0;
  std::optional<std::int64_t> capacity_;
  std::uint64_t cut_at_ = 0;  // 0: not
  bool dead_ = false;
};

}  // namespace retsu::reference
