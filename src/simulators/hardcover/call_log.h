// What was asked of the stand-in, and how it answered.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/fields.h"
#include "base/time.h"
#include "simulators/hardcover/query.h"

namespace retsu::simulators::hardcover {

struct Call {
  TimePoint at{};               // when the request was there
  std::int64_t started_ms = 0;  // the same, and when the answer was sent, since the epoch
  std::int64_t ended_ms = 0;
  std::string client;             // its User-Agent
  std::vector<Asked> asked = {};  // none: the query was not understood
  int status = 0;
  std::optional<std::string> fault = {};  // that was asked for
  std::optional<std::int64_t> remaining = {};
  std::optional<std::int64_t> remaining_today = {};
};
constexpr auto fields_of(std::type_identity<Call>) {
  return List{Field{"at", &Call::at},
              Field{"started_ms", &Call::started_ms},
              Field{"ended_ms", &Call::ended_ms},
              Field{"client", &Call::client, kAlwaysShown},
              Field{"asked", &Call::asked, kAlwaysShown},
              Field{"status", &Call::status},
              Field{"fault", &Call::fault},
              Field{"remaining", &Call::remaining},
              Field{"remaining_today", &Call::remaining_today}};
}

// The last `kept` calls in memory, with texts cut at 200 bytes, and all of them in a file, if there
// is one, a JSON object a line, each one write at its end. Not thread-safe.
class CallLog {
 public:
  explicit CallLog(std::size_t kept) : kept_(kept) {}
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;
  ~CallLog();

  tl::expected<void, std::string> open(const std::string& path);

  void add(Call call);
  [[nodiscard]] std::vector<Call> calls() const { return {calls_.begin(), calls_.end()}; }
  [[nodiscard]] std::string lines() const;
  [[nodiscard]] const std::map<std::string, std::int64_t>& by_status() const { return by_status_; }
  // The file could not be written, from some call on.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  const std::size_t kept_;
  std::deque<Call> calls_;
  std::map<std::string, std::int64_t> by_status_;
  int file_ = -1;
  std::string failure_;
};

}  // namespace retsu::simulators::hardcover
