#include "cli/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;

namespace retsu {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Our environment without what would change the program's mind, and with what the test says.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& wanted) {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string entry = *each;
    const std::string name = entry.substr(0, entry.find('='));
    if (name == "RETSU_URL" || name == "NO_COLOR" || wanted.contains(name)) continue;
    all.push_back(entry);
  }
  for (const auto& [name, value] : wanted) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t spawn(std::vector<std::string> command, const std::string& directory,
            std::vector<std::string> environment, const std::string& input,
            const std::string& output, const std::string& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child = -1;
  const auto arguments = pointers_to(command);
  const auto variables = pointers_to(environment);
  const int failure = posix_spawnp(&child, command.front().c_str(), &actions, nullptr,
                                   arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(failure, 0) << "cannot start " << command.front();
  return child;
}

}  // namespace

std::string program() {
  const char* folder = std::getenv("RETSU_BUILD_DIR");
  return std::string(folder != nullptr ? folder : "build/release") + "/retsu";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string value_in(const std::string& json, const std::string& key) {
  const std::string name = "\"" + key + "\":";
  const auto found = json.find(name);
  if (found == std::string::npos) return "";
  const auto begin = found + name.size();
  if (json[begin] == '"') return json.substr(begin + 1, json.find('"', begin + 1) - begin - 1);
  int depth = 0;
  auto end = begin;
  for (; end < json.size(); ++end) {
    if (json[end] == '{' || json[end] == '[') ++depth;
    if (depth == 0 && (json[end] == ',' || json[end] == '}')) break;
    if (json[end] == '}' || json[end] == ']') --depth;
  }
  return json.substr(begin, end - begin);
}

Ran CliTest::run(const std::vector<std::string>& command, const std::string& input) {
  write(".in", input);
  environment_.try_emplace("RETSU_URL", "store");
  const pid_t child = spawn(command, directory_.path(), environment_with(environment_), path(".in"),
                            path(".out"), path(".err"));
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  Ran ran;
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = text_of(path(".out"));
  ran.err = text_of(path(".err"));
  return ran;
}

pid_t CliTest::start(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {std::filesystem::absolute(program()).string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  environment_.try_emplace("RETSU_URL", "store");
  return spawn(command, directory_.path(), environment_with(environment_), "/dev/null",
               path(".started_out"), path(".started_err"));
}

Ran CliTest::retsu(const std::vector<std::string>& arguments, const std::string& input) {
  std::vector<std::string> command = {std::filesystem::absolute(program()).string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run(command, input);
}

Ran CliTest::shell(const std::string& line, const std::string& input) {
  const std::string folder = std::filesystem::absolute(program()).parent_path().string();
  return run({"bash", "-c", "PATH='" + folder + "':$PATH; " + line}, input);
}

std::string CliTest::done(const std::vector<std::string>& arguments, const std::string& input) {
  const Ran ran = retsu(arguments, input);
  EXPECT_EQ(ran.status, 0) << testing::PrintToString(arguments) << "\n" << ran.err;
  return ran.out;
}

std::string CliTest::field(const std::string& id, const std::string& name) {
  return value_in(done({"show", id, "--json"}), name);
}

std::size_t CliTest::tasks() {
  if (!std::filesystem::exists(path("store/retsu.db"))) return 0;
  return lines_of(done({"tasks", "--all", "--json"})).size();
}

void CliTest::write(const std::string& name, const std::string& text) {
  std::ofstream(path(name), std::ios::binary) << text;
}

std::string CliTest::read(const std::string& name) { return text_of(path(name)); }

}  // namespace retsu
