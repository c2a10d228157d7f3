// One idempotency key, one effect, in the tables of an application.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apps/database.h"
#include "broker/application.h"

namespace retsu::apps {

inline constexpr std::string_view kKeyedAnswersTable =
    "CREATE TABLE idempotency_keys("
    "  caller TEXT NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,"
    "  status INTEGER NOT NULL, body TEXT NOT NULL, expires_at INTEGER NOT NULL,"
    "  PRIMARY KEY(caller, operation, key)) WITHOUT ROWID;"
    "CREATE INDEX idempotency_keys_by_age ON idempotency_keys(expires_at);";

// The answers that keys were given, for 72 hours or as long as was asked for.
class KeyedAnswers {
 public:
  explicit KeyedAnswers(Database& database) : database_(database) {}

  // Inside the transaction of the effect, before it: what the key was answered, if it was.
  // Refused: it was used for something else, or is no key.
  Result<std::optional<AppResponse>> find(const Operation& operation, const AppRequest& request,
                                          TimePoint now);
  // Likewise, after it.
  void keep(const Operation& operation, const AppRequest& request, const AppResponse& response,
            TimePoint now);
  // Forgets those that are too old, some at a time.
  void sweep(TimePoint now);
  bool has_old(TimePoint now);

 private:
  Database& database_;
};

}  // namespace retsu::apps
