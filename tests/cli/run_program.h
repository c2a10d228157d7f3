// Runs the real program and looks at what it says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/temporary_directory.h"

namespace retsu {

struct Ran {
  int status = -1;
  std::string out;
  std::string err;
};

// Where the program under test is.
std::string program();

std::vector<std::string> lines_of(const std::string& text);

// The value of a key in the first object of a JSON text, as it is written; strings without quotes.
std::string value_in(const std::string& json, const std::string& key);

// A directory of its own for each test, with a store in it, named by RETSU_URL.
class CliTest : public testing::Test {
 protected:
  // The program with these arguments; `input` is its standard input.
  Ran retsu(const std::vector<std::string>& arguments, const std::string& input = "");
  // A line of bash in which `retsu` is the program.
  Ran shell(const std::string& line, const std::string& input = "");
  // Runs and must succeed; answers what was printed.
  std::string done(const std::vector<std::string>& arguments, const std::string& input = "");
  // A field of a task.
  std::string field(const std::string& id, const std::string& name);
  std::size_t tasks();  // stored

  pid_t start(const std::vector<std::string>& arguments);  // to be waited for

  void write(const std::string& name, const std::string& text);
  std::string read(const std::string& name);
  [[nodiscard]] std::string path(const std::string& name) const {
    return directory_.path() + "/" + name;
  }
  // For all programs that are started from now on.
  std::map<std::string, std::string> environment_;

 private:
  Ran run(const std::vector<std::string>& command, const std::string& input);

  const TemporaryDirectory directory_;
};

}  // namespace retsu
