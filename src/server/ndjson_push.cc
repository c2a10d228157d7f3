#include "server/ndjson_push.h"

#include <fmt/format.h>

#include <charconv>
#include <deque>

#include "base/sha256.h"
#include "broker/codec.h"
#include "ingest/idempotency.h"
#include "server/operations.h"
#include "server/permits.h"

namespace retsu::server {
namespace {

constexpr std::size_t kGroupTasks = 1'000;
constexpr std::size_t kGroupBytes = std::size_t{4} << 20;
constexpr std::size_t kAnswerBytes = std::size_t{64} << 20;

class NdjsonPush final : public BodyReader, public std::enable_shared_from_this<NdjsonPush> {
 public:
  NdjsonPush(const std::shared_ptr<Exchange>& exchange, Doors doors, bool partial)
      : exchange_(exchange), doors_(doors), partial_(partial) {
    key_ = idempotency_key_of(exchange->request).value_or("");
  }

  void take(std::string_view bytes) override {
    while (!bytes.empty() && !failure_) {
      const auto end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      if (line_.size() + part.size() > kTaskBody) {
        ++lines_;
        return fail({ErrorCode::kTooLarge, fmt::format("has more than {} bytes", kTaskBody)});
      }
      line_ += part;
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      take_line();
    }
  }

  [[nodiscard]] bool is_full() const override {
    return !groups_.empty() && is_whole(groups_.front());
  }

  void finish() override {
    if (!line_.empty() && !failure_) take_line();
    ended_ = true;
    go_on();
  }

 private:
  struct Group {
    std::size_t bytes = 0;
    Push push;
    std::vector<std::size_t> lines;  // of each task
  };

  static bool is_whole(const Group& group) {
    return group.push.tasks.size() >= kGroupTasks || group.bytes >= kGroupBytes;
  }

  void take_line() {
    const std::string line = std::exchange(line_, {});
    ++lines_;
    if (line.find_first_not_of(" \t\r") == std::string::npos) return;
    auto task = from_json<NewTask>(line);
    if (!task) return fail(to_error(std::move(task.error())));
    if (task->id.empty() && !key_.empty()) task->id = id_of_line();
    if (auto fine = permit_one(*task); !fine) return fail(std::move(fine.error()));
    if (groups_.empty() || is_whole(groups_.back())) groups_.emplace_back();
    Group& group = groups_.back();
    group.push.tasks.push_back(*std::move(task));
    group.lines.push_back(lines_);
    group.bytes += line.size();
    go_on();
  }

  [[nodiscard]] Status permit_one(NewTask& task) const {
    if (!exchange_->caller.is_limited()) return {};
    Command push = Push{.tasks = {std::move(task)}};
    const auto permitted = permit(exchange_->caller, push);
    task = std::move(std::get<Push>(push).tasks[0]);
    if (!permitted) return tl::unexpected(permitted.error());
    if (permitted->tasks.empty()) return {};
    return refuse(ErrorCode::kForbidden,
                  "depends_on: this token is limited: push what depends on others as a batch");
  }

  [[nodiscard]] std::string id_of_line() const {
    return sha256_hex(fmt::format("{}\n{}\n{}", exchange_->caller.name, key_, lines_))
        .substr(0, 32);
  }

  // What was read before is pushed, what comes after is not.
  void fail(Error error) {
    error.message = fmt::format("line {}: {}", lines_, error.message);
    failure_ = std::move(error);
    go_on();
  }

  void go_on() {
    if (pushing_ || answered_) return;
    const bool is_over = ended_ || failure_;
    if (!groups_.empty() && (is_over || is_whole(groups_.front()))) return push();
    if (is_over) answer();
  }

