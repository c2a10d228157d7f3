#pragma once

#include <string>

#include "broker/embedded/verify.h"
#include "cli/screen.h"

namespace retsu::cli {

// What a store holds: `3 tasks (2 QUEUED, 1 FAILED), 4 groups in the journal, 88 KiB`.
std::string summary_of(const embedded::Verdict& verdict);

// 88 KiB
std::string size_of(std::int64_t bytes);

}  // namespace retsu::cli
