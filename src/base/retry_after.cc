#include "base/retry_after.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace retsu {
namespace {

constexpr std::chrono::seconds kLongest = std::chrono::days(1);

}  // namespace

std::optional<Millis> parse_retry_after(std::string_view header, TimePoint now) {
  if (header.empty()) return std::nullopt;
  const char* const end = header.data() + header.size();
  std::int64_t seconds = 0;
  const auto read = std::from_chars(header.data(), end, seconds);
  if (read.ptr == end && read.ec == std::errc::result_out_of_range) {
    return header.front() == '-' ? std::chrono::seconds(0) : kLongest;
  }
  if (read.ptr == end && read.ec == std::errc()) {
    return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kLongest.count()));
  }
  const std::time_t date = curl_getdate(std::string(header).c_str(), nullptr);
  if (date < 0) return std::nullopt;
  const std::chrono::sys_seconds until{std::chrono::seconds(date)};
  // libcurl knows years that have too many milliseconds to be counted.
  if (until - std::chrono::floor<std::chrono::seconds>(now) > kLongest) return kLongest;
  return std::max(until - now, Millis(0));
}

}  // namespace retsu
