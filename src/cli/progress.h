#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace retsu::cli {

// How far something is, on standard error if that is a terminal, and only when it has taken more
// than a second. Gone without a trace at the end.
class Progress {
 public:
  explicit Progress(std::string what);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  // `whole` 0: nobody knows.
  void at(std::int64_t done, std::int64_t whole);
  void at(const std::string& what, std::int64_t done, std::int64_t whole);  // another stage

 private:
  using Steady = std::chrono::steady_clock;

  std::string what_;
  const bool is_terminal_;
  const Steady::time_point start_ = Steady::now();
  Steady::time_point stage_ = start_;
  Steady::time_point drawn_ = start_;
  bool shown_ = false;
};

// A bar of the given share of a full one.
std::string bar(double share, int width);

}  // namespace retsu::cli
