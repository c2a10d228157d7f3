#include <fmt/format.h>

#include <charconv>

#include "cli/input.h"
#include "cli/progress.h"
#include "cli/push.h"
#include "model/json.h"

namespace retsu::cli {
namespace {

constexpr std::size_t kBatch = 1'000;
constexpr std::size_t kBatchBytes = 32 << 20;

// Pushes the lines of a file, batch by batch.
class Pusher {
 public:
  Pusher(Session& session, const FilePush& push, LineReader lines)
      : session_(session), push_(push), lines_(std::move(lines)) {}

  Result<int> run() {
    Progress progress("pushing");
    for (bool more = true; more;) {
      auto read = read_batch();
      if (!read) return failed(read.error());
      more = *read;
      if (batch_.tasks.empty()) continue;
      if (auto done = send(); !done) return failed(done.error());
      progress.at(lines_.bytes_read(), lines_.bytes());
    }
    return status_;
  }

 private:
  // False: that was the end of the file.
  Result<bool> read_batch() {
    batch_ = Push{.tasks = {}, .partial = push_.partial};
    numbers_.clear();
    for (std::size_t bytes = 0; batch_.tasks.size() < kBatch && bytes < kBatchBytes;) {
      std::string_view line;
      const auto more = lines_.next(line);
      if (!more) return tl::unexpected(more.error());
      if (!*more) return false;
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      bytes += line.size();
      NewTask task = push_.base;
      if (auto read = read_into(line, task); !read) {
        Error error = to_error(std::move(read.error()));
        error.message = fmt::format("line {}: {}", lines_.number(), error.message);
        if (!push_.partial) return tl::unexpected(std::move(error));
        pass_over(error);
        continue;
      }
      batch_.tasks.push_back(std::move(task));
      numbers_.push_back(lines_.number());
    }
    return true;
  }

  Status send() {
    std::optional<std::string> key;
    if (push_.key) key = fmt::format("{}/{}", *push_.key, ++batches_);
    const auto reply = push_batch(session_, std::move(batch_), std::move(key));
    if (!reply) return tl::unexpected(at_line(reply.error()));
    for (std::size_t i = 0; i < reply->tasks.size(); ++i) {
      const Pushed& pushed = reply->tasks[i];
      if (pushed.error && i < numbers_.size()) {
        pass_over(
            {pushed.error->code, fmt::format("line {}: {}", numbers_[i], pushed.error->message)});
      } else {
        show_pushed(session_.screen(), pushed);
        ++pushed_;
      }
    }
    return {};
  }

  // `tasks[16].user: …` is about a line.
  [[nodiscard]] Error at_line(Error error) const {
    constexpr std::string_view kPrefix = "tasks[";
    std::size_t index = 0;
    const char* const begin = error.message.data();
    const char* const end = begin + error.message.size();
    if (error.message.starts_with(kPrefix)) {
      const auto [rest, failure] = std::from_chars(begin + kPrefix.size(), end, index);
      if (failure == std::errc() && rest != end && *rest == ']' && index < numbers_.size()) {
        std::string_view message(rest + 1, static_cast<std::size_t>(end - rest - 1));
        if (message.starts_with('.')) message.remove_prefix(1);
        if (message.starts_with(": ")) message.remove_prefix(2);
        error.message = fmt::format("line {}: {}", numbers_[index], message);
        return error;
      }
    }
    error.message =
        numbers_.front() == numbers_.back()
            ? fmt::format("line {}: {}", numbers_.front(), error.message)
            : fmt::format("lines {} to {}: {}", numbers_.front(), numbers_.back(), error.message);
    return error;
  }

  void pass_over(const Error& error) {
    session_.screen().error(error);
    if (status_ == 0) status_ = row_of(error.code).exit_code;
  }

  int failed(const Error& error) {
    session_.screen().error(error);
    session_.screen().note(fmt::format("{} {} pushed before that, and nothing after it", pushed_,
                                       pushed_ == 1 ? "task was" : "tasks were"));
    return row_of(error.code).exit_code;
  }

  Session& session_;
  const FilePush& push_;
  LineReader lines_;
  Push batch_;
  std::vector<std::int64_t> numbers_;  // the lines of the batch
  std::int64_t batches_ = 0;
  std::int64_t pushed_ = 0;
  int status_ = 0;
};

}  // namespace

Result<int> push_file(Session& session, const FilePush& push) {
  auto lines = LineReader::open(push.file);
  if (!lines) return tl::unexpected(std::move(lines.error()));
  return Pusher(session, push, std::move(*lines)).run();
}

}  // namespace retsu::cli
