// Text from outside, as a task can keep it.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace retsu::worker {

// The value, if it is JSON; else a string. None of white space only.
Json as_json(std::string_view bytes);

// Keeps the end of what is added.
class Tail {
 public:
  explicit Tail(std::size_t bytes) : bytes_(bytes) {}
  void add(std::string_view some);
  // Without the line's end; begins with a whole character.
  [[nodiscard]] std::string text() const;

 private:
  const std::size_t bytes_;
  std::string kept_;
  bool is_cut_ = false;
};

}  // namespace retsu::worker
