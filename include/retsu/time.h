// Moments and durations: whole milliseconds, UTC.
#pragma once

#include <chrono>

namespace retsu_api {

using Duration = std::chrono::milliseconds;
using TimePoint = std::chrono::sys_time<Duration>;

inline TimePoint now() { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }

}  // namespace retsu_api

namespace retsu {
namespace api = ::retsu_api;
using namespace ::retsu_api;
}  // namespace retsu
