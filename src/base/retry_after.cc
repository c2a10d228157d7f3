#include "base/retry_after.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace retsu {
namespace {

constexpr Millis kLongest = std::chrono::days(1);

}  // namespace

std::optional<Millis> parse_retry_after(std::string_view header, TimePoint now) {
  if (header.empty()) return std::nullopt;
  const char* const end = header.data() + header.size();
  std::int64_t seconds = 0;
  const auto read = std::from_chars(header.data(), end, seconds);
  if (read.ptr == end && read.ec == std::errc::result_out_of_range) return kLongest;
  if (read.ptr == end && read.ec == std::errc()) {
    const auto most = std::chrono::floor<std::chrono::seconds>(kLongest).count();
    return Millis(std::clamp<std::int64_t>(seconds, 0, most) * 1'000);
  }
  const std::time_t date = curl_getdate(std::string(header).c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::clamp(TimePoint(std::chrono::seconds(date)) - now, Millis(0), kLongest);
}

}  // namespace retsu
