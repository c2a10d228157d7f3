// Other programs that a benchmark starts.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/temporary_directory.h"

namespace retsu::bench {

class Process {
 public:
  explicit Process(const std::vector<std::string>& command) : pid_(::fork()) {
    RETSU_CHECK(pid_ >= 0);
    if (pid_ > 0) return;
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (const int file : {0, 1, 2}) ::dup2(nowhere, file);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (has_been_waited_for_) return;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  // Its exit status; -1: it was killed.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    has_been_waited_for_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] bool has_ended() const { return ::waitpid(pid_, nullptr, WNOHANG) != 0; }

 private:
  const pid_t pid_;
  bool has_been_waited_for_ = false;
};

inline std::string sibling(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

class ServerProcess {
 public:
  ServerProcess()
      : process_({sibling("retsu"), "serve", "--store", folder_.path() + "/store", "--listen",
                  "127.0.0.1:0"}) {
    const std::string note = folder_.path() + "/store/server";
    while (url_.empty()) {
      RETSU_CHECK(!process_.has_ended());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      std::ifstream(note) >> url_;
    }
    port_ = static_cast<std::uint16_t>(std::stoi(url_.substr(url_.rfind(':') + 1)));
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  const TemporaryDirectory folder_{"."};  // on the disk that is being measured
  Process process_;
  std::string url_;
  std::uint16_t port_ = 0;
};

}  // namespace retsu::bench
