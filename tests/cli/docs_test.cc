// What docs/cli.md shows is what the program does: its commands are run one after the other, and
// what they print is compared, but for ids, times and figures of speed.

#include <fstream>
#include <regex>
#include <sstream>

#include "cli/run_program.h"

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
      {" +", " "},
  };
  for (const auto& [pattern, word] : kinds)
    text = std::regex_replace(text, std::regex(pattern), word);
  return text;
}

using DocsTest = CliTest;

TEST_F(DocsTest, TheCommandLineIsAsItsPageShows) {
  std::ifstream in("docs/cli.md");
  std::stringstream page;
  page << in.rdbuf();
  const std::vector<Shown> all = commands_of(page.str());
  ASSERT_GT(all.size(), 20U);
  // One shell for all, so that variables stay.
  std::string script;
  for (const Shown& shown : all) script += "{ " + shown.command + "\n} 2>&1\necho ---\n";
  environment_["RETSU_URL"] = "";
  const std::string out = shell(script).out;
  std::size_t at = 0;
  for (const Shown& shown : all) {
    const auto end = out.find("---\n", at);
    ASSERT_NE(end, std::string::npos) << shown.command;
    EXPECT_EQ(without_chance(out.substr(at, end - at)), without_chance(shown.output))
        << "$ " << shown.command << "\n"
        << out.substr(at, end - at);
    at = end + 4;
  }
}

}  // namespace
}  // namespace retsu
