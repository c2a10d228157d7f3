// What docs/cli.md shows is what the program does: its commands are run one after the other, and
// what they print is compared, but for ids, times and figures of speed.

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "cli/run_program.h"
#include "model/operations.h"

namespace retsu {
namespace {

struct Shown {
  std::string command;
  std::string output;
};

// The blocks ```console: a line that begins with `$ ` is a command, what follows is its output.
std::vector<Shown> commands_of(const std::string& page) {
  std::vector<Shown> all;
  bool inside = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("```")) {
      inside = line == "```console";
    } else if (inside && line.starts_with("$ ")) {
      all.push_back({line.substr(2), ""});
    } else if (inside && !all.empty()) {
      all.back().output += line + "\n";
    }
  }
  return all;
}

std::string without_chance(std::string text) {
  const std::pair<const char*, const char*> kinds[] = {
      {"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"},
      {"\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z", "TIME"},
      {"\\d{8}T\\d{6}\\.\\d{3}Z", "TIME"},
      {"\\(in [0-9a-z]+\\)|\\(now\\)|\\([0-9a-z]+ ago\\)", "(AGE)"},
      {"\\b[0-9]+(ms|s)\\b", "SPAN"},
      {"[0-9.]+ (bytes|KiB|MiB)", "SIZE"},
      {" +[0-9]+ +█+| +[0-9]+$", " RATE"},
      {"SQLite [0-9.]+", "SQLite"},
      {"(id: |\"number\":|_ms\":)[0-9]+", "$1N"},
      {" +", " "},
  };
  for (const auto& [pattern, word] : kinds)
    text = std::regex_replace(text, std::regex(pattern), word);
  return text;
}

std::string page_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream page;
  page << in.rdbuf();
  return page.str();
}

// Runs them in one shell, so that variables stay, after `before`, and compares what they print.
class DocsTest : public CliTest {
 protected:
  void expect_as_shown(const std::vector<Shown>& all, const std::string& before = "") {
    ASSERT_GT(all.size(), 20U);
    std::string script = before;
    for (const Shown& shown : all) script += "{ " + shown.command + "\n} 2>&1\necho\necho ---\n";
    environment_["RETSU_URL"] = "";
    const std::string out = shell(script).out;
    std::size_t at = 0;
    for (const Shown& shown : all) {
      const auto end = out.find("\n---\n", at);
      ASSERT_NE(end, std::string::npos) << shown.command << "\n" << out.substr(at);
      EXPECT_EQ(trimmed(without_chance(out.substr(at, end - at))),
                trimmed(without_chance(shown.output)))
          << "$ " << shown.command << "\n"
          << out.substr(at, end - at);
      at = end + 5;
    }
  }

 private:
  static std::string trimmed(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text;
  }
};

TEST_F(DocsTest, TheCommandLineIsAsItsPageShows) {
  expect_as_shown(commands_of(page_of("docs/cli.md")));
}

TEST_F(DocsTest, TheHttpInterfaceIsAsItsPageShows) {
  expect_as_shown(commands_of(page_of("docs/http.md")),
                  "retsu serve --store q --listen 127.0.0.1:0 > serve.log & server=$!\n"
                  "trap 'kill $server' EXIT\n"
                  "until [ -s q/server ]; do sleep 0.05; done\n"
                  "export RETSU_URL=$(cat q/server)\n");
}

TEST_F(DocsTest, TheSpoolIsAsItsPageShows) {
  expect_as_shown(commands_of(page_of("docs/spool.md")));
}

TEST_F(DocsTest, TheLibraryIsAsItsPageShows) {
  expect_as_shown(commands_of(page_of("docs/library.md")));
}

// `POST /v1/tasks/{id}/cancel` of a command line.
std::string asked_by(const std::string& command) {
  std::smatch found;
  std::string method =
      command.find(" -d ") != std::string::npos || command.find("--data") != std::string::npos
          ? "POST"
          : "GET";
  if (std::regex_search(command, found, std::regex(" -X ([A-Z]+)"))) method = found[1];
  if (!std::regex_search(command, found, std::regex("\\$RETSU_URL(/[^ ?\"]*)"))) return "";
  return method + " " + found[1].str();
}

TEST_F(DocsTest, TheHttpInterfaceIsShownWhole) {
  std::vector<std::string> asked;
  for (const Shown& shown : commands_of(page_of("docs/http.md"))) {
    asked.push_back(asked_by(shown.command));
  }
  for (const Operation& operation : kOperations) {
    const std::string pattern =
        std::regex_replace(std::string(operation.method) + " " + std::string(operation.path),
                           std::regex("\\{[a-z_]+\\}"), "[^/]+");
    const bool shown = std::ranges::any_of(asked, [&](const std::string& line) {
      return std::regex_match(line, std::regex(pattern));
    });
    EXPECT_TRUE(shown) << operation.method << ' ' << operation.path;
  }
}

}  // namespace
}  // namespace retsu
