// The help, made from the table of commands and their options.
#pragma once

#include <string>

#include "cli/parser.h"

namespace retsu::cli {

std::string overview(const Parser& parser);  // all commands
std::string help_of(const Parser& parser, const CLI::App& app);

// `--limit N`, `-h,--help`; TASK…, [PAYLOAD].
std::string option_title(const CLI::Option& option);
std::string operand_title(const CLI::Option& option);
// `retsu push [OPTIONS] [PAYLOAD]`
std::string usage_of(const CLI::App& app);

// The manual, for man.
std::string manual(const Parser& parser);

}  // namespace retsu::cli
