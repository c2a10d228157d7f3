#include "server/metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

namespace retsu::server {
namespace {

using Kind = MetricsText::Kind;

// A gauge of every queue.
struct QueueGauge {
  std::string_view name;
  std::string_view help;
  double (*value)(const QueueInfo& queue, TimePoint now);
};
constexpr double kMillis = 1'000;
constexpr QueueGauge kQueueGauges[] = {
    {"retsu_queue_oldest_age_seconds", "Age of the oldest QUEUED task",
     [](const QueueInfo& queue, TimePoint) {
       return static_cast<double>(queue.oldest_age_ms.value_or(0)) / kMillis;
     }},
    {"retsu_queue_running", "Permits in use",
     [](const QueueInfo& queue, TimePoint) { return static_cast<double>(queue.running); }},
    {"retsu_queue_waiting_bytes", "Payload bytes of waiting tasks",
     [](const QueueInfo& queue, TimePoint) { return static_cast<double>(queue.waiting_bytes); }},
    {"retsu_queue_ready_users", "Users with ready tasks",
     [](const QueueInfo& queue, TimePoint) { return static_cast<double>(queue.users); }},
    {"retsu_queue_paused", "1 if it is paused",
     [](const QueueInfo& queue, TimePoint) { return queue.policy.paused ? 1.0 : 0.0; }},
    {"retsu_queue_hold_seconds", "For how long a throttle still holds it",
     [](const QueueInfo& queue, TimePoint now) {
       if (!queue.hold_until || *queue.hold_until <= now) return 0.0;
       return static_cast<double>((*queue.hold_until - now).count()) / kMillis;
     }},
};

// A figure of the whole.
struct WholeGauge {
  std::string_view name;
  std::string_view help;
  std::int64_t StatsReply::*value;
};
constexpr WholeGauge kWholeGauges[] = {
    {"retsu_claims", "Claims that hold tasks", &StatsReply::claims},
    {"retsu_dependencies", "Open references between tasks", &StatsReply::edges},
    {"retsu_schedules", "Schedules", &StatsReply::schedules},
    {"retsu_xcom_values", "Shared values", &StatsReply::xcom},
    {"retsu_remembered_ids", "Tombstones and aliases", &StatsReply::remembered_ids},
    {"retsu_idempotency_keys", "Keys that are remembered", &StatsReply::idempotency_keys},
};

void write_queues(MetricsText& to, const std::vector<QueueInfo>& queues, TimePoint now) {
  to.begin("retsu_tasks", Kind::kGauge, "Tasks by queue and state");
  for (const QueueInfo& queue : queues) {
    for (const auto& [state, count] : queue.tasks) {
      to.value(static_cast<double>(count), {{"queue", queue.queue}, {"state", state}});
    }
  }
  for (const QueueGauge& gauge : kQueueGauges) {
    to.begin(gauge.name, Kind::kGauge, gauge.help);
    for (const QueueInfo& queue : queues) {
      to.value(gauge.value(queue, now), {{"queue", queue.queue}});
    }
  }
  constexpr std::string_view kFreedAfter = name_of(Counter::kFreedAfterMs);
  to.begin("retsu_task_events_total", Kind::kCounter, "What has happened to tasks");
  for (const QueueInfo& queue : queues) {
    for (const auto& [event, count] : queue.counters) {
      if (event == kFreedAfter) continue;
      to.value(static_cast<double>(count), {{"queue", queue.queue}, {"event", event}});
    }
  }
  to.begin("retsu_freed_after_seconds_total", Kind::kCounter,
           "Time from the end of a last dependency to the queue, summed over tasks freed");
  for (const QueueInfo& queue : queues) {
    const auto sum = queue.counters.find(std::string(kFreedAfter));
    if (sum != queue.counters.end()) {
      to.value(static_cast<double>(sum->second) / kMillis, {{"queue", queue.queue}});
    }
  }
}

void write_whole(MetricsText& to, const StatsReply& stats) {
  for (const WholeGauge& gauge : kWholeGauges) {
    to.begin(gauge.name, Kind::kGauge, gauge.help);
    to.value(static_cast<double>(stats.*(gauge.value)));
  }
  to.begin("retsu_draining", Kind::kGauge, "1 while the queue is drained");
  to.value(stats.draining ? 1 : 0);
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages >> pages;  // the second is what is resident
  return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Of tasks by queue.
struct TimesRow {
  std::string_view name;
  std::string_view help;
  Histogram TaskTimes::OfQueue::*times;
};
constexpr TimesRow kTimes[] = {
    {"retsu_task_wait_seconds", "From QUEUED to STARTED", &TaskTimes::OfQueue::waited},
    {"retsu_task_run_seconds", "From STARTED to the end of the run", &TaskTimes::OfQueue::ran},
};

void write_times(MetricsText& to, const MetricsSources& sources) {
  for (const TimesRow& row : kTimes) {
    to.begin(row.name, Kind::kHistogram, row.help);
    sources.times.for_each([&](const std::string& queue, const TaskTimes::OfQueue& times) {
      to.histogram(times.*(row.times), queue);
    });
  }
  to.begin("retsu_retry_failures_total", Kind::kCounter,
           "Dead letters after more than one attempt");
  sources.times.for_each([&](const std::string& queue, const TaskTimes::OfQueue& times) {
    to.value(static_cast<double>(times.retry_failures), {{"queue", queue}});
  });
  if (sources.commits == nullptr) return;
  to.begin("retsu_store_commit_seconds", Kind::kHistogram,
           "A group committed to the disk; nearly all of it is the sync");
  to.histogram(*sources.commits);
}

void write_server(MetricsText& to, const Counters& counters) {
  to.begin("retsu_http_answers_total", Kind::kCounter, "Answers by the class of their status");
  for (std::size_t digit = 1; digit < counters.answers.size(); ++digit) {
    to.value(static_cast<double>(counters.answers[digit]),
             {{"status", std::to_string(digit) + "xx"}});
  }
  to.begin("retsu_http_connections", Kind::kGauge, "Open connections");
  to.value(static_cast<double>(counters.open_connections));
  to.begin("retsu_http_connections_total", Kind::kCounter, "Connections accepted");
  to.value(static_cast<double>(counters.connections));
  to.begin("retsu_http_turned_away_total", Kind::kCounter, "Connections beyond the limit");
  to.value(static_cast<double>(counters.turned_away));
  to.begin("retsu_idempotent_requests_total", Kind::kCounter, "Requests with an idempotency key");
  to.value(static_cast<double>(counters.keyed));
  to.begin("retsu_idempotent_replays_total", Kind::kCounter,
           "Answers that an idempotency key had got before");
  to.value(static_cast<double>(counters.replayed));
  to.begin("retsu_idempotency_mismatches_total", Kind::kCounter,
           "Requests refused because their idempotency key was used for something else");
  to.value(static_cast<double>(counters.mismatched));
  to.begin("retsu_retried_requests_total", Kind::kCounter,
           "Requests that a client said it sent again");
  to.value(static_cast<double>(counters.retried.created), {{"answer", "created"}});
  to.value(static_cast<double>(counters.retried.replayed), {{"answer", "replayed"}});
  to.value(static_cast<double>(counters.retried.refused), {{"answer", "refused"}});
  to.begin("process_resident_memory_bytes", Kind::kGauge, "Memory of the process");
  to.value(resident_bytes());
}

// Asks page by page, then writes.
class Scrape final : public std::enable_shared_from_this<Scrape> {
 public:
  Scrape(std::shared_ptr<Exchange> exchange, const Doors& doors, const MetricsSources& sources)
      : exchange_(std::move(exchange)), doors_(doors), sources_(sources) {}

  void start() {
    ask_or_refuse(Stats{}, [self = shared_from_this()](const Reply& reply) {
      self->stats_ = std::get<StatsReply>(reply);
      self->ask_queues("");
    });
  }

 private:
  void ask_queues(std::string cursor) {
    ask_or_refuse(ListQueues{.limit = 1'000, .cursor = std::move(cursor)},
                  [self = shared_from_this()](const Reply& reply) {
                    const auto& page = std::get<QueueList>(reply);
                    self->queues_.insert(self->queues_.end(), page.queues.begin(),
                                         page.queues.end());
                    page.next_cursor ? self->ask_queues(*page.next_cursor) : self->write();
                  });
  }

  template <class Then>
  void ask_or_refuse(Command command, Then then) {
    ask(doors_, std::move(command), [exchange = exchange_, then](const Answer& reply) {
      reply ? then(*reply) : exchange->respond(to_response(reply.error()));
    });
  }

  void write() {
    MetricsText text;
    write_queues(text, queues_, stats_.now);
    write_whole(text, stats_);
    write_times(text, sources_);
    write_server(text, sources_.counters);
    exchange_->respond({.body = text.text(), .content_type = "text/plain; version=0.0.4"});
  }

  const std::shared_ptr<Exchange> exchange_;
  const Doors doors_;
  const MetricsSources sources_;
  StatsReply stats_;
  std::vector<QueueInfo> queues_;
};

}  // namespace

void MetricsText::begin(std::string_view name, Kind kind, std::string_view help) {
  constexpr std::string_view kKinds[] = {"gauge", "counter", "histogram"};
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                       kKinds[static_cast<std::size_t>(kind)]);
}

void MetricsText::value(double value, const Labels& labels) { line("", value, labels); }

void MetricsText::histogram(const Histogram& histogram, std::string_view queue) {
  const auto seconds = [](Histogram::Time time) {
    return std::chrono::duration<double>(time).count();
  };
  Labels labels;
  if (!queue.empty()) labels.emplace_back("queue", queue);
  Labels in_bucket = labels;
  in_bucket.emplace_back("le", "");
  std::uint64_t count = 0;
  for (std::size_t bucket = 0; bucket <= Histogram::kBounds.size(); ++bucket) {
    count += histogram.count(bucket);
    const std::string bound = bucket == Histogram::kBounds.size()
                                  ? "+Inf"
                                  : fmt::format("{}", seconds(Histogram::kBounds[bucket]));
    in_bucket.back().second = bound;
    line("_bucket", static_cast<double>(count), in_bucket);
  }
  line("_sum", seconds(histogram.sum()), labels);
  line("_count", static_cast<double>(count), labels);
}

void MetricsText::line(std::string_view suffix, double value, const Labels& labels) {
  text_.append(name_).append(suffix);
  char separator = '{';
  for (const auto& [name, label] : labels) {
    text_ += fmt::format("{}{}=\"", std::exchange(separator, ','), name);
    for (const char c : label) {
      if (c == '\\' || c == '"') text_ += '\\';
      text_ += c;
    }
    text_ += '"';
  }
  if (separator == ',') text_ += '}';
  text_ += fmt::format(" {}\n", value);
}

void add_metrics(Router& router, const Doors& doors, const MetricsSources& sources) {
  router.add({.method = "GET", .path = "/metrics", .serve = [doors, sources](const auto& exchange) {
                std::make_shared<Scrape>(exchange, doors, sources)->start();
              }});
}

}  // namespace retsu::server
