#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace retsu::cli {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kEvery = std::chrono::milliseconds(100);
constexpr int kBarWidth = 30;

}  // namespace

Progress::Progress(std::string what)
    : what_(std::move(what)), is_terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::at(const std::string& what, std::int64_t done, std::int64_t whole) {
  if (what != what_) stage_ = Steady::now();
  what_ = what;
  at(done, whole);
}

void Progress::at(std::int64_t done, std::int64_t whole) {
  const Steady::time_point now = Steady::now();
  if (!is_terminal_ || now - start_ < kPatience || now - drawn_ < kEvery) return;
  drawn_ = now;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  if (whole > 0) {
    const double share =
        std::clamp(static_cast<double>(done) / static_cast<double>(whole), 0.0, 1.0);
    const double spent = std::chrono::duration<double>(now - stage_).count();
    const double left = share > 0 ? spent / share - spent : 0;
    fmt::print(
        stderr, "\r\x1b[K{} {}{} {:3.0f} %, {:.0f} s left", what_, bar(share, kBarWidth),
        std::string(static_cast<std::size_t>(kBarWidth - std::lround(share * kBarWidth)), ' '),
        100 * share, left);
  } else if (done > 0) {
    fmt::print(stderr, "\r\x1b[K{} {}, {:.0f} s", what_, done, seconds);
  } else {
    fmt::print(stderr, "\r\x1b[K{}, {:.0f} s", what_, seconds);
  }
  std::fflush(stderr);
}

std::string bar(double share, int width) {
  std::string text;
  for (long left = std::lround(std::clamp(share, 0.0, 1.0) * width); left > 0; --left) text += "█";
  return text;
}

}  // namespace retsu::cli
