#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace retsu::worker {

// A file descriptor that is closed with its owner.
class File {
 public:
  File() = default;
  explicit File(int number) : number_(number) {}
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~File() { close(); }
  void close();
  [[nodiscard]] int number() const { return number_; }  // -1: closed
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// A command in a process group of its own. It is attended to by the thread that started it.
class ChildProcess {
 public:
  struct Command {
    std::vector<std::string> words;      // the first is looked for in PATH
    std::vector<std::string> variables;  // its whole environment
  };
  // What it writes, piece by piece.
  struct Listener {
    std::function<void(std::string_view)> output;
    std::function<void(std::string_view)> error;
    std::function<void(std::string_view)> progress;  // file descriptor 3
  };

  // Refused: why not, and whether that is none of the task's fault (no files, no memory, no
  // such command now).
  struct Refusal {
    std::string message;
    bool is_ours = false;
  };
  static tl::expected<ChildProcess, Refusal> start(Command command);

  struct Ended {
    int status = 0;            // as waitpid() tells
    bool was_told_to = false;  // by SIGTERM from us
  };
  // Gives it the input and listens until it has ended. After `stop` the group gets SIGTERM and, if
  // that does not help within `grace`, SIGKILL. Whoever is left of the group in the end is killed.
  Ended attend(std::string_view input, const Listener& listener, const std::stop_token& stop,
               std::chrono::milliseconds grace);

 private:
  ChildProcess() = default;

  pid_t pid_ = -1;
  File ended_;    // readable when it has
  File stopped_;  // readable when it is to
  File input_;
  File output_;
  File error_;
  File progress_;
};

}  // namespace retsu::worker
