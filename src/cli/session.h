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

  // The queue, as it was named: http://host:7380, or a directory. Refused: none is named, or it is
  // of a kind that this build cannot reach.
  struct Where {
    std::string text;
    bool is_url = false;
  };
  [[nodiscard]] Result<Where> where() const;
  // For commands that work on files. Refused also if the queue is not in a directory.
  [[nodiscard]] Result<std::string> directory() const;

  [[nodiscard]] std::string token() const;  // for a server; empty: none

  // What to do where no store is yet: a command that only looks must not make one.
  enum class Missing : std::uint8_t { kRefuse, kMake };
  // A server that fails is not asked again, from the first call on: somebody has a better plan.
  void try_once() { tries_once_ = true; }

  // The queue, opened at the first call. A directory that a server holds is reached through that.
  Result<Broker*> broker(Missing missing = Missing::kRefuse);

  // The server that `broker` asks; none: the queue is open here.
  [[nodiscard]] const std::optional<std::string>& server() const { return server_; }

  template <class Op>
  Result<typename Op::Reply> ask(Op op, Missing missing = Missing::kRefuse) {
    const auto opened = broker(missing);
    if (!opened) return tl::unexpected(opened.error());
    return call(**opened, std::move(op));
  }

 private:
  Result<std::unique_ptr<Broker>> open_directory(const std::string& directory, Missing missing);

  [[nodiscard]] std::unique_ptr<Broker> open_url(const std::string& url);

  const Globals globals_;
  Screen& screen_;
  bool tries_once_ = false;
  std::optional<std::string> server_;
  std::unique_ptr<Broker> broker_;
};

// The store's error, as one of a queue that cannot be reached.
Error unreachable(Error error);

}  // namespace retsu::cli
