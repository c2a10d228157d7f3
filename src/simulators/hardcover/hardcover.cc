#include "simulators/hardcover/hardcover.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "simulators/hardcover/answers.h"
#include "simulators/hardcover/query.h"

namespace retsu::simulators {
namespace {

using namespace hardcover;  // NOLINT: this is its only user

constexpr std::size_t kMostFields = 5;

std::int64_t epoch_ms(TimePoint time) { return time.time_since_epoch().count(); }

}  // namespace

struct HardcoverSimulator::Route {
  std::string_view method;
  std::string_view path;
  ServiceAnswer (HardcoverSimulator::*answer)(const ServiceRequest&);
};

constexpr HardcoverSimulator::Route HardcoverSimulator::kRoutes[] = {
    {"POST", kGraphqlPath, &HardcoverSimulator::graphql},
    {"GET", "/simulator/log", &HardcoverSimulator::get_log},
    {"GET", "/simulator/stats", &HardcoverSimulator::get_stats},
    {"GET", "/simulator/faults", &HardcoverSimulator::get_faults},
    {"POST", "/simulator/faults", &HardcoverSimulator::post_fault},
    {"DELETE", "/simulator/faults", &HardcoverSimulator::delete_faults},
};

HardcoverSimulator::HardcoverSimulator(HardcoverSettings settings)
    : settings_(std::move(settings)),
      limits_(settings_.speed, settings_.daily_limit),
      log_(settings_.kept_calls) {}

tl::expected<std::unique_ptr<HardcoverSimulator>, std::string> HardcoverSimulator::start(
    HardcoverSettings settings) {
  if (settings.speed < 1 || settings.speed > HardcoverSettings::kMostSpeed) {
    return tl::unexpected(
        fmt::format("the speed must be from 1 to {}", HardcoverSettings::kMostSpeed));
  }
  std::unique_ptr<HardcoverSimulator> made(new HardcoverSimulator(std::move(settings)));
  if (const std::string& file = made->settings_.log_file; !file.empty()) {
    if (auto opened = made->log_.open(file); !opened) return tl::unexpected(opened.error());
  }
  auto service = HttpService::start(made->settings_.port,
                                    [simulator = made.get()](const ServiceRequest& request) {
                                      return simulator->answer(request);
                                    });
  if (!service) return tl::unexpected(service.error());
  made->service_ = *std::move(service);
  return made;
}

std::string HardcoverSimulator::url() const { return service_->url(kGraphqlPath); }

tl::expected<void, std::string> HardcoverSimulator::add_fault(Fault fault) {
  const std::lock_guard lock(mutex_);
  return faults_.add(std::move(fault));
}

void HardcoverSimulator::clear_faults() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

std::vector<Call> HardcoverSimulator::calls() const {
  const std::lock_guard lock(mutex_);
  return log_.calls();
}

std::map<std::string, std::int64_t> HardcoverSimulator::calls_by_status() const {
  const std::lock_guard lock(mutex_);
  return log_.by_status();
}

ServiceAnswer HardcoverSimulator::answer(const ServiceRequest& request) {
  const std::string_view path =
      std::string_view(request.target).substr(0, request.target.find('?'));
  bool known = false;
  for (const Route& row : kRoutes) {
    known |= row.path == path;
    if (row.path == path && row.method == request.method) return (this->*row.answer)(request);
  }
  return known ? failure(405, "this method is not known here") : failure(404, "nothing is here");
}

ServiceAnswer HardcoverSimulator::graphql(const ServiceRequest& request) {
  const TimePoint now = settings_.clock();
  Call call{
      .at = now, .started_ms = epoch_ms(now), .client = std::string(request.header("user-agent"))};
  const bool is_known = has_token(request.header("authorization"), settings_.token);
  ServiceAnswer answer = is_known ? permitted(request, now, call) : unauthorized();
  answer.delay += settings_.latency;
  call.status = answer.status;
  answer.on_send = [this, call = std::move(call)]() mutable {
    call.ended_ms = epoch_ms(settings_.clock());
    const std::lock_guard lock(mutex_);
    log_.add(std::move(call));
  };
  return answer;
}

ServiceAnswer HardcoverSimulator::permitted(const ServiceRequest& request, TimePoint now,
                                            Call& call) {
  auto query = read_query(request.body);
  const std::size_t fields = query ? query->selection.size() : 1;
  const std::lock_guard lock(mutex_);
  ServiceAnswer answer;
  if (fields > kMostFields) {
    answer = too_many_fields(kMostFields);
  } else if (const auto wait = limits_.take(static_cast<int>(fields), now)) {
    answer = too_many_requests(whole_seconds(std::max(*wait, Millis(1))));
  } else if (!query) {
    answer = json_answer(200, query.error().body());
  } else {
    auto plan = Plan::make(*std::move(query));
    answer = plan ? planned(*plan, call) : json_answer(200, plan.error().body());
  }
  const Limits::Left left = limits_.left(now);
  call.remaining = left.now;
  call.remaining_today = left.today;
  limits_.add_headers(answer.headers, now);
  return answer;
}

ServiceAnswer HardcoverSimulator::planned(const Plan& plan, Call& call) {
  call.asked = plan.asked();
  const auto fault = faults_.next(call.asked);
  if (!fault) return json_answer(200, plan.answer(Plan::Finding::kAll));
  call.fault = std::string(name_of(fault->kind));
  return faulty(*fault, plan);
}

ServiceAnswer HardcoverSimulator::get_log(const ServiceRequest&) {
  const std::lock_guard lock(mutex_);
  return {.headers = {{"Content-Type", "application/x-ndjson"}}, .body = log_.lines()};
}

ServiceAnswer HardcoverSimulator::get_stats(const ServiceRequest&) {
  const std::lock_guard lock(mutex_);
  std::string body;
  append_json(body, log_.by_status());
  return json_answer(200, std::move(body));
}

ServiceAnswer HardcoverSimulator::get_faults(const ServiceRequest&) {
  const std::lock_guard lock(mutex_);
  std::string body;
  append_json(body, faults_.waiting());
  return json_answer(200, std::move(body));
}

ServiceAnswer HardcoverSimulator::post_fault(const ServiceRequest& request) {
  auto fault = from_json<Fault>(request.body);
  if (!fault) return failure(400, fault.error().message);
  if (auto added = add_fault(*std::move(fault)); !added) return failure(400, added.error());
  return get_faults(request);
}

ServiceAnswer HardcoverSimulator::delete_faults(const ServiceRequest& request) {
  clear_faults();
  return get_faults(request);
}

}  // namespace retsu::simulators
