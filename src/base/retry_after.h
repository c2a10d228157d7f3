#pragma once

#include <optional>
#include <string_view>

#include "base/time.h"

namespace retsu {

// Of a header Retry-After, seconds or a date: how long to wait from now, a day at most. None: it
// says nothing that can be understood.
std::optional<Millis> parse_retry_after(std::string_view header, TimePoint now);

}  // namespace retsu
