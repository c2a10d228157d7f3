#pragma once

#include <stop_token>
#include <string>

#include "spool/files.h"

namespace retsu::spool {

// What is held of FILE.lock, a file of its own, because the spool's file is replaced. Given back
// when it is dropped, or when the process ends in whatever way.
class Lock {
 public:
  enum class What : std::uint8_t {
    kFile,     // for the moment of a change
    kSending,  // while entries are with a server: they must not be handed out
  };

  // Waits for as long as others hold it, but not for ever, and not when it is to stop: then it is
  // `unavailable`.
  static Result<Lock> take(const std::string& spool, What what, Millis patience = kPatience,
                           const std::stop_token& stop = {});
  // To read beside other readers. Who may not write here needs none.
  static Result<Lock> share(const std::string& spool);

 private:
  static constexpr Millis kPatience{10'000};

  explicit Lock(File file) : file_(std::move(file)) {}
  static Status wait_for(const File& file, What what, int type, Millis patience,
                         const std::stop_token& stop);

  File file_;
};

}  // namespace retsu::spool
