// One task of a spool: a line of its file, in the fields and the order in which it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/json.h"

namespace retsu::spool {

enum class Urgency : std::uint8_t { kHigh, kNormal, kLow };
constexpr auto names_of(std::type_identity<Urgency>) {
  using enum Urgency;
  return std::to_array<Named<Urgency>>({{"high", kHigh}, {"normal", kNormal}, {"low", kLow}});
}

// That of a task's priority, 1 to 5, and the other way round.
Urgency urgency_of(int priority);
int priority_of(Urgency urgency);

struct Entry {
  std::string id;
  std::string type;
  Json payload;
  Urgency priority = Urgency::kNormal;
  TimePoint created_at{};
  std::int64_t retries = 0;                // failures so far
  std::optional<TimePoint> last_attempt;   // it may have been received then
  std::optional<TimePoint> next_retry_at;  // not before
  std::optional<std::string> error;        // the last one

  // Fields of others, as `,"name":value`, which are kept.
  std::string others = {};

  bool operator==(const Entry&) const = default;
};
constexpr auto fields_of(std::type_identity<Entry>) {
  return List{Field{"id", &Entry::id, kRequired},
              Field{"type", &Entry::type, kRequired},
              Field{"payload", &Entry::payload, kRequired},
              Field{"priority", &Entry::priority, kRequired},
              Field{"createdAt", &Entry::created_at, kRequired},
              Field{"retries", &Entry::retries, kRequired},
              Field{"lastAttempt", &Entry::last_attempt},
              Field{"nextRetryAt", &Entry::next_retry_at},
              Field{"error", &Entry::error}};
}

// Why an entry went to the dead letters.
enum class Reason : std::uint8_t {
  kMaxRetries,  // it failed too often
  kRefused,     // the server will never take it
  kMaxAge,      // it waited for too long
  kMaxTasks,    // there were too many, and it was the oldest
  kMaxBytes,    // the file was too large, and it was the oldest
  kKeyExpired,  // it may have been received, and the server no longer knows: once more may be twice
};
constexpr auto names_of(std::type_identity<Reason>) {
  using enum Reason;
  return std::to_array<Named<Reason>>({{"max_retries", kMaxRetries},
                                       {"refused", kRefused},
                                       {"max_age", kMaxAge},
                                       {"max_tasks", kMaxTasks},
                                       {"max_bytes", kMaxBytes},
                                       {"key_expired", kKeyExpired}});
}

struct DeadEntry {
  Entry entry;
  TimePoint moved_at{};
  std::string reason;  // ours are the names above; other programs write sentences
};
constexpr auto fields_of(std::type_identity<DeadEntry>) {
  return List{Field{"", &DeadEntry::entry}, Field{"movedAt", &DeadEntry::moved_at, kRequired},
              Field{"reason", &DeadEntry::reason, kRequired}};
}

// The same as if nobody had tried it.
Entry untried(Entry entry);

// What others say went wrong, as long as it should be.
std::string shortened(const std::string& error);

// A line, without its end. Failure: what is wrong with it.
tl::expected<Entry, std::string> parse_entry(std::string_view line);
tl::expected<DeadEntry, std::string> parse_dead_entry(std::string_view line);
std::string line_of(const Entry& entry);
std::string line_of(const DeadEntry& dead);

}  // namespace retsu::spool
