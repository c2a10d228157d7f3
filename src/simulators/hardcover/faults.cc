#include "simulators/hardcover/faults.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulators/hardcover/catalogue.h"

namespace retsu::simulators::hardcover {
namespace {

constexpr std::size_t kMostFaults = 1'000;
constexpr std::int64_t kMostTimes = 1'000'000'000;
constexpr std::int64_t kMostSeconds = 86'400;
constexpr std::int64_t kMostDelayMs = 600'000;

std::string out_of_range(std::string_view field, std::int64_t least, std::int64_t most) {
  return fmt::format("{}: must be from {} to {}", field, least, most);
}

bool is_outside(const std::optional<std::int64_t>& number, std::int64_t most) {
  return number && (*number < 0 || *number > most);
}

}  // namespace

tl::expected<void, std::string> FaultQueue::add(Fault fault) {
  using Refused = tl::unexpected<std::string>;
  if (fault.times < 1 || fault.times > kMostTimes) {
    return Refused(out_of_range("times", 1, kMostTimes));
  }
  if (is_outside(fault.retry_after_s, kMostSeconds)) {
    return Refused(out_of_range("retry_after_s", 0, kMostSeconds));
  }
  if (is_outside(fault.delay_ms, kMostDelayMs)) {
    return Refused(out_of_range("delay_ms", 0, kMostDelayMs));
  }
  if (fault.isbn13 && !is_isbn_13(*fault.isbn13)) return Refused("isbn13: this is no ISBN-13");
  if (waiting_.size() >= kMostFaults) {
    return Refused(fmt::format("{} faults wait already; DELETE removes them", kMostFaults));
  }
  waiting_.push_back(std::move(fault));
  return {};
}

std::optional<Fault> FaultQueue::next(const std::vector<Asked>& asked) {
  const auto found = std::ranges::find_if(waiting_, [&](const Fault& fault) {
    return !fault.isbn13 || std::ranges::find(asked, fault.isbn13, &Asked::isbn13) != asked.end();
  });
  if (found == waiting_.end()) return std::nullopt;
  Fault fault = *found;
  if (--found->times == 0) waiting_.erase(found);
  return fault;
}

}  // namespace retsu::simulators::hardcover
