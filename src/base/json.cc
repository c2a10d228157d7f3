#include "base/json.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>

namespace retsu {
namespace {

constexpr std::size_t kKeptBytes = 1 << 20;  // a thread keeps the memory for texts up to this

std::string_view describe(simdjson::error_code problem) {
  switch (problem) {
    case simdjson::EMPTY:
      return "it is empty";
    case simdjson::CAPACITY:
      return "it is 4 GiB or more";
    case simdjson::MEMALLOC:
      return "there is not enough memory to read it";
    case simdjson::DEPTH_ERROR:
      return "it is nested too deeply";
    case simdjson::UTF8_ERROR:
      return "it is not valid UTF-8";
    case simdjson::UNCLOSED_STRING:
      return "a string is not closed";
    case simdjson::UNESCAPED_CHARS:
      return "a string has a control character that must be escaped";
    case simdjson::STRING_ERROR:
      return "a string has a bad escape";
    case simdjson::NUMBER_ERROR:
      return "a number is misspelt or too large: whole numbers must fit into 64 bits";
    case simdjson::T_ATOM_ERROR:
    case simdjson::F_ATOM_ERROR:
    case simdjson::N_ATOM_ERROR:
      return "a word is misspelt: there are true, false and null";
    default:
      return "a comma, colon, quote or bracket is missing or too many, or it was cut off";
  }
}

// The validator of one thread, with its memory.
class Checker {
 public:
  simdjson::error_code check(std::string_view text) {
    if (text.empty()) return simdjson::EMPTY;
    if (text.size() > capacity_) grow(text.size());
    std::memcpy(copy_.get(), text.data(), text.size());
    std::memset(copy_.get() + text.size(), 0, simdjson::SIMDJSON_PADDING);
    const auto problem = parser_->parse(copy_.get(), text.size(), false).error();
    if (capacity_ > kKeptBytes) *this = Checker();
    return problem;
  }

 private:
  void grow(std::size_t size) {
    *this = Checker();
    const std::size_t capacity = std::max(size, std::min<std::size_t>(2 * size, kKeptBytes));
    copy_ = std::make_unique_for_overwrite<char[]>(capacity + simdjson::SIMDJSON_PADDING);
    parser_ = std::make_unique<simdjson::dom::parser>();
    // If this fails, so does parse().
    std::ignore = parser_->allocate(capacity, kJsonDepth + kShapeDepth + 1);
    capacity_ = capacity;
  }

  std::size_t capacity_ = 0;
  std::unique_ptr<simdjson::dom::parser> parser_;
  std::unique_ptr<char[]> copy_;
};

}  // namespace

tl::expected<void, JsonError> check_json(std::string_view text) {
  thread_local Checker checker;
  const auto problem = checker.check(text);
  if (problem == simdjson::SUCCESS) return {};
  return tl::unexpected(JsonError{false, "not valid JSON: " + std::string(describe(problem))});
}

bool is_json(std::string_view text) {
  return check_json(text) && JsonReader(text).skip().depth <= kJsonDepth;
}

tl::expected<Json, std::string> compact_json(std::string_view text) {
  Json value;
  if (auto checked = check_json(text); !checked)
    return tl::unexpected(std::move(checked.error().message));
  JsonReader in(text);
  if (!in.read_raw(value)) return tl::unexpected(in.error().message);
  return value;
}

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::string_view json_detail::minified(std::string_view text, std::string& memory) {
  memory.resize(text.size() + simdjson::SIMDJSON_PADDING);
  std::size_t size = 0;
  // It cannot fail on a text that was checked.
  std::ignore = simdjson::minify(text.data(), text.size(), memory.data(), size);
  return {memory.data(), size};
}

}  // namespace retsu
