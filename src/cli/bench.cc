#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/json_writer.h"
#include "base/temporary_directory.h"
#include "broker/embedded/embedded_broker.h"
#include "cli/commands.h"
#include "cli/lifecycles.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/session.h"

namespace retsu::cli {
namespace {

struct Figure {
  bench::Load load;
  double rate = 0;
};

Result<Figure> measure(const std::string& parent, const bench::Load& load) {
  const TemporaryDirectory folder(parent);
  auto broker = EmbeddedBroker::open(folder.path());
  if (!broker) return tl::unexpected(std::move(broker.error()));
  Progress progress(fmt::format("batches of {}", load.batch));
  const auto rate = bench::lifecycles_per_second(
      **broker, load, [&](std::int64_t done) { progress.at(done, load.tasks); });
  if (!rate) return tl::unexpected(rate.error());
  return Figure{load, *rate};
}

std::string json_of(const Figure& figure) {
  std::string text;
  JsonWriter to(text);
  to.open_object();
  to.key("clients");
  to.integer(figure.load.clients);
  to.key("users");
  to.integer(figure.load.users);
  to.key("batch");
  to.integer(figure.load.batch);
  to.key("tasks");
  to.integer(figure.load.tasks);
  to.key("lifecycles_per_second");
  to.number(figure.rate);
  to.close_object();
  return text;
}

Status check_place(const std::string& parent) {
  std::error_code failure;
  const auto status = std::filesystem::status(parent, failure);
  if (!std::filesystem::is_directory(status)) {
    return refuse(ErrorCode::kInvalid, fmt::format("--in: {} is not a directory", parent));
  }
  return {};
}

}  // namespace

Action add_bench(Arguments& arguments) {
  struct Options {
    bench::Load load;
    std::vector<std::int64_t> batches;
    std::string in = ".";
  };
  auto options = std::make_shared<Options>();
  options->load.tasks = 20'000;
  arguments.option("--clients", options->load.clients, "Threads that push, claim and finish")
      .type_name("N")
      .between(1, 1'000)
      .shows_default();
  arguments.option("--users", options->load.users, "Whose tasks these are")
      .type_name("N")
      .between(1, 1'000'000)
      .shows_default();
  arguments
      .option("--batch", options->batches, "Tasks at a time; may be repeated [1, 10, 100, 1000]")
      .type_name("N")
      .between(1, 1'000)
      .once_each();
  arguments.option("--tasks", options->load.tasks, "Lifecycles of each batch; of batch 1 a tenth")
      .type_name("N")
      .between(1, 1'000'000'000)
      .shows_default();
  arguments.option("--in", options->in, "On the disk of this directory")
      .type_name("DIR")
      .shows_default();
  return [options](Session& session) -> Result<int> {
    Screen& screen = session.screen();
    if (auto done = check_place(options->in); !done) return tl::unexpected(done.error());
    std::vector<std::int64_t> batches = options->batches;
    if (batches.empty()) batches = {1, 10, 100, 1'000};
    std::vector<Figure> figures;
    for (const std::int64_t batch : batches) {
      bench::Load load = options->load;
      load.batch = batch;
      if (batch == 1) load.tasks = std::max<std::int64_t>(load.tasks / 10, 1);
      const auto figure = measure(options->in, load);
      if (!figure) return tl::unexpected(figure.error());
      figures.push_back(*figure);
      if (screen.json()) screen.line(json_of(*figure));
    }
    if (screen.json()) return 0;
    const double best = std::ranges::max(figures, {}, &Figure::rate).rate;
    screen.line(fmt::format("{:>6} {:>9} {:>14}", "batch", "tasks", "lifecycles/s"));
    for (const Figure& figure : figures) {
      screen.line(fmt::format("{:>6} {:>9} {:>14.0f}  {}", figure.load.batch, figure.load.tasks,
                              figure.rate, bar(figure.rate / best, 30)));
    }
    return 0;
  };
}

}  // namespace retsu::cli
