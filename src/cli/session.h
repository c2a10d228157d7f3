#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "broker/broker.h"
#include "cli/screen.h"

namespace retsu::cli {

// What every command accepts.
struct Globals {
  std::string at;
  bool json = false;
};

// One run of one command: the queue that it is about, and where it prints.
class Session {
 public:
  Session(Globals globals, Screen& screen) : globals_(std::move(globals)), screen_(screen) {}

  Screen& screen() { return screen_; }

  // The store's directory. Refused: none is named, or the queue named is not in a directory.
  [[nodiscard]] Result<std::string> directory() const;

  // What to do where no store is yet: a command that only looks must not make one.
  enum class Missing : std::uint8_t { kRefuse, kMake };
  // The queue, opened at the first call.
  Result<Broker*> broker(Missing missing = Missing::kRefuse);

  template <class Op>
  Result<typename Op::Reply> ask(Op op, Missing missing = Missing::kRefuse) {
    const auto opened = broker(missing);
    if (!opened) return tl::unexpected(opened.error());
    return call(**opened, std::move(op));
  }

 private:
  const Globals globals_;
  Screen& screen_;
  std::unique_ptr<Broker> broker_;
};

// The store's error, as one of a queue that cannot be reached.
Error unreachable(Error error);

}  // namespace retsu::cli
