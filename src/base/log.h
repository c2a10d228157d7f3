// What a long-running program tells those who look after it, a line at a time on standard error.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/fields.h"

namespace retsu {

enum class LogForm : std::uint8_t { kText, kJson };
constexpr auto names_of(std::type_identity<LogForm>) {
  using enum LogForm;
  return std::to_array<Named<LogForm>>({{"text", kText}, {"json", kJson}});
}

enum class LogLevel : std::uint8_t { kInfo, kWarning, kError };
constexpr auto names_of(std::type_identity<LogLevel>) {
  using enum LogLevel;
  return std::to_array<Named<LogLevel>>(
      {{"info", kInfo}, {"warning", kWarning}, {"error", kError}});
}

// A value of a log line, as JSON.
class LogValue {
 public:
  LogValue(std::string_view text);  // NOLINT: a text is a value
  LogValue(const std::string& text) : LogValue(std::string_view(text)) {}  // NOLINT
  LogValue(const char* text) : LogValue(std::string_view(text)) {}         // NOLINT
  LogValue(std::int64_t number) : json_(std::to_string(number)) {}         // NOLINT
  LogValue(int number) : LogValue(std::int64_t{number}) {}                 // NOLINT
  LogValue(double number);                                                 // NOLINT
  [[nodiscard]] const std::string& json() const { return json_; }

 private:
  std::string json_;
};

// Thread-safe. Each line is one write, so that lines of several threads do not mix.
class Log {
 public:
  using Fields = std::initializer_list<std::pair<std::string_view, LogValue>>;

  explicit Log(LogForm form, int file = 2) : form_(form), file_(file) {}

  // As text: `2026-11-16T16:00:00.000Z warning: an alert fires  alert="dead_letters" value=12`
  // As JSON: `{"at":"…","level":"warning","message":"an alert fires","alert":"dead_letters",…}`
  void write(LogLevel level, std::string_view message, Fields fields = {});

 private:
  const LogForm form_;
  const int file_;
  std::mutex mutex_;
};

}  // namespace retsu
