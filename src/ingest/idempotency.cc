#include "ingest/idempotency.h"

#include <algorithm>

#include "base/json.h"
#include "base/sha256.h"

namespace retsu {

bool uses_key(const Operation& operation) {
  return operation.changes && !operation.repeatable && operation.name != "claim";
}

Status validate_key(const std::string& key) {
  constexpr std::size_t kMost = 255;
  const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
  if (!key.empty() && key.size() <= kMost && std::ranges::all_of(key, is_visible)) return {};
  return refuse(ErrorCode::kInvalid,
                "invalid idempotency key: must be 1 to 255 visible ASCII characters");
}

std::string fingerprint(const std::string& command_json, const std::string& besides) {
  std::string canonical = canonical_json(command_json);
  if (!besides.empty()) canonical += '\n' + besides;
  return sha256_hex(canonical);
}

}  // namespace retsu
