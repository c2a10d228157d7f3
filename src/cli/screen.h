// Where a command prints, and what can be shown there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/error.h"
#include "model/state.h"

namespace retsu::cli {

enum class Style : std::uint8_t { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue, kCyan };

Style style_of(State state);

// Standard output, gathered and written in large pieces, and standard error, written at once. A
// reader who has gone (`retsu tasks | head`) is no failure: what comes later is dropped.
class Screen {
 public:
  explicit Screen(bool json);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() { flush(); }

  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] bool is_terminal() const { return width_ > 0; }
  [[nodiscard]] int width() const { return width_; }  // in columns; 0: not a terminal
  [[nodiscard]] bool gone() const { return gone_; }   // nobody reads any more

  void line(std::string_view text);
  void flush();
  [[nodiscard]] Status written();  // all of it, or why not

  // A remark for people, or {"note":…} with --json.
  void note(std::string_view text);
  void error(const Error& error);

  // The text in that style, where styles can be shown.
  [[nodiscard]] std::string styled(Style style, std::string_view text) const;

 private:
  const bool json_;
  int width_ = 0;
  bool colour_ = false;
  bool gone_ = false;
  int failure_ = 0;
  std::string buffer_;
};

// Text from elsewhere, safe to print: control characters are shown, not obeyed.
std::string printable(std::string_view text);

}  // namespace retsu::cli
