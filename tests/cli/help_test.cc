#include "cli/help.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/run_program.h"

namespace retsu {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HelpTest : public CliTest {
 protected:
  static std::vector<std::string> words(std::string_view name) {
    std::vector<std::string> all;
    std::istringstream in{std::string(name)};
    for (std::string word; in >> word;) all.push_back(word);
    return all;
  }
};

TEST_F(HelpTest, EveryCommandExplainsItselfWithAnExample) {
  const std::string all = done({"help"});
  for (const cli::CommandRow& row : cli::commands()) {
    std::vector<std::string> command = words(row.name);
    std::vector<std::string> asked = {"help"};
    asked.insert(asked.end(), command.begin(), command.end());
    command.emplace_back("--help");
    const std::string help = done(command);
    EXPECT_THAT(help, StartsWith(std::string(row.summary) + ".\n\nUsage: retsu "));
    EXPECT_THAT(help, HasSubstr("Examples:\n  retsu " + std::string(row.name))) << row.name;
    EXPECT_THAT(help, HasSubstr("--json"));
    EXPECT_EQ(done(asked), help);
    EXPECT_THAT(all, HasSubstr(std::string(row.name) + " "));
    EXPECT_THAT(all, HasSubstr(row.summary));
  }
}

TEST_F(HelpTest, EveryExampleIsUnderstood) {
  for (const cli::CommandRow& row : cli::commands()) {
    for (const std::string& line : lines_of(std::string(row.example))) {
      const std::string command = line.substr(0, line.find(" > "));
      // Read as the program would read it, and no further.
      const std::string own = command.substr(0, command.find(" -- "));  // the rest is another's
      const Ran ran = shell("set -- " + own + "; shift; retsu \"$@\" --help");
      EXPECT_EQ(ran.status, 0) << line << ran.err;
      // A server would go on for ever; what is asked of a directory is answered at once.
      const Ran asked = shell("export RETSU_URL=./example RETSU_LISTEN=127.0.0.1:0; timeout 1 " +
                              command + " | cat > /dev/null");
      EXPECT_THAT(asked.err, Not(HasSubstr("not expected"))) << line;
    }
  }
}

TEST_F(HelpTest, EveryCommandAndOptionIsCompletedInEveryShell) {
  const cli::Parser parser;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = done({"completion", shell});
    for (const cli::Parser::Command& command : parser.commands) {
      EXPECT_THAT(script, HasSubstr("'" + std::string(command.row->name) + "'")) << shell;
      for (const CLI::Option* option : cli::options_of(*command.app)) {
        EXPECT_THAT(script, HasSubstr(option->get_lnames().front())) << shell;
      }
    }
  }
  EXPECT_EQ(retsu({"completion", "tcsh"}).status, 2);
}

TEST_F(HelpTest, BashCompletes) {
  const auto completed = [&](const std::string& line) {
    return lines_of(shell("eval \"$(retsu completion bash)\"; COMP_WORDS=(" + line +
                          "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _retsu; printf '%s\\n' "
                          "\"${COMPREPLY[@]}\"")
                        .out);
  };
  EXPECT_THAT(completed("retsu que"), ElementsAre("queues", "queue"));
  EXPECT_THAT(completed("retsu push --pr"), ElementsAre("--priority"));
  EXPECT_THAT(completed("retsu --at x dead re"), ElementsAre("redrive"));
  EXPECT_THAT(completed("retsu dead redrive --dr"), ElementsAre("--dry-run"));
  EXPECT_THAT(completed("retsu completion z"), ElementsAre("zsh"));
}

TEST_F(HelpTest, TheManualIsUpToDate) {
  std::ifstream in("docs/retsu.1");
  std::stringstream committed;
  committed << in.rdbuf();
  EXPECT_EQ(committed.str(), cli::manual(cli::Parser()) + "\n")
      << "build/release/retsu help --man > docs/retsu.1";
}

