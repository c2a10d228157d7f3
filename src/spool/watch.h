#pragma once

#include <functional>
#include <string>

#include "spool/sender.h"

namespace retsu::spool {

// The connection to the server, as far as it is known.
enum class Link : std::uint8_t { kUnknown, kOnline, kOffline, kReconnecting };
constexpr auto names_of(std::type_identity<Link>) {
  using enum Link;
  return std::to_array<Named<Link>>({{"unknown", kUnknown},
                                     {"online", kOnline},
                                     {"offline", kOffline},
                                     {"reconnecting", kReconnecting}});
}

struct WatchSettings {
  Millis health_interval{30'000};  // a quarter more or less, so that clients do not come together
  Millis tidy_interval = std::chrono::hours(1);
  Millis look_interval{500};  // at the file, for what was added
  std::function<void(Link, const std::string& why)> on_link = nullptr;  // each time it changes
  // What keeps it from sending for now: a full disk, somebody else who sends.
  std::function<void(const Error&)> on_trouble = nullptr;
};

// Sends what is added as long as the server answers, and waits for it when it does not, until it is
// stopped. Refused: the spool cannot be used at all, or the server wants nothing from us.
Status watch(Spool& spool, Sender& sender, const WatchSettings& settings,
             const std::stop_token& stop);

}  // namespace retsu::spool
