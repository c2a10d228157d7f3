#include "apps/library/outbox.h"

#include <fmt/format.h>

#include <charconv>

#include "apps/patience.h"

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
  if (swept_ == told_) return;
  database_.run("DELETE FROM outbox WHERE number <= ?", told_);
  swept_ = told_;
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

Result<Outbox::Told> Outbox::relay(std::int64_t most, TimePoint now) {
  const auto rows = database_.read([&] { return next(most); });
  if (!rows) return tl::unexpected(rows.error());
  Told told;
  for (std::size_t i = 0; i < rows->size();) {
    if ((*rows)[i].deed == "push") {
      const auto pushed = push_all(*rows, i);
      if (!pushed) return tl::unexpected(pushed.error());
      i += static_cast<std::size_t>(*pushed);
    } else {
      const auto canceled = tell((*rows)[i], now);
      if (!canceled) return tl::unexpected(canceled.error());
      told.canceled += *canceled ? 1 : 0;
      ++i;
    }
    told_ = (*rows)[i - 1].number;
    told.rows = static_cast<std::int64_t>(i);
  }
  return told;
}

// Those that follow each other, in one push. Answers how many.
Result<std::int64_t> Outbox::push_all(const std::vector<Row>& rows, std::size_t from) {
  const auto most = static_cast<std::size_t>(broker_.capabilities().limits.batch);
  Push push;
  for (std::size_t i = from; i < rows.size() && rows[i].deed == "push" && push.tasks.size() < most;
       ++i) {
    NewTask& task = push.tasks.emplace_back();
    task.id = task_of(rows[i].subject, rows[i].number);
    task.queue = kBookQueue;
    task.user = kUser;
    task.type = kBookQueue;
    task.payload = fmt::format(R"({{"bookId":"{}"}})", rows[i].subject);
  }
  const auto count = static_cast<std::int64_t>(push.tasks.size());
  if (auto pushed = call(broker_, std::move(push), apps::with_patience()); !pushed) {
    return tl::unexpected(std::move(pushed.error()));
  }
  return count;
}

// Answers whether a task left the queue by it.
Result<bool> Outbox::tell(const Row& row, TimePoint now) {
  if (row.deed == "drop") {
    if (auto dropped = drop_books(row.subject, now); !dropped) {
      return tl::unexpected(std::move(dropped.error()));
    }
    return false;
  }
  const auto canceled = call(broker_, CancelTask{task_of(row.subject, row.target.value_or(0))},
                             apps::with_patience());
  if (canceled) return true;
  if (is_over(canceled.error())) return false;
  return tl::unexpected(canceled.error());
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
