// Files of many JSON values, read one value at a time: an array, or a value a line (NDJSON).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/bom.h"

namespace retsu {

struct JsonPlace {
  std::uint64_t line = 0;     // from 1
  std::uint64_t element = 0;  // of the array, from 1; 0: each line is a value

  [[nodiscard]] std::string text() const;  // "line 7", or "element 3, line 7"
  bool operator==(const JsonPlace&) const = default;
};

struct JsonItem {
  JsonPlace place;        // where it begins
  std::string_view text;  // without white space around it; valid until the call returns
};

struct JsonItemError {
  JsonPlace place;  // the element is the last one that has begun, or the one that is missing
  std::string message;
  bool is_last = false;  // nothing that follows could be understood

  bool operator==(const JsonItemError&) const = default;
};

// Reads such a text piece by piece; where it is cut makes no difference. A text whose first
// character is `[` is one array, any other has a value a line. White space, blank lines and a byte
// order mark are passed over.
//
// Only the ends of values are found here, by their quotes and brackets: whether a value is JSON is
// for the caller to check (see check_json). A value that is too large is an error, and reading goes
// on behind it. Text after the array, a missing comma, element or end are errors, and the last.
//
// Holds at most one value in memory.
class JsonItemReader {
 public:
  // Called in the order of the text, from within take() and end().
  using OnItem = std::function<void(const tl::expected<JsonItem, JsonItemError>&)>;

  explicit JsonItemReader(OnItem on_item, std::size_t max_bytes = 1 << 20)
      : on_item_(std::move(on_item)), max_bytes_(max_bytes) {}

  void take(std::string_view bytes);
  void end();  // once, after all was taken

 private:
  enum class State : std::uint8_t {
    kStart,         // nothing but white space yet
    kFirstElement,  // behind [
    kNextElement,   // behind a comma
    kInElement,
    kBehindElement,
    kBehindArray,
    kBetweenLines,
    kInLine,
    kStopped
  };
  struct Part {
    std::size_t size;
    bool is_end;
  };

  void read(std::string_view bytes);
  bool step(char c);
  void begin(State state);
  Part element_part(std::string_view bytes);
  void keep(std::string_view bytes, bool is_end);
  void stop(std::string message);
  void fail(JsonPlace place, std::string message, bool is_last);

  const OnItem on_item_;
  const std::size_t max_bytes_;
  BomSkipper bom_;
  State state_ = State::kStart;
  std::uint64_t line_ = 1;
  JsonPlace place_;       // of the value that is being read, or was read last
  std::size_t size_ = 0;  // of it, so far
  std::size_t depth_ = 0;
  bool is_plain_ = false;  // a number or a word, which ends where something else begins
  bool in_string_ = false;
  bool escaped_ = false;
  std::string text_;  // what earlier pieces had of it
};

}  // namespace retsu
