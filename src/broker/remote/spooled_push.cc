#include "broker/remote/spooled_push.h"

#include <algorithm>

#include "ingest/idempotency.h"
#include "ingest/validate.h"
#include "model/json.h"

namespace retsu {
namespace {

struct Upload {
  std::string url = "/v1/tasks";
  Json data;
};
constexpr auto fields_of(std::type_identity<Upload>) {
  return List{Field{"url", &Upload::url, kAlwaysShown}, Field{"data", &Upload::data}};
}

template <class T>
Json as_json(const T& value) {
  std::string text;
  append_json(text, value);
  return Json(text);
}

bool is_task_id(const std::string& id) {
  return validate(Command(GetTask{.id = id}), {}).has_value();
}

}  // namespace

bool may_be_spooled(const Error& error) {
  constexpr ErrorCode kLater[] = {ErrorCode::kUnavailable, ErrorCode::kShutdown,
                                  ErrorCode::kDeadline,    ErrorCode::kOutcomeUnknown,
                                  ErrorCode::kOverloaded,  ErrorCode::kDraining,
                                  ErrorCode::kStorageFull};
  return std::ranges::find(kLater, error.code) != std::end(kLater);
}

SpoolablePush::SpoolablePush(NewTask its_task, std::optional<std::string> its_key,
                             const std::string& new_id)
    : task(std::move(its_task)) {
  key = its_key.value_or(task.id.empty() ? new_id : task.id);
  if (task.id.empty() && is_task_id(key)) task.id = key;
}

Status SpoolablePush::check() const {
  auto valid = validate_key(key);
  if (valid) valid = validate(Command(Push{.tasks = {task}}), {});
  constexpr std::string_view kFirst = "tasks[0].";
  if (!valid && valid.error().message.starts_with(kFirst)) {
    valid.error().message.erase(0, kFirst.size());
  }
  return valid;
}

spool::Entry SpoolablePush::entry(TimePoint now, const Error& error) const {
  spool::Entry tried = entry(now);
  if (error.code == ErrorCode::kOutcomeUnknown) tried.last_attempt = now;
  tried.error = error.message;
  return tried;
}

spool::Entry SpoolablePush::entry(TimePoint now) const {
  return {.id = key,
          .type = "upload",
          .payload = as_json(Upload{.data = as_json(task)}),
          .priority = spool::urgency_of(task.priority.value),
          .created_at = now};
}

}  // namespace retsu
