#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/table.h"

namespace retsu::cli {
namespace {

constexpr std::size_t kTextWidth = 100;

// Words from a column on, over as many lines as they need.
std::string wrapped(std::string_view text, std::size_t column) {
  std::string out;
  std::size_t used = column;
  while (!text.empty()) {
    const auto space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (used > column && used + 1 + word.size() > kTextWidth) {
      out += "\n" + std::string(column, ' ');
      used = column;
    } else if (used > column) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  }
  return out;
}

using Rows = std::vector<std::pair<std::string, std::string>>;

void add_rows(std::string& out, std::string_view title, const Rows& rows) {
  if (rows.empty()) return;
  std::size_t width = 0;
  for (const auto& [name, text] : rows) width = std::max(width, width_of(name));
  out += fmt::format("\n{}:\n", title);
  for (const auto& [name, text] : rows) {
    out += fmt::format("  {}{}  {}\n", name, std::string(width - width_of(name), ' '),
                       wrapped(text, width + 4));
  }
}

std::string described(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) text += fmt::format(" [{}]", option.get_default_str());
  if (option.get_required()) text += " (required)";
  return text;
}

}  // namespace

std::string option_title(const CLI::Option& option) {
  std::string title = option.get_name();
  // CLI11 adds what is checked, after a colon.
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() > 0) title += " " + type.substr(0, type.find(':'));
  if (option.get_items_expected_max() > 1) title += "…";
  return title;
}

std::string operand_title(const CLI::Option& option) {
  std::string title = option.get_name(true);
  if (option.get_items_expected_max() > 1) title += "…";
  return option.get_required() ? title : "[" + title + "]";
}

std::string usage_of(const CLI::App& app) {
  const std::string path = path_of(app);
  std::string text = "retsu" + (path.empty() ? "" : " " + path);
  const auto inner = app.get_subcommands([](const CLI::App*) { return true; });
  if (!options_of(app).empty()) text += " [OPTIONS]";
  for (const CLI::Option* operand : operands_of(app)) text += " " + operand_title(*operand);
  if (!inner.empty()) {
    std::string names;
    for (const CLI::App* each : inner) names += (names.empty() ? "" : "|") + each->get_name();
    text = fmt::format("retsu{}{} {}", path.empty() ? "" : " ", path,
                       path.empty() ? "COMMAND [OPTIONS]" : names + " [OPTIONS]");
    if (!operands_of(app).empty() || path == "dead")
      text += "\n       retsu " + path + " [OPTIONS]";
  }
  return text;
}

std::string overview(const Parser& parser) {
  std::string out =
      fmt::format("{}.\n\nUsage: {}\n", parser.app.get_description(), usage_of(parser.app));
  for (const auto& group : names_of(std::type_identity<Group>{})) {
    Rows rows;
    for (const CommandRow& row : commands()) {
      if (row.group == group.value) rows.emplace_back(row.name, row.summary);
    }
    add_rows(out, group.name, rows);
  }
  Rows common;
  for (const CLI::Option* option : options_of(parser.app)) {
    common.emplace_back(option_title(*option), described(*option));
  }
  add_rows(out, "With every command", common);
  out +=
      "\nExit status: 0 done, 1 failed, 2 not understood or invalid, 3 not found, 4 refused, 5 "
      "out of reach.\nretsu help COMMAND explains a command.";
  return out;
}

std::string help_of(const Parser& parser, const CLI::App& app) {
  if (app.get_parent() == nullptr) return overview(parser);
  const Parser::Command* command = parser.find(path_of(app));
  std::string out = app.get_description();
  if (!out.empty()) out += ".\n\n";
  out += "Usage: " + usage_of(app) + "\n";
  Rows operands;
  for (const CLI::Option* option : operands_of(app)) {
    operands.emplace_back(operand_title(*option), described(*option));
  }
  add_rows(out, "Arguments", operands);
  Rows inner;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    inner.emplace_back(each->get_name(), each->get_description());
  }
  add_rows(out, "Commands", inner);
  Rows options;
  Rows common;
  for (const CLI::Option* option : options_of(app)) {
    Rows& rows = option->get_group() == "Common" ? common : options;
    rows.emplace_back(option_title(*option), described(*option));
  }
  add_rows(out, "Options", options);
  add_rows(out, "With every command", common);
  if (command != nullptr) {
    out += "\nExamples:\n  ";
    for (const char c : command->row->example)
      out += c == '\n' ? std::string("\n  ") : std::string(1, c);
  } else {
    out.pop_back();
  }
  return out;
}

Action add_help(Arguments& arguments) {
  struct Options {
    std::vector<std::string> command;
    bool man = false;
  };
  auto options = std::make_shared<Options>();
  arguments.option("COMMAND", options->command, "The command to explain");
  arguments.flag("--man", options->man, "The manual, for man").hidden();
  return [options](Session& session) -> Result<int> {
    const Parser parser;
    if (options->man) {
      session.screen().line(manual(parser));
      return 0;
    }
    std::string name;
    for (const std::string& word : options->command) name += (name.empty() ? "" : " ") + word;
    const CLI::App* node = &parser.app;
    for (const std::string& word : options->command) {
      node = below(*node, word);
      if (node == nullptr) {
        return refuse(ErrorCode::kInvalid,
                      fmt::format("there is no command {}; see retsu help", name));
      }
    }
    session.screen().line(help_of(parser, *node));
    return 0;
  };
}

}  // namespace retsu::cli
