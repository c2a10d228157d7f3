#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace retsu {

// Server-sent events, read piece by piece.
class EventStreamReader {
 public:
  struct Event {
    std::string id;
    std::string name;  // empty: not named
    std::string data;
  };
  explicit EventStreamReader(std::function<void(const Event&)> on_event)
      : on_event_(std::move(on_event)) {}

  void take(std::string_view bytes);

 private:
  void take_line();

  const std::function<void(const Event&)> on_event_;
  std::string line_;
  Event event_;
};

}  // namespace retsu
