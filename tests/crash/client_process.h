// `retsu library update`, as a process.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"

namespace retsu {

class ClientProcess {
 public:
  struct Settings {
    std::string library;  // http://…
    std::string service;
    std::string token = "right";
    std::string name;
    std::string folder;      // for what it remembers, and what it says
    std::string state = {};  // for what it remembers, if not there
    std::vector<std::string> more = {};
  };
  explicit ClientProcess(Settings settings) : settings_(std::move(settings)) {
    const char* const build = std::getenv("RETSU_BUILD_DIR");
    const std::string program = std::string(build != nullptr ? build : "build/release") + "/retsu";
    std::vector<std::string> words{
        program,   "library",
        "update",  "--json",
        "--at",    settings_.library,
        "--url",   settings_.service,
        "--name",  settings_.name,
        "--state", settings_.state.empty() ? settings_.folder : settings_.state};
    words.insert(words.end(), settings_.more.begin(), settings_.more.end());
    std::vector<char*> arguments;
    for (std::string& each : words) arguments.push_back(each.data());
    arguments.push_back(nullptr);
    const std::string key = "RETSU_HARDCOVER_KEY=" + settings_.token;
    std::vector<char*> variables{const_cast<char*>(key.c_str()), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out().c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
    posix_spawn_file_actions_addopen(&actions, 2, err().c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
    RETSU_CHECK(::posix_spawn(&process_, arguments[0], &actions, nullptr, arguments.data(),
                              variables.data()) == 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ClientProcess(const ClientProcess&) = delete;
  ClientProcess& operator=(const ClientProcess&) = delete;
  ~ClientProcess() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::kill(process_, SIGCONT);
    wait();
  }

  [[nodiscard]] const std::string& name() const { return settings_.name; }
  void signal(int number) const { ::kill(process_, number); }
  // Its exit status, or minus the signal.
  int wait() {
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  [[nodiscard]] bool has_ended() {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == process_;
  }
  // The claim that it works on, or left; empty: none.
  [[nodiscard]] std::string claim() const {
    std::string id;
    std::ifstream(settings_.folder + "/client-1") >> id;
    return id;
  }
  [[nodiscard]] std::string said() const { return text_of(out()); }
  [[nodiscard]] std::string complained() const { return text_of(err()); }

 private:
  [[nodiscard]] std::string out() const { return settings_.folder + ".out"; }
  [[nodiscard]] std::string err() const { return settings_.folder + ".err"; }
  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  const Settings settings_;
  pid_t process_ = -1;
};

}  // namespace retsu
