#include "base/json_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace retsu {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

bool is_space(char c) { return kSpace.find(c) != std::string_view::npos; }

std::string_view without_space_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

}  // namespace

std::string JsonPlace::text() const {
  return element == 0 ? fmt::format("line {}", line)
                      : fmt::format("element {}, line {}", element, line);
}

void JsonItemReader::take(std::string_view bytes) {
  bom_.take(bytes, [this](std::string_view piece) { read(piece); });
}

void JsonItemReader::end() {
  bom_.end([this](std::string_view piece) { read(piece); });
  switch (state_) {
    case State::kInLine:
      return keep({}, true);
    case State::kInElement:
      return stop("the text ends inside this element");
    case State::kFirstElement:
    case State::kNextElement:
    case State::kBehindElement:
      return stop("the array is not closed");
    default:
      return;
  }
}

void JsonItemReader::read(std::string_view bytes) {
  while (!bytes.empty() && state_ != State::kStopped) {
    if (state_ == State::kInElement || state_ == State::kInLine) {
      const auto line_end = std::min(bytes.find('\n'), bytes.size());
      const Part part = state_ == State::kInElement ? element_part(bytes)
                                                    : Part{line_end, line_end < bytes.size()};
      keep(bytes.substr(0, part.size), part.is_end);
      bytes.remove_prefix(part.size);
    } else if (step(bytes.front())) {
      if (bytes.front() == '\n') ++line_;
      bytes.remove_prefix(1);
    }
  }
}

// Between values. False: the character is the first of a value, or of lines.
bool JsonItemReader::step(char c) {
  if (is_space(c)) return true;
  switch (state_) {
    case State::kStart:
      state_ = c == '[' ? State::kFirstElement : State::kBetweenLines;
      return c == '[';
    case State::kBetweenLines:
      begin(State::kInLine);
      return false;
    case State::kFirstElement:
    case State::kNextElement:
      if (c == ']' && state_ == State::kFirstElement) {
        state_ = State::kBehindArray;
        return true;
      }
      ++place_.element;
      if (c == ',' || c == ']' || c == '}') {
        stop("this element is missing");
        return true;
      }
      begin(State::kInElement);
      return false;
    case State::kBehindElement:
      if (c == ',' || c == ']') {
        state_ = c == ',' ? State::kNextElement : State::kBehindArray;
      } else {
        stop("a comma is missing behind this element");
      }
      return true;
    default:
      stop("there is text behind the end of the array");
      return true;
  }
}

void JsonItemReader::begin(State state) {
  state_ = state;
  place_.line = line_;
  size_ = 0;
  is_plain_ = false;
}

JsonItemReader::Part JsonItemReader::element_part(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char c = bytes[at];
    if (in_string_) {
      const bool was_escaped = std::exchange(escaped_, !escaped_ && c == '\\');
      in_string_ = was_escaped || c != '"';
      if (!in_string_ && depth_ == 0) return {at + 1, true};
      continue;
    }
    switch (c) {
      case '"':
        if (is_plain_) return {at, true};
        in_string_ = true;
        break;
      case '{':
      case '[':
        if (is_plain_) return {at, true};
        ++depth_;
        break;
      case '}':
      case ']':
        if (is_plain_) return {at, true};
        if (--depth_ == 0) return {at + 1, true};
        break;
      default:
        if (depth_ > 0) break;
        if (c == ',' || is_space(c)) return {at, true};
        is_plain_ = true;
    }
  }
  return {bytes.size(), false};
}

void JsonItemReader::keep(std::string_view bytes, bool is_end) {
  const bool was_too_large = size_ > max_bytes_;
  size_ += bytes.size();
  line_ += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
  if (size_ > max_bytes_) {
    text_.clear();
    if (!was_too_large) {
      fail(place_, fmt::format("larger than {} bytes", max_bytes_), false);
    }
  } else if (!is_end) {
    text_ += bytes;
  } else {
    // What came in one piece is not copied.
    if (!text_.empty()) bytes = text_ += bytes;
    on_item_(JsonItem{place_, without_space_behind(bytes)});
    text_.clear();
  }
  if (is_end) {
    state_ = state_ == State::kInLine ? State::kBetweenLines : State::kBehindElement;
  }
}

void JsonItemReader::stop(std::string message) {
  state_ = State::kStopped;
  fail({line_, place_.element}, std::move(message), true);
}

void JsonItemReader::fail(JsonPlace place, std::string message, bool is_last) {
  on_item_(tl::unexpected(JsonItemError{place, std::move(message), is_last}));
}

}  // namespace retsu
