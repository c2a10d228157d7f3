// The command line's grammar, made from the table of commands.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/session.h"

namespace retsu::cli {

// A node of the tree of CLI11 with what belongs to it.
struct Parser {
  Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  struct Command {
    const CommandRow* row = nullptr;
    CLI::App* app = nullptr;
    Action action;
  };

  Globals globals;
  CLI::App app;
  std::vector<Command> commands;  // in the order of the table

  // The command that was given; none: only `retsu`, or a group such as `queue` without more.
  [[nodiscard]] const Command* given() const;
  [[nodiscard]] const Command* find(const std::string& name) const;
};

// The command of that name inside a command; none: null.
const CLI::App* below(const CLI::App& app, const std::string& name);

// The words by which the command is called, after the program's name.
std::string path_of(const CLI::App& app);

// Options that people see, in the order in which they were added; positional ones apart.
std::vector<const CLI::Option*> options_of(const CLI::App& app);
std::vector<const CLI::Option*> operands_of(const CLI::App& app);

}  // namespace retsu::cli
