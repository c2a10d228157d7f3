#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/paging.h"
#include "cli/push.h"
#include "cli/removal.h"
#include "cli/table.h"
#include "cli/task_options.h"
#include "cli/times.h"
#include "model/json.h"

namespace retsu::cli {
namespace {

// `every 5m`, or the cron expression.
std::string when_of(const ScheduleSpec& schedule) {
  if (!schedule.every_ms) return schedule.cron;
  return "every " + format_duration(Millis(*schedule.every_ms));
}

void show_schedule(Screen& screen, const ScheduleInfo& info) {
  if (screen.json()) return screen.line(json_of(info));
  std::string task;
  append_json(task, info.schedule.task);
  Card card(screen);
  card.add("schedule", {info.name, Style::kBold});
  card.add("when", when_of(info.schedule));
  card.add("time zone", info.schedule.time_zone);
  card.add("catch up", std::string(name_of(info.schedule.catch_up)));
  card.add("task", task);
  for (const TimePoint& time : info.next) {
    card.add(&time == &info.next.front() ? "next" : "", shown_fully(time));
  }
  card.add("last task", info.last_task);
  card.add("last error", {info.last_error, Style::kRed});
  card.print();
}

struct Options {
  std::string name;
  ScheduleSpec schedule;
  std::string every;
  std::string catch_up;
  std::string json;
  TaskOptions task;
};

Result<ScheduleSpec> read_schedule(const Options& options) {
  ScheduleSpec schedule = options.schedule;
  if (options.every.empty() == schedule.cron.empty()) {
    return refuse(ErrorCode::kInvalid, "when? Say --cron EXPR, or --every DURATION");
  }
  if (!options.every.empty()) {
    const auto every = read_duration("--every", options.every);
    if (!every) return tl::unexpected(every.error());
    schedule.every_ms = every->count();
  }
  if (auto read = read_word("--catch-up", options.catch_up, schedule.catch_up); !read) {
    return tl::unexpected(std::move(read.error()));
  }
  auto task = options.task.read();
  if (!task) return tl::unexpected(std::move(task.error()));
  schedule.task = std::move(*task);
  if (options.json.empty()) return schedule;
  if (auto read = read_into(options.json, schedule.task); !read) {
    Error error = to_error(std::move(read.error()));
    error.message = "--task: " + error.message;
    return tl::unexpected(std::move(error));
  }
  return schedule;
}

}  // namespace

Action add_schedules(Arguments& arguments) {
  auto options = std::make_shared<ListOptions>();
  options->add_to(arguments);
  return [options](Session& session) -> Result<int> {
    Screen& screen = session.screen();
    Table table(screen,
                {"SCHEDULE", "WHEN", "TIME ZONE", "CATCH UP", "NEXT", "QUEUE", "TYPE", "LAST"});
    return each_page(session, ListSchedules{}, *options, [&](const ScheduleList& page) {
      for (const ScheduleInfo& info : page.schedules) {
        if (screen.json()) {
          screen.line(json_of(info));
          continue;
        }
        const bool failed = !info.last_error.empty();
        table.add(
            {info.name,
             when_of(info.schedule),
             info.schedule.time_zone,
             std::string(name_of(info.schedule.catch_up)),
             info.next.empty() ? std::string() : shown(screen, info.next.front()),
             info.schedule.task.queue,
             info.schedule.task.type,
             {failed ? info.last_error : info.last_task, failed ? Style::kRed : Style::kPlain}});
      }
      table.print();
      return std::ssize(page.schedules);
    });
  };
}

Action add_schedule_set(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.option("NAME", options->name, "Its name; one that exists is replaced").required();
  const Argument cron =
      arguments
          .option("--cron", options->schedule.cron,
                  "When: minute, hour, day, month, weekday, or @daily and the like")
          .type_name("EXPR");
  arguments.option("--every", options->every, "Or so often, from now on")
      .type_name("DURATION")
      .excludes(cron);
  arguments.option("--time-zone", options->schedule.time_zone, "For --cron, such as Asia/Tokyo")
      .type_name("TZ")
      .shows_default();
  arguments
      .option("--catch-up", options->catch_up,
              "After a time in which nothing ran: skip, latest or all of what was due [latest]")
      .type_name("WORD");
  arguments
      .option("--task", options->json,
              "The task as a JSON object; the other options say what it leaves open")
      .type_name("JSON");
  options->task.add_to(arguments);
  return [options](Session& session) -> Result<int> {
    auto schedule = read_schedule(*options);
    if (!schedule) return tl::unexpected(std::move(schedule.error()));
    const auto info =
        session.ask(PutSchedule{.name = options->name, .schedule = std::move(*schedule)},
                    Session::Missing::kMake);
    if (!info) return tl::unexpected(info.error());
    show_schedule(session.screen(), *info);
    return 0;
  };
}

Action add_schedule_rm(Arguments& arguments) {
  return add_removal(arguments, &DeleteSchedule::name, "name", "NAME",
                     "Their names; the tasks that they made stay");
}

Action add_schedule_run(Arguments& arguments) {
  auto name = std::make_shared<std::string>();
  arguments.option("NAME", *name, "Its name; its occurrences stay as they are").required();
  return [name](Session& session) -> Result<int> {
    const auto pushed = session.ask(RunSchedule{.name = *name});
    if (!pushed) return tl::unexpected(pushed.error());
    show_pushed(session.screen(), *pushed);
    return 0;
  };
}

}  // namespace retsu::cli
