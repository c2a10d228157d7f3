#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/json_lines.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/times.h"
#include "model/json.h"

namespace retsu::cli {
namespace {

struct Options {
  std::string claim;
  std::vector<std::string> ids;
  bool all = false;
  std::string outcome;
  std::string result;
  std::string error;
  bool no_retry = false;
  std::string retry_after;
  std::string file;

  [[nodiscard]] bool says_more() const {
    return !result.empty() || !error.empty() || no_retry || !retry_after.empty();
  }
};

Result<SettleOne> read_one(const Options& options) {
  SettleOne one;
  const auto outcome = value_of<Outcome>(options.outcome);
  if (!outcome || outcome == Outcome::kAwait) {
    return refuse(ErrorCode::kInvalid,
                  options.outcome.empty()
                      ? "--outcome: say finish, fail, throttle or release"
                      : "--outcome: must be finish, fail, throttle or release; await, with its "
                        "children, goes into a --file");
  }
  one.outcome = *outcome;
  if (!options.result.empty()) {
    auto result = compact_json(options.result);
    if (!result) {
      return refuse(ErrorCode::kInvalid, fmt::format("--result: is not JSON: {}", result.error()));
    }
    one.result = std::move(*result);
  }
  one.error = options.error;
  one.retryable = !options.no_retry;
  if (!options.retry_after.empty()) {
    const auto delay = read_duration("--retry-after", options.retry_after);
    if (!delay) return tl::unexpected(delay.error());
    one.retry_after_ms = delay->count();
  }
  return one;
}

// What the claim holds now.
Result<std::vector<std::string>> held_by(Session& session, const std::string& claim) {
  ListClaims list{.limit = 1'000};
  for (;;) {
    const auto page = session.ask(list);
    if (!page) return tl::unexpected(page.error());
    const auto found = std::ranges::find(page->claims, claim, &ClaimInfo::claim_id);
    if (found != page->claims.end()) return found->tasks;
    if (!page->next_cursor) {
      return refuse(ErrorCode::kStaleClaim, fmt::format("there is no claim {}", claim));
    }
    list.cursor = *page->next_cursor;
  }
}

Result<Settle> read_settle(Session& session, const Options& options) {
  Settle settle{.claim_id = options.claim};
  if (!options.file.empty()) {
    const auto text = read_whole(options.file);
    if (!text) return tl::unexpected(text.error());
    auto results = from_json<std::vector<SettleOne>>(*text);
    if (!results) {
      Error error = to_error(std::move(results.error()));
      error.message = fmt::format("{}: {}", options.file, error.message);
      return tl::unexpected(std::move(error));
    }
    settle.results = std::move(*results);
    return settle;
  }
  auto one = read_one(options);
  if (!one) return tl::unexpected(std::move(one.error()));
  std::vector<std::string> ids = options.ids;
  if (options.all && !options.says_more()) {
    settle.all = one->outcome;
    return settle;
  }
  if (options.all) {
    auto held = held_by(session, options.claim);
    if (!held) return tl::unexpected(std::move(held.error()));
    ids = std::move(*held);
  }
  for (std::string& id : ids) {
    settle.results.push_back(*one);
    settle.results.back().id = std::move(id);
  }
  return settle;
}

}  // namespace

Action add_settle(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.option("CLAIM", options->claim, "The claim's id").required();
  const Argument ids = arguments.option("TASK", options->ids, "Tasks of it; or --all, or --file");
  const Argument all = arguments.flag("--all", options->all, "All that it holds").excludes(ids);
  const Argument file =
      arguments
          .option("--file", options->file,
                  "A JSON array of results, each {\"id\",\"outcome\",…}; - is standard "
                  "input")
          .type_name("FILE")
          .excludes(ids)
          .excludes(all);
  Argument others[] = {
      arguments.option("--outcome", options->outcome, "finish, fail, throttle or release")
          .type_name("OUTCOME"),
      arguments.option("--result", options->result, "What it gave, as JSON").type_name("JSON"),
      arguments.option("--error", options->error, "What went wrong").type_name("TEXT"),
      arguments.flag("--no-retry", options->no_retry, "Do not try again"),
      arguments
          .option("--retry-after", options->retry_after, "Not before this; of a throttle, for all")
          .type_name("DURATION")};
  for (Argument& other : others) other.excludes(file);
  return [options](Session& session) -> Result<int> {
    if (options->ids.empty() && !options->all && options->file.empty()) {
      return refuse(ErrorCode::kInvalid, "which tasks? Name them, or say --all, or --file FILE");
    }
    auto settle = read_settle(session, *options);
    if (!settle) return tl::unexpected(std::move(settle.error()));
    const auto reply = session.ask(std::move(*settle));
    if (!reply) return tl::unexpected(reply.error());
    Screen& screen = session.screen();
    int status = 0;
    for (const Settled& each : reply->results) {
      if (screen.json()) {
        screen.line(json_of(each));
      } else if (each.ok) {
        const State state = each.state.value_or(State::kQueued);
        screen.line(printable(each.id) + " " + screen.styled(style_of(state), name_of(state)));
      } else if (each.error) {
        screen.error({each.error->code, fmt::format("{}: {}", each.id, each.error->message)});
      }
      if (!each.ok && each.error && status == 0) status = row_of(each.error->code).exit_code;
    }
    return status;
  };
}

}  // namespace retsu::cli
