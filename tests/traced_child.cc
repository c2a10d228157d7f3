#include "traced_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>

#include "base/check.h"
#include "file_calls.h"

namespace retsu {

std::string Trace::text() const {
  std::string text;
  for (const TracedCall& call : calls) {
    text += call.name + " " + call.file + (call.other.empty() ? "" : ", " + call.other);
    text += call.ended ? " = " + std::to_string(call.result) + "\n" : " was not ended\n";
  }
  return text;
}

int Trace::find(std::string_view name, std::string_view file, int after) const {
  for (std::size_t i = static_cast<std::size_t>(after); i < calls.size(); ++i) {
    if (calls[i].name == name && calls[i].file.ends_with(file)) return static_cast<int>(i) + 1;
  }
  return 0;
}

#if !defined(__x86_64__) || defined(__SANITIZE_THREAD__)

std::string why_no_tracing() { return "tracing needs x86-64 and no thread sanitizer"; }

Trace TracedChild::run(Mishap) const { std::abort(); }
void TracedProgram::run(std::vector<std::string>) { std::abort(); }

#else

namespace {

using file_calls::kRows;
using file_calls::NamesFile;
using file_calls::Row;
using file_calls::Written;
using Info = __ptrace_syscall_info;

constexpr std::size_t kArguments[] = {offsetof(user, regs.rdi), offsetof(user, regs.rsi),
                                      offsetof(user, regs.rdx), offsetof(user, regs.r10),
                                      offsetof(user, regs.r8),  offsetof(user, regs.r9)};

// Failures are for the next wait to tell: the thread was killed meanwhile.
void set_register(pid_t thread, std::size_t offset, std::uint64_t value) {
  (void)::ptrace(PTRACE_POKEUSER, thread, offset, value);
}

std::string text_at(pid_t thread, std::uint64_t address) {
  std::string text;
  for (;; address += sizeof(long)) {
    errno = 0;
    const long word = ::ptrace(PTRACE_PEEKDATA, thread, address, nullptr);
    if (errno != 0) return text;
    const std::string_view bytes(reinterpret_cast<const char*>(&word), sizeof word);
    text += bytes.substr(0, bytes.find('\0'));
    if (bytes.find('\0') != std::string_view::npos) return text;
  }
}

std::filesystem::path link_of(pid_t thread, const std::string& name) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/" + std::to_string(thread) + "/" + name, ignored);
}

std::string file_of(pid_t thread, const NamesFile& names, const Info& info) {
  const auto* const arguments = &info.entry.args[names.argument];
  const auto descriptor = static_cast<int>(arguments[0]);
  const std::string opened = "fd/" + std::to_string(descriptor);
  const auto path_of = [&](const std::string& folder, std::uint64_t address) {
    return (link_of(thread, folder) / text_at(thread, address)).string();
  };
  switch (names.kind) {
    case NamesFile::Kind::kDescriptor:
      return link_of(thread, opened);
    case NamesFile::Kind::kPath:
      return path_of("cwd", arguments[0]);
    case NamesFile::Kind::kPathAt:
      return path_of(descriptor == AT_FDCWD ? "cwd" : opened, arguments[1]);
    case NamesFile::Kind::kNothing:
      break;
  }
  return {};
}

// Stops itself before it goes on, so that what comes before is not counted. Runs `child`, which
// does not return. -1: it may not be traced.
pid_t start(const std::function<void()>& child) {
  const pid_t process = ::fork();
  RETSU_CHECK(process >= 0);
  if (process == 0) {
    ::setpgid(0, 0);
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(127);
    ::raise(SIGSTOP);
    child();
  }
  int status = 0;
  RETSU_CHECK(::waitpid(process, &status, __WALL) == process);
  if (!WIFSTOPPED(status)) return -1;
  constexpr long kOptions =
      PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  RETSU_CHECK(::ptrace(PTRACE_SETOPTIONS, process, nullptr, kOptions) == 0);
  return process;
}

// Takes a process that start() made from call to call.
class Tracer {
 public:
  Tracer(pid_t process, const std::string& directory, TraceControl& control)
      : process_(process),
        directory_(std::filesystem::weakly_canonical(directory).string()),
        control_(control) {}

