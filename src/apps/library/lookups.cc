#include "apps/library/lookups.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/library/hardcover_queue.h"
#include "base/json.h"
#include "base/retry_after.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "worker/outcomes.h"

namespace retsu::library {
namespace {

constexpr Millis kCallTime{35'000};  // the service gives up after 30 s
constexpr std::int64_t kDaySeconds = 86'400;
constexpr std::int64_t kWaitMs = 30'000;
constexpr int kTimeout = 408;
constexpr int kTooMany = 429;
constexpr int kUnavailableStatus = 503;

std::optional<std::int64_t> retry_after_ms(const HttpAnswer& answer) {
  const auto wait = parse_retry_after(answer.header("retry-after"), wall_clock());
  return wait ? std::optional(wait->count()) : std::nullopt;
}

// Names of users have fewer characters than those of machines.
std::string as_user(const std::string& client) {
  std::string user = client.substr(0, 128);
  for (char& c : user) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' ||
                      c == '_' || c == ':';
    if (!fits) c = '-';
  }
  return user.empty() ? "client" : user;
}

}  // namespace

std::optional<std::string> HardcoverCaller::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

SettleOne HardcoverCaller::run(worker::Run& run) {
  const auto query = from_json<LookupQuery>(run.task().payload.view());
  if (!query) return worker::failed("this is no lookup", worker::Again::kNever);
  {
    const std::lock_guard lock(mutex_);
    if (refusal_) return worker::released();
    const auto wait = used_up_until_ - Steady::now();
    if (wait > Steady::duration::zero()) {
      return worker::throttled("the service says that its limit is used up",
                               std::chrono::ceil<Millis>(wait).count());
    }
  }
  const auto answer = client_.call({.method = "POST",
                                    .url = settings_.url,
                                    .headers = {{"Authorization", "Bearer " + settings_.token},
                                                {"Content-Type", "application/json"},
                                                {"User-Agent", "retsu/" + settings_.client}},
                                    .body = request_body(*query),
                                    .timeout = kCallTime,
                                    .answer_limit = std::size_t{4} << 20},
                                   run.stop());
  if (!answer) return worker::failed(answer.error().message);
  return judge(*answer);
}

SettleOne HardcoverCaller::judge(const HttpAnswer& answer) {
  heed_limits(answer);
  const auto says = [&] {
    return fmt::format("the service answers {}: {}", answer.status,
                       is_utf8(answer.body) ? clipped(answer.body, 300) : "no text");
  };
  const auto wait = retry_after_ms(answer);
  if (answer.status == kTooMany || (answer.status == kUnavailableStatus && wait)) {
    return worker::throttled(says(), wait);
  }
  if (answer.status == kTimeout || answer.status >= 500) return worker::failed(says());
  // Another token, or another address, may have better luck with the same question.
  if (answer.status != 200) return give_up(says());
  const auto found = read_found(answer.body);
  if (found) {
    std::string result;
    append_json(result, LookupResult{*found});
    return worker::finished(result);
  }
  if (found.error().code == ErrorCode::kOverloaded) return worker::throttled(found.error().message);
  if (found.error().code == ErrorCode::kUnauthorized) return give_up(found.error().message);
  const bool is_final = found.error().code == ErrorCode::kInvalid;
  return worker::failed(found.error().message,
                        is_final ? worker::Again::kNever : worker::Again::kLater);
}

SettleOne HardcoverCaller::give_up(std::string why) {
  {
    const std::lock_guard lock(mutex_);
    if (!refusal_) refusal_ = std::move(why);
  }
  on_refused_();
  return worker::released();
}

// What the service says of its limits holds for all clients.
void HardcoverCaller::heed_limits(const HttpAnswer& answer) {
  const auto states = read_rate_states(answer.header("ratelimit"));
  const auto policies = read_rate_policies(answer.header("ratelimit-policy"));
  std::optional<RatePolicy> news;
  {
    const std::lock_guard lock(mutex_);
    for (const RateState& state : states) {
      if (state.remaining > 0) continue;
      const auto until = Steady::now() + std::chrono::seconds(std::min(state.reset_s, kDaySeconds));
      used_up_until_ = std::max(used_up_until_, until);
    }
    const RatePolicy* strictest = nullptr;
    for (const RatePolicy& policy : policies) {
      if (policy.window_s >= kDaySeconds) continue;
      const auto is_stricter = [](const RatePolicy& a, const RatePolicy& b) {
        return static_cast<double>(a.quota) / static_cast<double>(a.window_s) <
               static_cast<double>(b.quota) / static_cast<double>(b.window_s);
      };
      if (strictest == nullptr || is_stricter(policy, *strictest)) strictest = &policy;
    }
    if (strictest != nullptr && *strictest != told_) news = *strictest;
  }
  if (!news) return;
  const std::int64_t burst =
      news->burst > 0 ? news->burst : std::min<std::int64_t>(10, news->quota);
  const auto told = library_.ask(SetPace{news->quota, news->window_s, burst});
  const std::lock_guard lock(mutex_);
  if (told) told_ = news;
}

Result<std::optional<Found>> look_up(Broker& broker, const LookupQuery& query,
                                     const std::string& client, const std::stop_token& stop) {
  Push push;
  NewTask& task = push.tasks.emplace_back();
  std::string payload;
  append_json(payload, query);
  task.queue = kApiQueue;
  task.user = as_user(client);
  task.type = kLookupType;
  task.payload = payload;
  task.unique_key = sha256_hex(payload);
  const auto pushed = call(broker, std::move(push), {.stop = stop});
  if (!pushed) return tl::unexpected(pushed.error());
  for (;;) {
    const auto now =
        call(broker, GetTask{.id = pushed->tasks[0].id, .wait_ms = kWaitMs}, {.stop = stop});
    if (stop.stop_requested() && (!now || !is_ended(now->state))) {
      return refuse(ErrorCode::kShutdown, "stopped");
    }
    if (!now) return tl::unexpected(now.error());
    if (!is_ended(now->state)) continue;
    if (now->state != State::kFinished) {
      return refuse(now->retryable.value_or(true) ? ErrorCode::kUnavailable : ErrorCode::kInvalid,
                    now->error.empty() ? "the lookup was canceled" : now->error.str());
    }
    auto result = from_json<LookupResult>(now->result.view(), {.skip_unknown = true});
    if (!result) return refuse(ErrorCode::kInvalid, "the lookup has a result of another kind");
    return std::move(result->found);
  }
}

}  // namespace retsu::library