TEST_F(HelpTest, ExitCodesAreThoseOfTheTable) {
  EXPECT_EQ(retsu({}).status, 2);
  EXPECT_EQ(retsu({"frob"}).status, 2);
  EXPECT_EQ(retsu({"tasks", "--frob"}).status, 2);
  EXPECT_EQ(retsu({"show"}).status, 2);
  EXPECT_EQ(retsu({"help", "frob"}).status, 2);
  EXPECT_EQ(retsu({"--help"}).status, 0);
  EXPECT_EQ(retsu({"tasks"}).status, 5);  // there is no store, and looking makes none
  EXPECT_FALSE(std::filesystem::exists(path("store")));
  done({"push", "--id", "a"});
  EXPECT_EQ(retsu({"show", "nobody"}).status, 3);
  EXPECT_EQ(retsu({"why", "nobody"}).status, 3);
  EXPECT_EQ(retsu({"graph", "nobody"}).status, 3);
  EXPECT_EQ(retsu({"retry", "a"}).status, 4);
  EXPECT_EQ(retsu({"tasks", "--at", "http://127.0.0.1:9"}).status, 5);
  EXPECT_EQ(retsu({"--at", "redis://localhost/0", "tasks"}).status, 5);
  environment_["RETSU_URL"] = "";
  const Ran nowhere = retsu({"tasks"});
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_THAT(nowhere.err, AllOf(HasSubstr("--at"), HasSubstr("RETSU_URL")));
  EXPECT_EQ(retsu({"--at", "store", "tasks"}).status, 0);
  EXPECT_EQ(retsu({"tasks", "--at", "store"}).status, 0);
}

TEST_F(HelpTest, ABadArgumentIsNamedWithWhatIsWrong) {
  write("file", "");
  const std::pair<std::vector<std::string>, std::string> rows[] = {
      {{"tasks", "--limit", "abc"}, "--limit: abc is not a whole number; see retsu tasks --help"},
      {{"tasks", "--limit", "0"}, "--limit: 0 is not between 1 and 1000000000"},
      {{"claim", "--max", "1.5"}, "--max: 1.5 is not a whole number"},
      {{"claim", "--max", "99999999999999999999"}, "--max: 99999999999999999999 is not between"},
      {{"bench", "--batch", "10", "--batch", "x"}, "--batch: x is not a whole number"},
      {{"tasks", "--at", path("file")}, "file is not a directory"},
      {{"push", "--at", path("file"), "1"}, "file is not a directory"}};
  for (const auto& [arguments, message] : rows) {
    const Ran ran = retsu(arguments);
    EXPECT_EQ(ran.status, 2) << message;
    EXPECT_THAT(ran.err, HasSubstr(message));
  }
}

TEST_F(HelpTest, AStoreThatIsNotThereIsMadeByAPushAndByNobodyWhoLooksForWork) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"claim"}, {"work", "--until-empty", "--", "true"}, {"tasks"}}) {
    const Ran ran = retsu(arguments);
    EXPECT_EQ(ran.status, 5) << arguments[0];
    EXPECT_THAT(ran.err, HasSubstr("there is no store in"));
  }
  EXPECT_FALSE(std::filesystem::exists(path("store")));
  EXPECT_EQ(retsu({"push", "1"}).status, 0);
}

TEST_F(HelpTest, WhoCannotReachAServerIsOfferedASpool) {
  const Ran ran = retsu({"push", "--at", "http://127.0.0.1:1", "1"});
  EXPECT_EQ(ran.status, 5);
  EXPECT_THAT(ran.err, HasSubstr("--spool FILE"));
}

TEST_F(HelpTest, TheProgramMeasuresItself) {
  const std::string line = done(
      {"bench", "--tasks", "200", "--batch", "20", "--clients", "2", "--users", "3", "--json"});
  EXPECT_EQ(value_in(line, "tasks"), "200");
  EXPECT_GT(std::stod(value_in(line, "lifecycles_per_second")), 0);
  EXPECT_THAT(done({"bench", "--tasks", "50", "--batch", "10", "--batch", "50"}), HasSubstr("█"));
  EXPECT_EQ(retsu({"bench", "--in", "nowhere"}).status, 2);
  EXPECT_EQ(retsu({"bench", "--batch", "0"}).status, 2);
  for (const auto& entry : std::filesystem::directory_iterator(path(""))) {
    EXPECT_THAT(entry.path().filename().string(), Not(StartsWith("retsu."))) << "left behind";
  }
}

}  // namespace
}  // namespace retsu
