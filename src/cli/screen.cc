#include "cli/screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/json.h"
#include "base/write_all.h"
#include "broker/codec.h"

namespace retsu::cli {
namespace {

constexpr std::size_t kPiece = 64 << 10;
constexpr int kUsualWidth = 80;

int terminal_width() {
  if (::isatty(STDOUT_FILENO) == 0) return 0;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualWidth;
  return size.ws_col;
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0;
}

std::string_view code_of(Style style) {
  constexpr std::string_view kCodes[] = {"",   "1",  "2",  "31",
                                         "32", "33", "34", "36"};  // in the order of Style
  return kCodes[static_cast<std::size_t>(style)];
}

}  // namespace

Style style_of(State state) {
  constexpr Style kStyles[kStates] = {Style::kYellow, Style::kYellow, Style::kCyan, Style::kBlue,
                                      Style::kGreen,  Style::kRed,    Style::kDim};
  return kStyles[static_cast<std::size_t>(state)];
}

Screen::Screen(bool json) : json_(json), width_(terminal_width()) {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  colour_ = width_ > 0 && !json && !dumb && !is_set("NO_COLOR");
}

void Screen::line(std::string_view text) {
  if (gone_ || failure_ != 0) return;
  buffer_ += text;
  buffer_ += '\n';
  if (buffer_.size() >= kPiece) flush();
}

void Screen::flush() {
  if (const int failure = write_all(STDOUT_FILENO, buffer_); failure == EPIPE) {
    gone_ = true;
  } else if (failure != 0) {
    failure_ = failure;
  }
  buffer_.clear();
}

Status Screen::written() {
  flush();
  if (failure_ == 0) return {};
  return refuse(ErrorCode::kOutcomeUnknown,
                fmt::format("what was done could not be printed: {}", std::strerror(failure_)));
}

void Screen::note(std::string_view text) {
  std::string out;
  if (json_) {
    JsonWriter to(out);
    to.open_object();
    to.key("note");
    to.string(text);
    to.close_object();
  } else {
    out = fmt::format("retsu: {}", printable(text));
  }
  (void)write_all(STDERR_FILENO, out + "\n");
}

void Screen::error(const Error& error) {
  flush();  // in the order in which it happened
  const std::string out =
      json_ ? to_json(error)
            : fmt::format("retsu: {}: {}", row_of(error.code).name, printable(error.message));
  (void)write_all(STDERR_FILENO, out + "\n");
}

std::string Screen::styled(Style style, std::string_view text) const {
  if (!colour_ || style == Style::kPlain) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(style), text);
}

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // C1 controls are two bytes of UTF-8, the first of them C2.
    const bool is_c1 =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (byte == '\n') {
      safe += "\\n";
    } else if (byte == '\t') {
      safe += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      safe += fmt::format("\\x{:02x}", byte);
    } else if (is_c1) {
      safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else {
      safe += text[i];
    }
  }
  return safe;
}

}  // namespace retsu::cli