  Trace run() {
    for (go_on(process_, 0);;) {
      int status = 0;
      // Those of its group: other children of this process are not ours.
      const pid_t thread = ::waitpid(-process_, &status, __WALL);
      RETSU_CHECK(thread > 0 || errno == EINTR);
      if (thread < 0) continue;
      if (WIFSTOPPED(status)) {
        go_on(thread, stopped(thread, WSTOPSIG(status)));
      } else if (thread == process_) {
        trace_.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        return std::move(trace_);
      }
    }
  }

 private:
  struct UnderWay {
    std::size_t call;
    bool chosen;
    std::uint64_t changed_at = 0;  // where the process's memory is other than it was
    std::uint64_t was = 0;
  };

  static void go_on(pid_t thread, int signal) {
    (void)::ptrace(PTRACE_SYSCALL, thread, nullptr, signal);
  }

  // Answers the signal that is to be passed on.
  int stopped(pid_t thread, int signal) {
    constexpr int kSystemCall = SIGTRAP | 0x80;
    if (signal != kSystemCall) {
      // A new thread begins with SIGSTOP, and that it was made is told as SIGTRAP.
      return signal == SIGSTOP || signal == SIGTRAP ? 0 : signal;
    }
    Info info{};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) return 0;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY && control_.begun) enter(thread, info);
    if (info.op == PTRACE_SYSCALL_INFO_EXIT) leave(thread, info);
    return 0;
  }

  void enter(pid_t thread, const Info& info) {
    const Row* const row = std::ranges::find(kRows, info.entry.nr, &Row::number);
    if (row == std::end(kRows)) return;
    TracedCall call{row->name, file_of(thread, row->file, info), file_of(thread, row->other, info)};
    if (!counts(call.file) && !counts(call.other)) return;
    trace_.calls.push_back(std::move(call));
    const int number = ++control_.calls;
    UnderWay under_way{trace_.calls.size() - 1, number == control_.mishap.at};
    if (under_way.chosen) {
      trace_.reached = true;
      begin_mishap(thread, *row, info, under_way);
    }
    under_way_.insert_or_assign(thread, under_way);
  }

  void leave(pid_t thread, const Info& info) {
    const auto found = under_way_.find(thread);
    if (found == under_way_.end()) return;
    const UnderWay under_way = found->second;
    under_way_.erase(found);
    TracedCall& call = trace_.calls[under_way.call];
    call.ended = true;
    call.result = info.exit.rval;
    if (under_way.changed_at != 0) {
      (void)::ptrace(PTRACE_POKEDATA, thread, under_way.changed_at, under_way.was);
    }
    if (!under_way.chosen) return;
    if (control_.mishap.kind == Mishap::Kind::kKillAfter) ::kill(process_, SIGKILL);
    if (control_.mishap.kind == Mishap::Kind::kFail) {
      call.result = -control_.mishap.error;
      set_register(thread, offsetof(user, regs.rax), static_cast<std::uint64_t>(call.result));
    }
  }

  void begin_mishap(pid_t thread, const Row& row, const Info& info, UnderWay& under_way) {
    const Mishap::Kind kind = control_.mishap.kind;
    // A close that fails has closed all the same.
    const bool may_go_undone = row.number != SYS_close;
    if (kind == Mishap::Kind::kKillBefore || (kind == Mishap::Kind::kFail && may_go_undone)) {
      set_register(thread, offsetof(user, regs.orig_rax), static_cast<std::uint64_t>(-1));
    }
    if (kind == Mishap::Kind::kKillBefore) ::kill(process_, SIGKILL);
    if (kind != Mishap::Kind::kShorten) return;
    const std::uint64_t length = info.entry.args[row.length];
    if (row.written == Written::kBytes && length >= 2) {
      set_register(thread, kArguments[row.length], length / 2);
    }
    if (row.written == Written::kPieces) shorten_pieces(thread, row, info, under_way);
  }

  // Of writev: the pieces up to the one in which the half lies, and that one cut.
  static void shorten_pieces(pid_t thread, const Row& row, const Info& info, UnderWay& under_way) {
    const auto address_of = [&](std::uint64_t piece) {
      return info.entry.args[1] + piece * sizeof(iovec) + offsetof(iovec, iov_len);
    };
    const auto length_of = [&](std::uint64_t piece) {
      return static_cast<std::uint64_t>(
          ::ptrace(PTRACE_PEEKDATA, thread, address_of(piece), nullptr));
    };
    const std::uint64_t pieces = info.entry.args[row.length];
    std::uint64_t bytes = 0;
    for (std::uint64_t piece = 0; piece < pieces; ++piece) bytes += length_of(piece);
    if (bytes < 2) return;
    std::uint64_t left = bytes / 2;
    std::uint64_t piece = 0;
    for (; length_of(piece) < left; ++piece) left -= length_of(piece);
    under_way.changed_at = address_of(piece);
    under_way.was = length_of(piece);
    (void)::ptrace(PTRACE_POKEDATA, thread, address_of(piece), left);
    set_register(thread, kArguments[row.length], piece + 1);
  }

  [[nodiscard]] bool counts(std::string_view file) const {
    if (!file.starts_with(directory_)) return false;
    return file.size() == directory_.size() || directory_.ends_with('/') ||
           file[directory_.size()] == '/';
  }

  const pid_t process_;
  const std::string directory_;
  TraceControl& control_;
  std::map<pid_t, UnderWay> under_way_;  // by thread
  Trace trace_;
};

}  // namespace

