#include <fmt/format.h>

#include "cli/help.h"
#include "cli/version.h"

namespace retsu::cli {
namespace {

// For roff: a backslash, a leading dot or quote, and hyphens that are to be typed are special.
std::string roff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || text[i - 1] == '\n';
    if (begins && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\') {
      out += "\\e";
    } else if (text[i] == '-') {
      out += "\\-";
    } else {
      out += text[i];
    }
  }
  return out;
}

void add_entry(std::string& out, const std::string& title, const CLI::Option& option) {
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) text += fmt::format(" [{}]", option.get_default_str());
  out += fmt::format(".TP\n.B {}\n{}.\n", roff(title), roff(text));
}

void add_command(std::string& out, const Parser::Command& command) {
  out += fmt::format(".SS {}\n{}.\n.PP\n.B {}\n", roff(command.row->name),
                     roff(command.row->summary), roff(usage_of(*command.app)));
  for (const CLI::Option* operand : operands_of(*command.app)) {
    add_entry(out, operand_title(*operand), *operand);
  }
  for (const CLI::Option* option : options_of(*command.app)) {
    if (option->get_group() != "Common") add_entry(out, option_title(*option), *option);
  }
  out += fmt::format(".PP\n.EX\n{}\n.EE\n", roff(command.row->example));
}

constexpr std::string_view kEnd = R"(.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
Failed.
.TP
.B 2
The command line was not understood, or what it asks for is invalid.
.TP
.B 3
There is no such task, queue or claim.
.TP
.B 4
Refused: a conflict, a dependency cycle, a claim that is over.
.TP
.B 5
The queue is out of reach: there is no store, another process has it open, it is damaged.
.SH ENVIRONMENT
.TP
.B RETSU_URL
The queue, where \-\-at does not name one.
.TP
.B NO_COLOR
If it is set, there are no colours, also on a terminal.)";

}  // namespace

std::string manual(const Parser& parser) {
  std::string out = fmt::format(
      ".TH RETSU 1 \"\" \"retsu {}\" \"User commands\"\n.SH NAME\nretsu \\- {}\n.SH SYNOPSIS\n.B "
      "{}\n.SH DESCRIPTION\nTasks are pushed, claimed and settled; a store directory keeps them. "
      "Durations are written 250ms, 5s, 5m, 2h, 7d or 1h30m, times as 2026\\-11\\-15T22:20:00Z.\n",
      roff(kVersion), roff(parser.app.get_description()), roff(usage_of(parser.app)));
  out += ".SH OPTIONS OF EVERY COMMAND\n";
  for (const CLI::Option* option : options_of(parser.app)) {
    add_entry(out, option_title(*option), *option);
  }
  out += ".SH COMMANDS\n";
  for (const Parser::Command& command : parser.commands) add_command(out, command);
  out += kEnd;
  return out;
}

}  // namespace retsu::cli
