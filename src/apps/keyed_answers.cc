#include "apps/keyed_answers.h"

#include "base/json.h"
#include "ingest/idempotency.h"

namespace retsu::apps {
namespace {

std::string fingerprint_of(const AppRequest& request) {
  return fingerprint(request.body.empty() ? "null" : request.body, request.query);
}

}  // namespace

Result<std::optional<AppResponse>> KeyedAnswers::find(const Operation& operation,
                                                      const AppRequest& request, TimePoint now) {
  if (auto fine = validate_key(*request.idempotency_key); !fine) {
    return tl::unexpected(std::move(fine.error()));
  }
  Rows rows = database_.query(
      "SELECT fingerprint, status, body FROM idempotency_keys"
      " WHERE caller = ? AND operation = ? AND key = ? AND expires_at > ?",
      request.caller, operation.name, *request.idempotency_key, now);
  if (!rows.next()) return std::nullopt;
  if (rows.text(0) != fingerprint_of(request)) {
    return refuse(ErrorCode::kIdempotencyMismatch,
                  "this idempotency key was used for another request");
  }
  return AppResponse{
      .status = static_cast<int>(rows.integer(1)), .body = rows.text(2), .replayed = true};
}

void KeyedAnswers::keep(const Operation& operation, const AppRequest& request,
                        const AppResponse& response, TimePoint now) {
  database_.run(
      "INSERT OR REPLACE INTO idempotency_keys"
      "(caller, operation, key, fingerprint, status, body, expires_at) VALUES(?,?,?,?,?,?,?)",
      request.caller, operation.name, *request.idempotency_key, fingerprint_of(request),
      std::int64_t{response.status}, response.body,
      now + std::min(request.key_age, Millis(72 * kHour)));
}

void KeyedAnswers::sweep(TimePoint now) {
  database_.run(
      "DELETE FROM idempotency_keys WHERE (caller, operation, key) IN"
      " (SELECT caller, operation, key FROM idempotency_keys WHERE expires_at <= ? LIMIT 1000)",
      now);
}

bool KeyedAnswers::has_old(TimePoint now) {
  Rows rows = database_.query("SELECT 1 FROM idempotency_keys WHERE expires_at <= ? LIMIT 1", now);
  return rows.next();
}

}  // namespace retsu::apps