std::string why_no_tracing() {
  static const bool kMay = [] {
    const pid_t process = start([] { ::_exit(0); });
    TraceControl control;
    return process > 0 && Tracer(process, "/", control).run().lived();
  }();
  return kMay ? "" : "this process may not trace others";
}

Trace TracedChild::run(Mishap mishap) const {
  const pid_t process = start([this] { ::_exit(body_()); });
  RETSU_CHECK(process > 0);
  TraceControl control{.mishap = mishap, .begun = true};
  return Tracer(process, directory_, control).run();
}

void TracedProgram::run(std::vector<std::string> command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& each : command) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  const pid_t process = start([&] {
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int standard : {0, 1, 2}) ::dup2(nowhere, standard);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  });
  RETSU_CHECK(process > 0);
  process_ = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  RETSU_CHECK(process_ >= 0);
  process_.notify_all();
  trace_ = Tracer(process, directory_, control_).run();
}

#endif

TracedChild::TracedChild(std::function<int()> body, std::string directory)
    : body_(std::move(body)), directory_(std::move(directory)) {}

TracedProgram::TracedProgram(std::vector<std::string> command, std::string directory)
    : directory_(std::move(directory)),
      thread_([this, command = std::move(command)] { run(command); }) {
  process_.wait(-1);
}

void TracedProgram::begin(Mishap mishap) {
  control_.mishap = mishap;
  control_.begun = true;
}

bool TracedProgram::ends_within(std::chrono::milliseconds patience) const {
  pollfd wait{process_, POLLIN, 0};
  return ::poll(&wait, 1, static_cast<int>(patience.count())) == 1;
}

const Trace& TracedProgram::end() {
  if (thread_.joinable()) {
    (void)::syscall(SYS_pidfd_send_signal, process_.load(), SIGKILL, nullptr, 0);
    thread_.join();
  }
  return trace_;
}

TracedProgram::~TracedProgram() {
  end();
  ::close(process_);
}

}  // namespace retsu
