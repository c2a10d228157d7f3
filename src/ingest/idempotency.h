// One key, one effect: what makes a repeated call the same call.
#pragma once

#include <string>

#include "model/operations.h"

namespace retsu {

// Whether a key makes a difference: operations that have the effect of once however often they are
// sent need none, and a claim has its claim id for that.
bool uses_key(const Operation& operation);

// 1 to 255 characters, none of them white space or control characters.
Status validate_key(const std::string& key);

// Of everything that the caller said, as SHA-256 in hexadecimal: equal for equal values, however
// they were written. `besides`: what is not in the command.
std::string fingerprint(const std::string& command_json, const std::string& besides = {});

}  // namespace retsu
