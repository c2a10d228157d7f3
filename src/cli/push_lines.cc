#include "cli/push_lines.h"

#include <fmt/format.h>

#include <charconv>

#include "base/uuid.h"
#include "base/wall_clock.h"
#include "broker/remote/spooled_push.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "cli/push.h"

namespace retsu::cli {
namespace {

constexpr std::size_t kBatch = 1'000;
constexpr std::size_t kBatchBytes = 32 << 20;

// Pushes the lines of a file, batch by batch.
class Pusher {
 public:
  Pusher(Session& session, const LinePush& push, LineReader lines)
      : session_(session), push_(push), lines_(std::move(lines)) {
    if (push_.spool.empty()) return;
    spool_.emplace(push_.spool);
    session_.try_once();
  }

  LinesPushed run() {
    Progress progress("pushing");
    for (bool more = true; more;) {
      auto read = read_batch();
      if (!read) return stopped(read.error());
      more = *read;
      if (!batch_.tasks.empty()) {
        if (auto sent = offline_ ? spool() : send(); !sent) return stopped(sent.error());
      }
      progress.at(lines_.bytes_read(), lines_.bytes());
    }
    if (offline_) note_spooled(session_.screen(), *offline_, push_.spool, done_.spooled);
    if (failure_) return stopped(*failure_);
    return done_;
  }

 private:
  // False: that was the end of the file.
  Result<bool> read_batch() {
    batch_ = Push{.tasks = {}, .partial = push_.partial};
    numbers_.clear();
    for (std::size_t bytes = 0; batch_.tasks.size() < kBatch && bytes < kBatchBytes;) {
      std::string_view line;
      const auto more = lines_.next(line);
      if (!more) {  // what came before it is pushed all the same
        failure_ = more.error();
        return false;
      }
      if (!*more) return false;
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      bytes += line.size();
      auto task = push_.read(line);
      if (!task) {
        Error& error = task.error();
        error.message = fmt::format("line {}: {}", lines_.number(), error.message);
        if (!push_.partial) return tl::unexpected(std::move(error));
        pass_over(error);
        continue;
      }
      if (!*task) continue;
      if (spool_ && (*task)->id.empty()) (*task)->id = ids_.next(wall_clock());
      if (auto valid = check(**task); !valid) {
        if (!push_.partial) return tl::unexpected(std::move(valid.error()));
        pass_over(valid.error());
        continue;
      }
      batch_.tasks.push_back(**std::move(task));
      numbers_.push_back(lines_.number());
    }
    return true;
  }

  Status send() {
    std::optional<std::string> key;
    if (push_.key) key = fmt::format("{}/{}", *push_.key, ++batches_);
    auto reply = push_batch(session_, batch_, key);
    // A task that no queue would take refuses its batch, however partial: on without it.
    while (!reply && push_.partial) {
      const auto place = place_of(reply.error());
      if (!place) break;
      pass_over(at_line(reply.error()));
      batch_.tasks.erase(batch_.tasks.begin() + static_cast<std::ptrdiff_t>(place->index));
      numbers_.erase(numbers_.begin() + static_cast<std::ptrdiff_t>(place->index));
      if (batch_.tasks.empty()) return {};
      reply = push_batch(session_, batch_, key);
    }
    if (!reply && !push_.spool.empty() && may_be_spooled(reply.error())) {
      offline_ = reply.error();
      return spool();
    }
    if (!reply) return tl::unexpected(at_line(reply.error()));
    for (std::size_t i = 0; i < reply->tasks.size(); ++i) {
      const Pushed& pushed = reply->tasks[i];
      if (pushed.error && i < numbers_.size()) {
        pass_over(
            {pushed.error->code, fmt::format("line {}: {}", numbers_[i], pushed.error->message)});
      } else {
        ++(pushed.created ? done_.created : done_.existing);
        push_.on_pushed(pushed);
      }
    }
    return {};
  }

  // What a server would refuse must not wait in a spool.
  [[nodiscard]] Status check(const NewTask& task) const {
    if (!spool_) return {};
    auto valid = SpoolablePush(task, std::nullopt, "").check();
    if (!valid) {
      valid.error().message = fmt::format("line {}: {}", lines_.number(), valid.error().message);
    }
    return valid;
  }

  // All of the batch or none. If the server has taken it all the same, the ids say so later.
  Status spool() {
    std::vector<spool::Entry> entries;
    for (NewTask task : batch_.tasks) {
      task.allow_missing = true;  // they are sent one by one, and the most urgent first
      entries.push_back(
          SpoolablePush(std::move(task), std::nullopt, "").entry(wall_clock(), *offline_));
    }
    if (auto added = spool_->add_all(entries); !added) {
      return tl::unexpected(at_line(added.error()));
    }
    for (const spool::Entry& entry : entries) show_spooled(session_.screen(), entry.id);
    done_.spooled += std::ssize(entries);
    return {};
  }

  // `tasks[16].user: …` is about one of the batch: which, and what.
  struct Place {
    std::size_t index = 0;
    std::string_view what;
  };
  [[nodiscard]] std::optional<Place> place_of(const Error& error) const {
    constexpr std::string_view kPrefix = "tasks[";
    if (!error.message.starts_with(kPrefix)) return std::nullopt;
    Place place;
    const char* const end = error.message.data() + error.message.size();
    const auto [rest, failure] =
        std::from_chars(error.message.data() + kPrefix.size(), end, place.index);
    if (failure != std::errc() || rest == end || *rest != ']' || place.index >= numbers_.size()) {
      return std::nullopt;
    }
    place.what = std::string_view(rest + 1, static_cast<std::size_t>(end - rest - 1));
    if (place.what.starts_with('.')) place.what.remove_prefix(1);
    if (place.what.starts_with(": ")) place.what.remove_prefix(2);
    return place;
  }

  [[nodiscard]] Error at_line(Error error) const {
    if (const auto place = place_of(error)) {
      error.message = fmt::format("line {}: {}", numbers_[place->index], place->what);
    } else if (numbers_.front() == numbers_.back()) {
      error.message = fmt::format("line {}: {}", numbers_.front(), error.message);
    } else {
      error.message =
          fmt::format("lines {} to {}: {}", numbers_.front(), numbers_.back(), error.message);
    }
    return error;
  }

  void pass_over(const Error& error) {
    session_.screen().error(error);
    ++done_.refused;
    if (done_.status == 0) done_.status = row_of(error.code).exit_code;
  }

  LinesPushed stopped(const Error& error) {
    const std::int64_t before = done_.created + done_.existing + done_.spooled;
    session_.screen().error(error);
    session_.screen().note(fmt::format("{} {} pushed before that, and nothing after it", before,
                                       before == 1 ? "task was" : "tasks were"));
    done_.status = row_of(error.code).exit_code;
    return done_;
  }

  Session& session_;
  const LinePush& push_;
  LineReader lines_;
  Push batch_;
  std::vector<std::int64_t> numbers_;  // the lines of the batch
  std::int64_t batches_ = 0;
  LinesPushed done_;
  std::optional<Error> failure_;  // of reading
  UuidSource ids_;
  std::optional<spool::Spool> spool_;
  std::optional<Error> offline_;  // from now on into the spool
};

}  // namespace

Result<LinesPushed> push_lines(Session& session, const LinePush& push) {
  auto lines = LineReader::open(push.file);
  if (!lines) return tl::unexpected(std::move(lines.error()));
  return Pusher(session, push, std::move(*lines)).run();
}

}  // namespace retsu::cli
