#include "conformance/bad_input.h"

namespace retsu::conformance {
namespace {

void refuse_claim(BadInputs& rows) {
  refuse_each(rows, "queues", bad_queue_names(), [](const std::string& value) {
    return Claim{.queues = {"default", value}};
  });
  rows.push_back({"queues", "none", Claim{.queues = {}}, kInvalid});
  rows.push_back({"queues", "too many", Claim{.queues = numbered("q", 9)}, kTooLarge});
  rows.push_back({"queues", "the same twice", Claim{.queues = {"q", "q"}}, kInvalid});
  refuse_each(rows, "users", bad_ids(),
              [](const std::string& value) { return Claim{.users = {value}}; });
  rows.push_back({"users", "too many", Claim{.users = numbered("u", 9)}, kTooLarge});
  refuse_each(rows, "steal", bad_ids(),
              [](const std::string& value) { return Claim{.steal = {value}}; });
  rows.push_back({"steal", "too many", Claim{.steal = numbered("u", 9)}, kTooLarge});
  refuse_numbers(rows, "max", {-1, 0, 10}, [](std::int64_t value) { return Claim{.max = value}; });
  refuse_numbers(rows, "lease_ms", {-1, 1, 99, 7 * kDay + 1},
                 [](std::int64_t value) { return Claim{.lease_ms = value}; });
  refuse_numbers(rows, "wait_ms", {-1, 5 * kMinute + 1},
                 [](std::int64_t value) { return Claim{.wait_ms = value}; });
  refuse_each(rows, "worker", bad_lines(128),
              [](const std::string& value) { return Claim{.worker = value}; });
  refuse_each(rows, "claim_id", bad_ids_or_none(),
              [](const std::string& value) { return Claim{.claim_id = value}; });
}

void refuse_settle(BadInputs& rows) {
  const auto one = [](SettleOne result) {
    return Settle{.claim_id = "held", .results = {std::move(result)}};
  };
  refuse_each(rows, "claim_id", bad_ids(),
              [](const std::string& value) { return Settle{.claim_id = value, .all = kFinish}; });
  rows.push_back(
      {"claim_id", "unknown", Settle{.claim_id = "nobody", .all = kFinish}, kStaleClaim});
  rows.push_back({"results", "none", Settle{.claim_id = "held"}, kInvalid});
  rows.push_back({"results", "with all",
                  Settle{.claim_id = "held", .results = {{.id = "started"}}, .all = kFinish},
                  kInvalid});
  rows.push_back(
      {"results", "too many",
       Settle{.claim_id = "held", .results = std::vector<SettleOne>(11, {.id = "started"})},
       kTooLarge});
  rows.push_back({"all", "await", Settle{.claim_id = "held", .all = kAwait}, kInvalid});

  refuse_each(rows, "results.id", bad_ids(),
              [&](const std::string& value) { return one({.id = value}); });
  rows.push_back({"results.id", "unknown", one({.id = "nobody"}), kNotFound});
  rows.push_back({"results.id", "not its own", one({.id = "queued"}), kStaleClaim});
  refuse_numbers(rows, "results.fence", {-1},
                 [&](std::int64_t value) { return one({.id = "started", .fence = value}); });
  rows.push_back({"results.fence", "old", one({.id = "started", .fence = 0}), kStaleClaim});
  rows.push_back(
      {"results.fence", "of the future", one({.id = "started", .fence = 1'000'000}), kStaleClaim});
  refuse_json(rows, "results.result", kSmallLimits.result_bytes, true,
              [&](const Json& value) { return one({.id = "started", .result = value}); });
  rows.push_back({"results.result", "of a failure",
                  one({.id = "started", .outcome = kFail, .result = "1"}), kInvalid});
  rows.push_back({"results.error", "too large",
                  one({.id = "started", .outcome = kFail, .error = std::string(801, 'e')}),
                  kTooLarge});
  rows.push_back({"results.error", "not UTF-8",
                  one({.id = "started", .outcome = kFail, .error = "\xff"}), kInvalid});
  rows.push_back({"results.error", "of a finish", one({.id = "started", .error = "e"}), kInvalid});
  refuse_numbers(rows, "results.retry_after_ms", {-1, 3'650 * kDay + 1}, [&](std::int64_t value) {
    return one({.id = "started", .outcome = kFail, .retry_after_ms = value});
  });

  const auto child = [&](NewTask task) {
    return one({.id = "started", .outcome = kAwait, .children = {std::move(task)}});
  };
  refuse_new_task(rows, "results.children.", child);
  rows.push_back({"results.children", "none", one({.id = "started", .outcome = kAwait}), kInvalid});
  rows.push_back(
      {"results.children", "of a finish", one({.id = "started", .children = {{}}}), kInvalid});
  rows.push_back({"results.children", "too many",
                  one({.id = "started", .outcome = kAwait, .children = std::vector<NewTask>(8)}),
                  kTooLarge});
  rows.push_back({"results.children", "itself", child({.id = "started"}), kDependencyCycle});
  rows.push_back({"results.children", "an unknown dependency",
                  child({.id = "new", .depends_on = {{"nobody"}}}), kUnknownDependency});
  rows.push_back({"results.children", "an ancestor",
                  Settle{.claim_id = "child-claim",
                         .results = {{.id = "child",
                                      .outcome = kAwait,
                                      .children = {{.id = "new"}, {.id = "parent"}}}}},
                  kDependencyCycle});
}

void refuse_extend(BadInputs& rows) {
  refuse_each(rows, "claim_id", bad_ids(),
              [](const std::string& value) { return Extend{.claim_id = value}; });
  rows.push_back({"claim_id", "unknown", Extend{.claim_id = "nobody"}, kStaleClaim});
  refuse_numbers(rows, "lease_ms", {-1, 1, 99, 7 * kDay + 1},
                 [](std::int64_t value) { return Extend{.claim_id = "held", .lease_ms = value}; });
  refuse_json(rows, "progress", kSmallLimits.progress_bytes, false, [](const Json& value) {
    return Extend{.claim_id = "held", .progress = {{"started", value}}};
  });
  refuse_each(rows, "progress", bad_ids(), [](const std::string& value) {
    return Extend{.claim_id = "held", .progress = {{value, "1"}}};
  });
  Extend many{.claim_id = "held"};
  for (const std::string& id : numbered("t", 10)) many.progress[id] = "1";
  rows.push_back({"progress", "too many", many, kTooLarge});
}

}  // namespace

BadInputs bad_claim_operations() {
  BadInputs rows;
  refuse_claim(rows);
  refuse_settle(rows);
  refuse_extend(rows);
  refuse_each(rows, "claim_id", bad_ids(),
              [](const std::string& value) { return ReleaseClaim{.claim_id = value}; });
  refuse_numbers(rows, "older_than_ms", {-1, 3'650 * kDay + 1},
                 [](std::int64_t value) { return ReleaseOlder{.older_than_ms = value}; });
  refuse_numbers(rows, "limit", {-1, 0, 101},
                 [](std::int64_t value) { return ListClaims{.limit = value}; });
  refuse_each(rows, "cursor", bad_number_cursors(),
              [](const std::string& value) { return ListClaims{.cursor = value}; });
  return rows;
}

}  // namespace retsu::conformance
