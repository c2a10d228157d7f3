#pragma once

#include <string>
#include <string_view>

#include "cli/parser.h"

namespace retsu::cli {

// A script for bash, zsh or fish that completes commands and options.
std::string completion_for(const Parser& parser, std::string_view shell);

}  // namespace retsu::cli
