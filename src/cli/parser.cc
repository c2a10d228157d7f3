#include "cli/parser.h"

#include "cli/arguments.h"

namespace retsu::cli {
namespace {

void add_globals(CLI::App& app, Globals& globals) {
  app.set_help_flag("-h,--help", "Explain this command")->group("Common");
  app.add_option("--at", globals.at,
                 "The queue: http://HOST:PORT, or a store directory (or RETSU_URL)")
      ->type_name("URL|DIR")
      ->group("Common");
  app.add_flag("--json", globals.json, "Print JSON, one object a line")->group("Common");
}

// The node for the words of a name; those before the last are made if need be.
CLI::App* node_of(CLI::App& root, std::string_view name, std::string_view summary) {
  CLI::App* node = &root;
  for (;;) {
    const auto space = name.find(' ');
    const std::string word(name.substr(0, space));
    if (space == std::string_view::npos) return node->add_subcommand(word, std::string(summary));
    const auto same = [&](CLI::App* app) { return app->get_name() == word; };
    const auto found = node->get_subcommands(same);
    node = found.empty() ? node->add_subcommand(word) : found.front();
    node->require_subcommand(0, 1);
    name.remove_prefix(space + 1);
  }
}

}  // namespace

Parser::Parser() : app("A task queue for programs that call services", "retsu") {
  add_globals(app, globals);
  // With room for another command, the name of one would be taken for it wherever it stands: no
  // task could be called `show`.
  app.require_subcommand(0, 1);
  for (const CommandRow& row : cli::commands()) {
    CLI::App* const node = node_of(app, row.name, row.summary);
    Arguments arguments(*node);
    Action action = row.add(arguments);
    add_globals(*node, globals);
    commands.push_back({&row, node, std::move(action)});
  }
}

const Parser::Command* Parser::given() const {
  const CLI::App* node = &app;
  for (auto next = node->get_subcommands(); !next.empty(); next = node->get_subcommands()) {
    node = next.front();
  }
  for (const Command& command : commands) {
    if (command.app == node) return &command;
  }
  return nullptr;
}

const Parser::Command* Parser::find(const std::string& name) const {
  for (const Command& command : commands) {
    if (command.row->name == name) return &command;
  }
  return nullptr;
}

const CLI::App* below(const CLI::App& app, const std::string& name) {
  const auto same = [&](const CLI::App* each) { return each->get_name() == name; };
  const auto found = app.get_subcommands(same);
  return found.empty() ? nullptr : found.front();
}

std::string path_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  const std::string above = path_of(*app.get_parent());
  return above.empty() ? app.get_name() : above + " " + app.get_name();
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return !option->get_positional() && !option->get_group().empty();
  });
}

std::vector<const CLI::Option*> operands_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

}  // namespace retsu::cli
