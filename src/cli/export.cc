#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "base/json.h"
#include "base/write_all.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/page_spool.h"
#include "cli/paging.h"
#include "cli/progress.h"

namespace retsu::cli {
namespace {

struct Exported {
  std::string file;
  std::int64_t tasks = 0;
};
constexpr auto fields_of(std::type_identity<Exported>) {
  return List{Field{"file", &Exported::file}, Field{"tasks", &Exported::tasks, kAlwaysShown}};
}

// How many there are; 0: nobody knows.
Result<std::int64_t> count_tasks(Session& session, const FilterOptions& filter) {
  if (filter.given()) return 0;
  const auto stats = session.ask(Stats{});
  if (!stats) return tl::unexpected(stats.error());
  return std::accumulate(stats->tasks.begin(), stats->tasks.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& state) { return sum + state.second; });
}

// Pages come with the newest first, and whoever pushes them again wants the oldest first.
Result<std::int64_t> collect(Session& session, const FilterOptions& options, PageSpool& spool) {
  const auto filter = options.read();
  if (!filter) return tl::unexpected(filter.error());
  const auto whole = count_tasks(session, options);
  if (!whole) return whole;
  Progress progress("exporting");
  std::int64_t count = 0;
  Status kept;
  const auto listed = each_page(
      session, ListTasks{.filter = *filter}, ListOptions{.all = true}, [&](const TaskPage& page) {
        std::string lines;
        for (auto task = page.tasks.rbegin(); task != page.tasks.rend(); ++task) {
          lines += json_of(*task) + "\n";
        }
        if (kept) kept = spool.add(lines);
        count += std::ssize(page.tasks);
        progress.at(count, *whole);
        return std::ssize(page.tasks);
      });
  if (!listed) return tl::unexpected(listed.error());
  if (!kept) return tl::unexpected(kept.error());
  return count;
}

// It gets its name when it is complete, so that half a file is not taken for a whole one.
Status write_file(const std::string& name, const PageSpool& spool) {
  const std::string part = name + ".part";
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return unwritable(part, errno);
  auto written = spool.take_back([&](std::string_view page) -> Status {
    const int failure = write_all(file, page);
    return failure == 0 ? Status() : unwritable(part, failure);
  });
  if (written && ::fsync(file) != 0) written = unwritable(part, errno);
  ::close(file);
  if (written && ::rename(part.c_str(), name.c_str()) != 0) written = unwritable(name, errno);
  if (!written) ::unlink(part.c_str());
  return written;
}

Result<int> export_to_file(Session& session, const std::string& file, const FilterOptions& filter) {
  const std::filesystem::path path(file);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    return refuse(ErrorCode::kInvalid, fmt::format("{} is not a file; - is standard output", file));
  }
  auto spool = PageSpool::open(path.has_parent_path() ? path.parent_path().string() : ".");
  if (!spool) return tl::unexpected(std::move(spool.error()));
  const auto count = collect(session, filter, *spool);
  if (!count) return tl::unexpected(count.error());
  if (auto done = write_file(file, *spool); !done) return tl::unexpected(std::move(done.error()));
  Screen& screen = session.screen();
  if (screen.json()) {
    std::string line;
    append_json(line, Exported{file, *count});
    screen.line(line);
  } else {
    screen.line(fmt::format("{} holds {} tasks", file, *count));
  }
  return 0;
}

Result<int> export_to_screen(Session& session, const FilterOptions& filter) {
  const char* const directory = std::getenv("TMPDIR");
  auto spool = PageSpool::open(directory == nullptr || *directory == 0 ? "/tmp" : directory);
  if (!spool) return tl::unexpected(std::move(spool.error()));
  const auto count = collect(session, filter, *spool);
  if (!count) return tl::unexpected(count.error());
  const auto shown = spool->take_back([&](std::string_view page) -> Status {
    if (page.empty()) return {};
    page.remove_suffix(1);
    session.screen().line(page);
    return {};
  });
  if (!shown) return tl::unexpected(shown.error());
  return 0;
}

}  // namespace

Action add_export(Arguments& arguments) {
  struct Options {
    std::string file = "-";
    FilterOptions filter;
  };
  auto options = std::make_shared<Options>();
  arguments.option("FILE", options->file, "Where to; - is standard output").shows_default();
  options->filter.add_to(arguments);
  return [options](Session& session) {
    return options->file == "-" ? export_to_screen(session, options->filter)
                                : export_to_file(session, options->file, options->filter);
  };
}

}  // namespace retsu::cli
