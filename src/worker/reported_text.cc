#include "worker/reported_text.h"

#include "base/json.h"
#include "base/utf8.h"

namespace retsu::worker {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

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
