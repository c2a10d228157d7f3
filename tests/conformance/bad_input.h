// Everything that an operation must refuse, as one table.
#pragma once

#include <string>
#include <vector>

#include "conformance/dsl.h"

namespace retsu::conformance {

struct BadInput {
  std::string field;  // as in the table of fields: `tasks.retry.base_ms`
  std::string what;
  Command command;
  ErrorCode code;
};
using BadInputs = std::vector<BadInput>;

// Small, so that too large is quickly reached. Lists are read with pages of 100.
inline constexpr Limits kSmallLimits{.payload_bytes = 1'000,
                                     .result_bytes = 900,
                                     .error_bytes = 800,
                                     .progress_bytes = 700,
                                     .xcom_bytes = 600,
                                     .batch = 10,
                                     .claim = 9,
                                     .claim_names = 8,
                                     .dependencies = 7,
                                     .tags = 3,
                                     .tag_bytes = 10,
                                     .page = 100};

// The rows presuppose a queue in which these tasks exist, each in queue `of-ID` (the first six as
// their names say): queued, scheduled, deferred, finished, failed, canceled; `started`, held by the
// claim `held`; `parent`, which awaits the STARTED `child`, held by `child-claim`; `needed`, whose
// result a live task needs; `dead`, whose unique key another holds; and the schedule `hourly`.
BadInputs bad_task_operations();
BadInputs bad_claim_operations();
BadInputs bad_queue_operations();

// ------------------------------------------------------------------------------------- kinds of
// mistakes

struct Mistake {
  std::string what;
  std::string value;
};

// Names of up to `most` of the letters, digits and some marks; a colon is a mark in ids only.
inline std::vector<Mistake> bad_names(std::size_t most, bool may_be_empty, bool colon_is_bad) {
  std::vector<Mistake> all = {{"too long", std::string(most + 1, 'a')},
                              {"a space", "a b"},
                              {"a comma", "a,b"},
                              {"a slash", "a/b"},
                              {"a star", "*"},
                              {"not ASCII",
                               "b\xc3\xbc"
                               "cher"},
                              {"a zero byte", std::string("a\0b", 3)},
                              {"a line break", "a\n"}};
  if (!may_be_empty) all.push_back({"empty", ""});
  if (colon_is_bad) all.push_back({"a colon", "a:b"});
  return all;
}
inline std::vector<Mistake> bad_ids() { return bad_names(128, false, false); }
inline std::vector<Mistake> bad_ids_or_none() { return bad_names(128, true, false); }
inline std::vector<Mistake> bad_queue_names() { return bad_names(64, false, true); }
inline std::vector<Mistake> bad_queue_names_or_none() { return bad_names(64, true, true); }

inline std::vector<Mistake> bad_number_cursors() {
  return {{"too long", std::string(1'025, '1')},
          {"no number", "a"},
          {"zero", "0"},
          {"negative", "-1"},
          {"a number and more", "1x"},
          {"over 64 bits", "18446744073709551616"}};
}

inline std::vector<Mistake> bad_lines(std::size_t most) {
  return {{"too long", std::string(most + 1, 'a')},
          {"a control character", "a\x01"},
          {"not UTF-8", "\xff"}};
}

// A row for each mistake; `make` puts the value into a command.
template <class Make>
void refuse_each(BadInputs& rows, const std::string& field, const std::vector<Mistake>& mistakes,
                 Make make, ErrorCode code = kInvalid) {
  for (const Mistake& mistake : mistakes) {
    rows.push_back({field, mistake.what, Command(make(mistake.value)), code});
  }
}

template <class Make>
void refuse_numbers(BadInputs& rows, const std::string& field,
                    const std::vector<std::int64_t>& values, Make make) {
  for (const std::int64_t value : values) {
    rows.push_back({field, std::to_string(value), Command(make(value)), kInvalid});
  }
}

// A JSON value: too large, no JSON at all, or (unless it may be) absent.
template <class Make>
void refuse_json(BadInputs& rows, const std::string& field, std::int64_t most, bool may_be_absent,
                 Make make) {
  rows.push_back({field, "too large", Command(make(Json(json_of_size(most + 1)))), kTooLarge});
  for (const char* text : {"{", "{\"a\":1,}", "nul", "1 2", "'a'", "\"\xff\""}) {
    rows.push_back({field, text, Command(make(Json(text))), kInvalid});
  }
  if (!may_be_absent) rows.push_back({field, "absent", Command(make(Json())), kInvalid});
}

// The rows of parts that several operations have: `make` puts the part into a command, `at` is its
// path.
template <class Make>
void refuse_retry(BadInputs& rows, const std::string& at, Make make) {
  const auto number = [&](const char* field, std::int64_t Retry::*member,
                          const std::vector<std::int64_t>& values) {
    refuse_numbers(rows, at + field, values, [&](std::int64_t value) {
      Retry retry;
      retry.*member = value;
      return make(retry);
    });
  };
  number("base_ms", &Retry::base_ms, {-1, kDay + 1});
  number("max_ms", &Retry::max_ms, {-1, 30 * kDay + 1, 999});
  number("max_attempts", &Retry::max_attempts, {-1, 0, 1'001});
  for (const double factor : {0.5, -1.0, 101.0, std::numeric_limits<double>::quiet_NaN()}) {
    rows.push_back(
        {at + "factor", std::to_string(factor), make(Retry{.factor = factor}), kInvalid});
  }
  for (const double jitter : {-0.1, 1.1, std::numeric_limits<double>::infinity()}) {
    rows.push_back(
        {at + "jitter", std::to_string(jitter), make(Retry{.jitter = jitter}), kInvalid});
  }
}

template <class Make>
void refuse_new_task(BadInputs& rows, const std::string& at, Make make) {
  const auto text = [&](const char* field, std::string NewTask::*member,
                        const std::vector<Mistake>& mistakes) {
    refuse_each(rows, at + field, mistakes, [&](const std::string& value) {
      NewTask task;
      task.*member = value;
      return make(task);
    });
  };
  text("id", &NewTask::id, bad_ids_or_none());
  text("queue", &NewTask::queue, bad_queue_names());
  text("user", &NewTask::user, bad_ids());
  text("type", &NewTask::type, bad_lines(128));
  text("unique_key", &NewTask::unique_key, bad_lines(512));
  text("trace", &NewTask::trace, bad_lines(128));
  refuse_numbers(rows, at + "priority", {-1, 0, 7}, [&](std::int64_t value) {
    return make(NewTask{.priority = {static_cast<int>(value)}});
  });
  refuse_numbers(rows, at + "timeout_ms", {-1, 3'650 * kDay + 1},
                 [&](std::int64_t value) { return make(NewTask{.timeout_ms = value}); });
  refuse_numbers(rows, at + "max_attempts", {-1, 0, 1'001},
                 [&](std::int64_t value) { return make(NewTask{.max_attempts = value}); });
  refuse_json(rows, at + "payload", kSmallLimits.payload_bytes, false,
              [&](const Json& value) { return make(NewTask{.payload = value}); });
  refuse_retry(rows, at + "retry.",
               [&](const Retry& retry) { return make(NewTask{.retry = retry}); });
  for (const TimePoint time : {TimePoint{}, kNever, TimePoint::min()}) {
    const std::string what = std::to_string(time.time_since_epoch().count());
    rows.push_back({at + "run_at", what, make(NewTask{.run_at = time}), kInvalid});
    rows.push_back({at + "expires_at", what, make(NewTask{.expires_at = time}), kInvalid});
  }
  refuse_each(rows, at + "depends_on", bad_ids(), [&](const std::string& value) {
    return make(NewTask{.depends_on = {{value}}, .allow_missing = true});
  });
  rows.push_back({at + "depends_on", "too many",
                  make(NewTask{.depends_on = std::vector<Dependency>(8, {"queued"})}), kTooLarge});
  rows.push_back({at + "tags", "too many", make(NewTask{.tags = {"a", "b", "c", "d"}}), kTooLarge});
  rows.push_back({at + "tags", "too long", make(NewTask{.tags = {"12345678901"}}), kTooLarge});
  rows.push_back({at + "tags", "empty", make(NewTask{.tags = {""}}), kInvalid});
  rows.push_back({at + "tags", "a line break", make(NewTask{.tags = {"a\nb"}}), kInvalid});
}

template <class Make>
void refuse_filter(BadInputs& rows, const std::string& at, Make make) {
  const auto text = [&](const char* field, std::string Filter::*member,
                        const std::vector<Mistake>& mistakes, ErrorCode code = kInvalid) {
    const auto put = [&](const std::string& value) {
      Filter filter;
      filter.*member = value;
      return make(filter);
    };
    refuse_each(rows, at + field, mistakes, put, code);
  };
  text("queue", &Filter::queue, bad_queue_names_or_none());
  text("user", &Filter::user, bad_ids_or_none());
  text("type", &Filter::type, bad_lines(128));
  text("tag", &Filter::tag, {{"too long", std::string(11, 'a')}}, kTooLarge);
  text("tag", &Filter::tag, {{"a control character", "a\x01"}});
  text("unique_key", &Filter::unique_key, bad_lines(512));
  text("waits_for", &Filter::waits_for, bad_ids_or_none());
  text("q", &Filter::q, bad_lines(512));
  for (const TimePoint time : {TimePoint{}, kNever}) {
    rows.push_back({at + "since", "out of range", make(Filter{.since = time}), kInvalid});
    rows.push_back({at + "until", "out of range", make(Filter{.until = time}), kInvalid});
  }
}

}  // namespace retsu::conformance
