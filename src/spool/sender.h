#pragma once

#include <functional>
#include <stop_token>

#include "base/http_client.h"
#include "spool/delivery.h"
#include "spool/spool.h"

namespace retsu::spool {

struct SendSettings {
  std::string url;         // http://host:7380, without a slash at its end
  std::string token;       // empty: none
  Millis timeout{30'000};  // for one entry
  Millis health_timeout{5'000};
  Millis lock_patience{60'000};  // with somebody else who sends
};

// What was done so far.
struct Sent {
  std::int64_t sent = 0;     // taken by the server
  std::int64_t known = 0;    // of these: it had them from an earlier time
  std::int64_t retried = 0;  // of these: not at the first try
  std::int64_t failed = 0;   // tries in vain that count
  std::int64_t dead = 0;     // went to the dead letters
};

constexpr auto fields_of(std::type_identity<Sent>) {
  return List{Field{"sent", &Sent::sent, kAlwaysShown}, Field{"known", &Sent::known, kAlwaysShown},
              Field{"retried", &Sent::retried, kAlwaysShown},
              Field{"failed", &Sent::failed, kAlwaysShown},
              Field{"dead", &Sent::dead, kAlwaysShown}};
}

// Sends the entries of a spool to a server, one after the other in their order, each until it has
// an answer. It may be killed at any moment and run again, also beside another one: an entry that
// was received and not yet removed is sent again under the same key, which the server knows.
class Sender {
 public:
  struct Listener {
    std::function<void(std::int64_t done, std::int64_t whole)> on_progress = nullptr;
    std::function<void(const Dropped&)> on_dropped = nullptr;
    std::function<void(const Entry&, const std::string& why)> on_failed = nullptr;
  };

  Sender(Spool& spool, SendSettings settings, Listener listener);

  struct Pass {
    enum class End : std::uint8_t {
      kNothingDue,  // all that is due was sent
      kOffline,     // nobody answers
      kHeld,        // the server asks us to wait
      kTurnedAway,  // the server wants nothing from us: a wrong token
      kStopped,     // we were told to
    };
    End end = End::kNothingDue;
    std::string why = {};
    Millis wait{0};                      // if held
    std::optional<TimePoint> next = {};  // when the next entry is due, if nothing is
  };
  // Refused: the spool cannot be used.
  Result<Pass> send_due(const std::stop_token& stop);

  // As the spool's own, told to the listener.
  Status tidy();

  // Whether a server answers there.
  Status check_health(const std::stop_token& stop);

  [[nodiscard]] const Sent& sent() const { return sent_; }

 private:
  struct Tried {
    Verdict verdict;
    std::optional<HttpFailure> failure = {};  // none: there is a verdict
    std::int64_t attempt = 1;
    bool was_sent = false;  // without an answer: it may have been received
    bool gave_up = false;   // there was none, again and again
  };

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> credentials() const;
  Tried deliver(const Entry& entry, const std::stop_token& stop);
  static Verdict verdict_without_answer(const HttpFailure& failure);
  [[nodiscard]] HttpCall call_of(const Delivery& delivery, std::int64_t attempt) const;
  Result<std::optional<Pass>> send_batch(const Spool::Batch& batch, const std::stop_token& stop);
  std::optional<Pass> judge(const Spool::Sending& sending, const Tried& tried,
                            std::vector<Spool::Ended>& ends);
  void tell(const std::vector<Dropped>& dropped);

  Spool& spool_;
  const SendSettings settings_;
  const Listener listener_;
  HttpClient client_;
  Sent sent_;
  int refused_in_a_row_ = 0;  // for reasons that may concern all
};

}  // namespace retsu::spool
