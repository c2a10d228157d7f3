// A test with the server as a program.
#pragma once

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/run_program.h"

namespace retsu {

class ServeTest : public CliTest {
 protected:
  ServeTest() { environment_["RETSU_URL"] = ""; }
  ~ServeTest() override {
    if (server_ > 0) stop(SIGKILL);
  }

  // Started and listening.
  void serve(std::vector<std::string> more = {}, const std::string& listen = "127.0.0.1:0") {
    std::vector<std::string> arguments{"serve", "--store", path("q"), "--listen", listen};
    arguments.insert(arguments.end(), more.begin(), more.end());
    server_ = start(arguments);
    for (int i = 0; i < 500 && !std::ifstream(path("q/server")).good(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::ifstream(path("q/server")) >> url_;
    ASSERT_THAT(url_, testing::StartsWith("http"));
    environment_["RETSU_URL"] = url_;
  }
  // Its exit status, or minus the signal.
  int stop(int signal) {
    ::kill(server_, signal);
    int status = 0;
    ::waitpid(server_, &status, 0);
    server_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  pid_t server_ = -1;
  std::string url_;
};

}  // namespace retsu