  void push() {
    pushing_ = true;
    Group group = std::move(groups_.front());
    groups_.pop_front();
    group.push.partial = partial_;
    Context context{.caller = exchange_->caller.name};
    ++groups_pushed_;
    if (!key_.empty()) {
      // Other lines under the same key are told apart by what they are.
      context.idempotency_key = sha256_hex(fmt::format("{}\n{}", key_, groups_pushed_));
    }
    doors_.broker.submit(
        std::move(group.push), std::move(context),
        [self = shared_from_this(), loop = doors_.loop.shared_from_this(),
         lines = std::move(group.lines)](Answer reply) {
          loop->post([self, lines, reply = std::move(reply)] { self->pushed(lines, reply); });
        });
  }

  void pushed(const std::vector<std::size_t>& lines, const Answer& reply) {
    pushing_ = false;
    if (!reply) {
      stop(by_line(reply.error(), lines));
    } else {
      for (const Pushed& task : std::get<PushReply>(*reply).tasks) {
        created_ |= task.created && !has_first_;
        if (!tasks_.empty()) tasks_ += ',';
        append_json(tasks_, task);
      }
      has_first_ = true;
      if (tasks_.size() > kAnswerBytes) {
        stop(
            {ErrorCode::kTooLarge,
             fmt::format("the answer is too long: send what comes after line {} in another request",
                         lines.back())});
      }
    }
    go_on();
    exchange_->resume();
  }

  // No more is pushed.
  void stop(Error error) {
    groups_.clear();
    failure_ = std::move(error);
  }

  // `tasks[3].user: …` is about a line.
  static Error by_line(Error error, const std::vector<std::size_t>& lines) {
    constexpr std::string_view kBefore = "tasks[";
    const std::string_view text = error.message;
    std::size_t index = 0;
    if (text.starts_with(kBefore)) {
      const auto [end, code] =
          std::from_chars(text.data() + kBefore.size(), text.data() + text.size(), index);
      if (code == std::errc() && *end == ']' && index < lines.size()) {
        std::string_view rest(end + 1, text.data() + text.size());
        if (rest.starts_with('.')) rest.remove_prefix(1);
        if (rest.starts_with(": ")) rest.remove_prefix(2);
        error.message = fmt::format("line {}: {}", lines[index], rest);
        return error;
      }
    }
    error.message = fmt::format("lines {} to {}: {}", lines.front(), lines.back(), text);
    return error;
  }

  void answer() {
    answered_ = true;
    if (!ended_) exchange_->refuse_rest();
    if (failure_ && !has_first_) return exchange_->respond(to_response(*failure_));
    HttpResponse response{.status = created_ ? 201 : 200, .body = "{\"tasks\":[" + tasks_ + "]"};
    if (failure_) {
      // {"error":{…}}, of which all but the first sign comes here.
      response.body += ',';
      response.body += std::string_view(to_json(*failure_)).substr(1);
    } else {
      response.body += '}';
    }
    exchange_->respond(std::move(response));
  }

  const std::shared_ptr<Exchange> exchange_;
  const Doors doors_;
  const bool partial_;
  std::string key_;

  std::string line_;          // begun
  std::size_t lines_ = 0;     // that ended, and the one that failed
  std::deque<Group> groups_;  // to be pushed; the last may grow
  std::size_t groups_pushed_ = 0;
  bool pushing_ = false;  // another one
  bool ended_ = false;    // no more lines will come
  std::optional<Error> failure_;
  bool has_first_ = false;  // the first group was pushed
  bool created_ = false;    // something of it is new
  std::string tasks_;       // of the answer
  bool answered_ = false;
};

}  // namespace

Result<std::shared_ptr<BodyReader>> read_ndjson(const std::shared_ptr<Exchange>& exchange,
                                                const Doors& doors) {
  if (exchange->request.media_type() != "application/x-ndjson") return nullptr;
  const auto settings =
      command_from_http(kOperations[0], {}, exchange->request.query(), R"({"tasks":[]})");
  if (!settings) return tl::unexpected(settings.error());
  if (const auto key = idempotency_key_of(exchange->request)) {
    if (auto valid = validate_key(*key); !valid) return tl::unexpected(std::move(valid.error()));
  }
  return std::make_shared<NdjsonPush>(exchange, doors, std::get<Push>(*settings).partial);
}

}  // namespace retsu::server
