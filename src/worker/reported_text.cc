#include "worker/reported_text.h"

#include <algorithm>

#include "base/json.h"

namespace retsu::worker {
namespace {

constexpr std::size_t kLongestCharacter = 4;

std::string_view trimmed(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

std::string as_utf8(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text;
  while (!bytes.empty()) {
    std::size_t size = 1;
    while (size <= std::min(bytes.size(), kLongestCharacter) && !is_utf8(bytes.substr(0, size))) {
      ++size;
    }
    const bool is_character = size <= std::min(bytes.size(), kLongestCharacter);
    if (!is_character) size = 1;
    text += is_character ? bytes.substr(0, size) : "?";
    bytes.remove_prefix(size);
  }
  return text;
}

Json as_json(std::string_view bytes) {
  const std::string_view text = trimmed(bytes);
  if (text.empty()) return {};
  if (is_json(text)) return *compact_json(text);
  std::string json;
  JsonWriter(json).string(as_utf8(text));
  return Json(json);
}

void Tail::add(std::string_view some) {
  kept_ += some;
  if (kept_.size() <= bytes_) return;
  kept_.erase(0, kept_.size() - bytes_);
  is_cut_ = true;
}

std::string Tail::text() const {
  std::string_view text = trimmed(kept_);
  while (is_cut_ && !text.empty() && is_inside_character(text.front())) text.remove_prefix(1);
  return (is_cut_ ? "…" : "") + as_utf8(text);
}

}  // namespace retsu::worker
