#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "model/error.h"

namespace retsu::cli {

// {"concurrency":4,"retry":{"base_ms":500}}, from `concurrency=4 retry.base_ms=500`: values are
// JSON, times also 5m, all else is text. Refused: no KEY=VALUE, or a key given twice.
Result<Json> patch_of(const std::vector<std::string>& settings);

}  // namespace retsu::cli
