// What commands know of the world that they run in.
#pragma once

#include <string>

namespace retsu::cli {

std::string variable(const char* name);  // of the environment; empty: not set

std::string process_name();  // host:pid, for people who look

}  // namespace retsu::cli
