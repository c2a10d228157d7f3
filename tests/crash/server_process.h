// The real server, as a process on a store.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"

namespace retsu {

// Listening where it is told, or, for port 0, where the kernel chose.
inline std::vector<std::string> serve_command(const std::string& store, const std::string& listen) {
  const char* const folder = std::getenv("RETSU_BUILD_DIR");
  const std::string program = std::string(folder != nullptr ? folder : "build/release") + "/retsu";
  return {program, "serve", "--store", store, "--listen", listen};
}

// Where the server on this store is, as soon as it says so; empty: not within half a minute.
inline std::string served_at(const std::string& store) {
  std::string url;
  for (int i = 0; i < 15'000 && url.empty(); ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::ifstream(store + "/server") >> url;
  }
  return url;
}

inline std::uint16_t port_in(const std::string& url) {
  return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

// Runs until it is killed, at the latest by its owner.
class ServerProcess {
 public:
  explicit ServerProcess(const std::string& store, const std::string& listen = "127.0.0.1:0") {
    std::filesystem::remove(store + "/server");  // of one that was killed
    std::vector<std::string> command = serve_command(store, listen);
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string& each : command) arguments.push_back(each.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int standard : {0, 1, 2}) {
      posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
    }
    RETSU_CHECK(
        ::posix_spawn(&process_, arguments[0], &actions, nullptr, arguments.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    url_ = served_at(store);
    RETSU_CHECK(!url_.empty());
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] std::uint16_t port() const { return port_in(url_); }

 private:
  pid_t process_ = -1;
  std::string url_;
};

}  // namespace retsu
