#include "cli/program.h"

#include <fmt/format.h>

#include <clocale>
#include <csignal>
#include <cstring>

#include "cli/help.h"
#include "cli/parser.h"
#include "cli/screen.h"

namespace retsu::cli {
namespace {

constexpr int kUsage = 2;

Error usage(const std::string& message, const std::string& command) {
  return {ErrorCode::kInvalid,
          fmt::format("{}; see retsu{}{} --help", message, command.empty() ? "" : " ", command)};
}

// Options before a command of a command, such as `dead --queue q redrive`, would be passed over.
std::optional<Error> misplaced(const CLI::App& app) {
  const CLI::App* const above = app.get_parent();
  if (above == nullptr || above->get_parent() == nullptr) return std::nullopt;
  for (const CLI::Option* option : above->get_options()) {
    if (option->count() == 0 || option->get_group() == "Common") continue;
    return usage(fmt::format("{} must stand after {}", option->get_name(), path_of(app)),
                 path_of(app));
  }
  return std::nullopt;
}

// The command that was being read when it went wrong.
const CLI::App& deepest(const CLI::App& app) {
  const auto below = app.get_subcommands();
  return below.empty() ? app : deepest(*below.front());
}

int fail(Screen& screen, const Error& error) {
  screen.error(error);
  return row_of(error.code).exit_code;
}

int perform(const Parser& parser, Screen& screen) {
  const Parser::Command* const command = parser.given();
  if (command == nullptr) {
    const CLI::App& node = deepest(parser.app);
    if (node.get_parent() == nullptr) {
      screen.note("which command?");
      fmt::print(stderr, "{}\n", overview(parser));
      return kUsage;
    }
    return fail(screen, usage(fmt::format("{} needs a command", path_of(node)), path_of(node)));
  }
  if (const auto error = misplaced(*command->app)) return fail(screen, *error);
  Result<int> status = 0;
  {
    Session session(parser.globals, screen);
    status = command->action(session);
    screen.flush();  // before the store is tidied up, which takes its time
  }
  if (!status) return fail(screen, status.error());
  if (auto written = screen.written(); !written) return fail(screen, written.error());
  return *status;
}

}  // namespace

int run(int argc, char** argv) {
  // A reader who goes is told by write(); names and payloads are UTF-8 whatever the terminal says.
  std::signal(SIGPIPE, SIG_IGN);
  std::setlocale(LC_CTYPE, "C.UTF-8");
  Parser parser;
  try {
    parser.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    Screen screen(false);
    screen.line(help_of(parser, deepest(parser.app)));
    return 0;
  } catch (const CLI::ParseError& error) {
    bool json = false;
    for (int i = 1; i < argc; ++i) json |= std::strcmp(argv[i], "--json") == 0;
    Screen screen(json);
    const CLI::App& node = deepest(parser.app);
    const auto* unknown = dynamic_cast<const CLI::ExtrasError*>(&error);
    const auto rest = node.remaining();
    if (unknown != nullptr && &node == &parser.app && !rest.empty() && rest[0].front() != '-') {
      return fail(screen, usage(fmt::format("there is no command {}", rest[0]), ""));
    }
    return fail(screen, usage(error.what(), path_of(node)));
  }
  Screen screen(parser.globals.json);
  return perform(parser, screen);
}

}  // namespace retsu::cli
