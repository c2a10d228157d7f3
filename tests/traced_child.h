// A process that is stopped at each of its system calls on files: to be killed there, to be refused
// the call, or only to be watched. By ptrace, so on x86-64 only, and not under the thread
// sanitizer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace retsu {

// Why processes cannot be traced here; empty: they can. For GTEST_SKIP.
std::string why_no_tracing();

struct TracedCall {
  std::string name;         // as the kernel calls it: pwrite64
  std::string file;         // what its descriptor or its path names; the one written to, of two
  std::string other;        // of a rename or a link: the new name; of a copy: what is read
  std::int64_t result = 0;  // minus errno: it failed
  bool ended = false;       // false: it was killed before
};

// What happens to one of the calls, counted from 1.
struct Mishap {
  enum class Kind : std::uint8_t { kNone, kKillBefore, kKillAfter, kFail, kShorten };

  Kind kind = Kind::kNone;
  int at = 0;
  int error = 0;

  static Mishap kill_at(int n) { return {Kind::kKillBefore, n}; }    // the call does not happen
  static Mishap kill_after(int n) { return {Kind::kKillAfter, n}; }  // it has happened
  static Mishap fail_at(int n, int error) { return {Kind::kFail, n, error}; }  // it has not
  static Mishap short_at(int n) {
    return {Kind::kShorten, n};
  }  // if it writes two bytes or more,
     // half of them
};

struct Trace {
  std::vector<TracedCall> calls;  // in the order in which they began
  bool reached = false;           // there was an n-th call
  int status = 0;                 // with which it exited, or minus the signal

  [[nodiscard]] bool lived() const { return status >= 0; }
  [[nodiscard]] std::string text() const;  // a line for each call
  // The number, from 1, of the first call after `after` with such a name on such a file, which may
  // be the end of a path; 0: there is none.
  [[nodiscard]] int find(std::string_view name, std::string_view file, int after = 0) const;
};

// Between the one who runs a process and the thread that traces it.
struct TraceControl {
  Mishap mishap = {};               // written before the next
  std::atomic<bool> begun = false;  // calls count
  std::atomic<int> calls = 0;
};

// Runs a function in a process of its own, a new one for each run, and calls on files in
// `directory` count. The function has one thread, and what it answers is the exit status; nothing
// is torn down after it. To go through all calls:
//
//   for (int n = 1; child.kill_at(n).reached; ++n) look_at_what_is_left();
class TracedChild {
 public:
  explicit TracedChild(std::function<int()> body, std::string directory = "/");

  [[nodiscard]] Trace trace() const { return run({}); }
  [[nodiscard]] Trace kill_at(int n) const { return run(Mishap::kill_at(n)); }
  [[nodiscard]] Trace kill_after(int n) const { return run(Mishap::kill_after(n)); }
  [[nodiscard]] Trace fail_at(int n, int error) const { return run(Mishap::fail_at(n, error)); }
  [[nodiscard]] Trace short_at(int n) const { return run(Mishap::short_at(n)); }
  [[nodiscard]] Trace run(Mishap mishap) const;

 private:
  const std::function<int()> body_;
  const std::string directory_;
};

// Runs a program, with all its threads and what it prints thrown away. Calls on files in
// `directory` count from begin() on; a mishap that kills, kills all of it.
class TracedProgram {
 public:
  TracedProgram(std::vector<std::string> command, std::string directory);
  TracedProgram(const TracedProgram&) = delete;
  TracedProgram& operator=(const TracedProgram&) = delete;
  ~TracedProgram();

  void begin(Mishap mishap);  // once
  [[nodiscard]] int calls() const { return control_.calls; }
  // Whether it has ended, or does so in this time.
  [[nodiscard]] bool ends_within(std::chrono::milliseconds patience) const;
  const Trace& end();  // kills it if it still runs

 private:
  void run(std::vector<std::string> command);

  const std::string directory_;
  TraceControl control_;
  std::atomic<int> process_ = -1;  // a descriptor, which cannot become another's as a number can
  Trace trace_;                    // the thread's until it has ended
  std::thread thread_;             // ptrace answers only the thread that started the process
};

}  // namespace retsu
