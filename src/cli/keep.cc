#include "cli/keep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace retsu::cli {

std::string size_of(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(kUnits); ++unit) size /= 1024;
  return fmt::format("{:.{}f} {}", size, unit == 0 || size >= 10 ? 0 : 1, kUnits[unit]);
}

std::string summary_of(const embedded::Verdict& verdict) {
  std::int64_t all = 0;
  std::vector<std::string> states;
  for (const auto& [state, count] : verdict.tasks) {
    all += count;
    states.push_back(fmt::format("{} {}", count, state));
  }
  return fmt::format("{} task{}{}, {} group{} in the journal, {}", all, all == 1 ? "" : "s",
                     states.empty() ? "" : fmt::format(" ({})", fmt::join(states, ", ")),
                     verdict.groups, verdict.groups == 1 ? "" : "s", size_of(verdict.bytes));
}

}  // namespace retsu::cli
