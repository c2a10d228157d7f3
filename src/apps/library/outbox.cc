#include "apps/library/outbox.h"

#include <fmt/format.h>

#include <charconv>

#include "apps/ask.h"

namespace retsu::library {
namespace {

constexpr std::string_view kClaimPrefix = "hardcover:";
constexpr std::string_view kTaskPrefix = "book:";
constexpr std::string_view kUser = "library";
constexpr std::string_view kDropped = "dropped: its client went on without settling it";

// Not there any more, or ended: the queue has been told enough.
bool is_over(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kInvalidTransition ||
         error.code == ErrorCode::kStaleClaim;
}

}  // namespace

std::string claim_of(const std::string& processing_id) {
  return std::string(kClaimPrefix) + processing_id;
}

std::optional<std::string> processing_id_of(const std::string& claim_id) {
  if (!claim_id.starts_with(kClaimPrefix)) return std::nullopt;
  return claim_id.substr(kClaimPrefix.size());
}

std::string task_of(const std::string& book_id, std::int64_t row) {
  return fmt::format("{}{}:{}", kTaskPrefix, book_id, row);
}

std::optional<TaskName> task_name(const std::string& task_id) {
  const auto colon = task_id.rfind(':');
  if (!task_id.starts_with(kTaskPrefix) || colon < kTaskPrefix.size()) return std::nullopt;
  TaskName name{.book_id = task_id.substr(kTaskPrefix.size(), colon - kTaskPrefix.size())};
  const char* const end = task_id.data() + task_id.size();
  const auto read = std::from_chars(task_id.data() + colon + 1, end, name.row);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return name;
}

void Outbox::push(const BookRow& book) {
  sweep();
  database_.run("INSERT INTO outbox(deed, subject) VALUES('push', ?)", book.id);
  database_.run("UPDATE books SET task = ?1, last_task = ?1 WHERE number = ?2",
                database_.last_number(), book.number);
}

void Outbox::cancel(const BookRow& book) {
  if (!book.task) return;
  sweep();
  database_.run("INSERT INTO outbox(deed, subject, target) VALUES('cancel', ?, ?)", book.id,
                *book.task);
  database_.run("UPDATE books SET task = NULL WHERE number = ?", book.number);
}

void Outbox::drop(const std::string& processing_id) {
  sweep();
  database_.run("INSERT INTO outbox(deed, subject) VALUES('drop', ?)", processing_id);
}

void Outbox::sweep() {
  if (!has_told()) return;
  database_.run("DELETE FROM outbox WHERE number <= ?", told_);
  swept_ = told_;
}

std::int64_t Outbox::unsent() {
  apps::Rows rows = database_.query("SELECT count(*) FROM outbox WHERE number > ?", told_);
  return rows.next() ? rows.integer(0) : 0;
}

std::int64_t Outbox::unsent_pushes() {
  apps::Rows rows =
      database_.query("SELECT count(*) FROM outbox WHERE number > ? AND deed = 'push'", told_);
  return rows.next() ? rows.integer(0) : 0;
}

std::vector<Outbox::Row> Outbox::next(std::int64_t most) {
  std::vector<Row> found;
  apps::Rows rows = database_.query(
      "SELECT number, deed, subject, target FROM outbox WHERE number > ? ORDER BY number LIMIT ?",
      told_, most);
  while (rows.next()) {
    found.push_back({rows.integer(0), rows.text(1), rows.text(2), rows.maybe<std::int64_t>(3)});
  }
  return found;
}

// Rows of one kind that follow each other are told together.
Result<Outbox::Told> Outbox::relay(std::int64_t most, TimePoint now) {
  const auto found = database_.read([&] { return next(most); });
  if (!found) return tl::unexpected(found.error());
  const auto at_once = static_cast<std::size_t>(broker_.capabilities().limits.batch);
  Told told;
  for (std::span<const Row> rows(*found); !rows.empty();) {
    const std::string& deed = rows.front().deed;
    std::size_t count = 1;
    while (count < rows.size() && count < at_once && rows[count].deed == deed && deed != "drop") {
      ++count;
    }
    Status status;
    if (deed == "push") {
      status = push_all(rows.first(count));
    } else if (deed == "drop") {
      status = drop_books(rows.front().subject, now);
    } else if (const auto canceled = cancel_all(rows.first(count))) {
      told.canceled += *canceled;
    } else {
      status = tl::unexpected(canceled.error());
    }
    if (!status) return tl::unexpected(std::move(status.error()));
    told_ = rows[count - 1].number;
    told.rows += static_cast<std::int64_t>(count);
    rows = rows.subspan(count);
  }
  return told;
}

Status Outbox::push_all(std::span<const Row> rows) {
  Push push;
  for (const Row& row : rows) {
    NewTask& task = push.tasks.emplace_back();
    task.id = task_of(row.subject, row.number);
    task.queue = kBookQueue;
    task.user = kUser;
    task.type = kBookQueue;
    task.timeout_ms = 0;  // whatever the queue's policy says: a claim lasts until it is settled
    task.payload = fmt::format(R"({{"bookId":"{}"}})", row.subject);
  }
  if (auto pushed = call(broker_, std::move(push), apps::with_patience()); !pushed) {
    return tl::unexpected(std::move(pushed.error()));
  }
  return {};
}

// Answers how many left the queue by it.
Result<std::int64_t> Outbox::cancel_all(std::span<const Row> rows) {
  std::vector<CancelTask> all;
  for (const Row& row : rows) all.push_back({task_of(row.subject, row.target.value_or(0))});
  std::int64_t count = 0;
  for (const auto& canceled : apps::call_all(broker_, std::move(all))) {
    if (!canceled && !is_over(canceled.error())) return tl::unexpected(canceled.error());
    count += canceled ? 1 : 0;
  }
  return count;
}

// The queue answers the same if it is told again, so that no book is forgotten in between.
Status Outbox::drop_books(const std::string& processing_id, TimePoint now) {
  const auto settled =
      call(broker_, Settle{.claim_id = claim_of(processing_id), .all = Outcome::kFinish},
           apps::with_patience());
  if (!settled) {
    if (is_over(settled.error())) return {};
    return tl::unexpected(settled.error());
  }
  return database_.write([&]() -> Status {
    for (const Settled& each : settled->results) {
      const auto name = each.ok ? task_name(each.id) : std::nullopt;
      if (!name) continue;
      database_.run(
          "UPDATE books SET task = NULL, reason = ?, checked_at = ? WHERE id = ? AND task = ?",
          kDropped, now, name->book_id, name->row);
    }
    return {};
  });
}

}  // namespace retsu::library
