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
  // The key is in use for as long as the push keeps `use`; no key, no use.
  NdjsonPush(const std::shared_ptr<Exchange>& exchange, Doors doors, bool partial, std::string key,
             std::unique_ptr<KeysInUse::Use> use)
      : exchange_(exchange),
        doors_(doors),
        partial_(partial),
        key_(std::move(key)),
        use_(std::move(use)) {}

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

  [[nodiscard]] bool is_full() const override { return groups_.size() > 1; }

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
    end_ = fmt::format("line {} {}", lines_, row_of(error.code).name);
    error.message = fmt::format("line {}: {}", lines_, error.message);
    failure_ = std::move(error);
    go_on();
  }

  // A group is pushed when it is known whether it is the last.
  void go_on() {
    if (pushing_ || answered_) return;
    const bool is_over = ended_ || failure_;
    if (groups_.size() > 1 || (is_over && !groups_.empty())) return push();
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
      // The first has the key itself: then a push that is not of lines cannot have it too.
      context.idempotency_key =
          groups_pushed_ == 1 ? key_ : sha256_hex(fmt::format("{}\n{}", key_, groups_pushed_));
      context.key_covers = "lines, then " + (groups_.empty() ? end_ : "more");
      if (const auto age = exchange_->request.asked_key_age()) context.key_age = *age;
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
        created_ |= task.created;
        if (!tasks_.empty()) tasks_ += ',';
        append_json(tasks_, task);
      }
      ++(reply.replayed ? groups_replayed_ : groups_new_);
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
    use_.reset();
    if (!ended_) exchange_->refuse_rest();
    if (failure_ && is_refusal(*failure_)) return exchange_->respond(to_response(*failure_));
    HttpResponse response{.status = created_ ? 201 : 200, .body = "{\"tasks\":[" + tasks_ + "]"};
    if (groups_pushed_ > 0 && groups_replayed_ == groups_pushed_) {
      response.headers.emplace_back(kReplayed, "true");
    }
    if (failure_) {
      response.error = failure_->code;
      // {"error":{…}}, of which all but the first sign comes here.
      response.body += ',';
      response.body += std::string_view(to_json(*failure_)).substr(1);
    } else {
      response.body += '}';
    }
    exchange_->respond(std::move(response));
  }

  // Of all, and not of what comes after lines that were pushed.
  [[nodiscard]] bool is_refusal(const Error& failure) const {
    const bool is_mismatch = failure.code == ErrorCode::kIdempotencyMismatch;
    return groups_new_ == 0 && (is_mismatch || groups_replayed_ == 0);
  }

  const std::shared_ptr<Exchange> exchange_;
  const Doors doors_;
  const bool partial_;
  const std::string key_;  // empty: none
  std::unique_ptr<KeysInUse::Use> use_;

  std::string line_;          // begun
  std::size_t lines_ = 0;     // that ended, and the one that failed
  std::deque<Group> groups_;  // to be pushed; the last may grow
  std::size_t groups_pushed_ = 0;
  std::size_t groups_new_ = 0;       // of these, that were not refused
  std::size_t groups_replayed_ = 0;  // of these, that their keys knew
  bool pushing_ = false;             // another one
  bool ended_ = false;               // no more lines will come
  std::string end_ = "the end";      // what came after the last line that was understood
  std::optional<Error> failure_;
  bool created_ = false;  // a task, now or when the answer was given first
  std::string tasks_;     // of the answer
  bool answered_ = false;
};

}  // namespace

Result<std::shared_ptr<BodyReader>> read_ndjson(const std::shared_ptr<Exchange>& exchange,
                                                const Doors& doors, KeysInUse& in_use) {
  if (exchange->request.media_type() != "application/x-ndjson") return nullptr;
  const auto settings =
      command_from_http(kOperations[0], {}, exchange->request.query(), R"({"tasks":[]})");
  if (!settings) return tl::unexpected(settings.error());
  const auto key = idempotency_key_of(exchange->request);
  std::unique_ptr<KeysInUse::Use> use;
  if (key) {
    if (auto valid = validate_key(*key); !valid) return tl::unexpected(std::move(valid.error()));
    use = in_use.use({exchange->caller.name, *key});
    if (!use) return tl::unexpected(KeysInUse::in_progress());
  }
  return std::make_shared<NdjsonPush>(exchange, doors, std::get<Push>(*settings).partial,
                                      key.value_or(""), std::move(use));
}

}  // namespace retsu::server
