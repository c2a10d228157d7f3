#include "broker/embedded/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>
#include <vector>

#include "base/background.h"
#include "base/search.h"
#include "broker/embedded/store_files.h"
#include "broker/refusals.h"

namespace retsu::embedded {
namespace {

using Steady = std::chrono::steady_clock;
using Value = std::variant<std::int64_t, std::string_view>;

constexpr auto kHeld = std::chrono::milliseconds(20);  // for which rows are held on to, about
constexpr std::int64_t kFirstRows = 1'000;
constexpr std::int64_t kMostRows = 100'000;

// What a filter says, in SQL, with its values in order.
struct Condition {
  std::string sql;
  std::vector<Value> values;

  void add(std::string_view part, Value value) {
    sql += fmt::format(" AND {}", part);
    values.push_back(value);
  }
};

Condition condition_of(const Filter& filter) {
  Condition made;
  if (filter.state) made.add("state = ?", name_of(*filter.state));
  const std::pair<const char*, const std::string&> equal[] = {
      {"queue = ?", filter.queue},
      {"user = ?", filter.user},
      {"type = ?", filter.type},
      {"unique_key = ?", filter.unique_key},
      {"EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)", filter.tag}};
  for (const auto& [sql, value] : equal) {
    if (!value.empty()) made.add(sql, value);
  }
  if (filter.since) made.add("created_at >= ?", filter.since->time_since_epoch().count());
  if (filter.until) made.add("created_at < ?", filter.until->time_since_epoch().count());
  if (!filter.q.empty()) {
    made.add("(json_has_part(payload, ?", filter.q);
    for (const char* sql : {") OR has_part(error, ?", ") OR has_part(id, ?",
                            ") OR EXISTS (SELECT 1 FROM json_each(tags) WHERE has_part(value, ?"}) {
      made.sql += sql;
      made.values.emplace_back(filter.q);
    }
    made.sql += ")))";
  }
  return made;
}

void bind(sqlite::Statement& statement, int& place, const Value& value) {
  std::visit([&](const auto& each) { statement.bind(place++, each); }, value);
}

}  // namespace

std::optional<std::int64_t> parsed_cursor(std::string_view cursor) {
  std::int64_t before = 0;
  const char* const end = cursor.data() + cursor.size();
  const auto read = std::from_chars(cursor.data(), end, before);
  return read.ec == std::errc() && read.ptr == end ? std::optional(before) : std::nullopt;
}

Reader::Reader(std::string path, const char* vfs)
    : path_(std::move(path)), vfs_(vfs), thread_([this] { run(); }) {}

Reader::~Reader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Reader::search(ListTasks list, Keeper::Done done) {
  {
    const std::lock_guard lock(mutex_);
    searches_.push_back({std::move(list), std::move(done)});
  }
  changed_.notify_all();
}

Reader::Pause::Pause(Reader& reader) : reader_(reader) {
  std::unique_lock lock(reader.mutex_);
  ++reader.pauses_;
  reader.changed_.wait(lock, [&] { return !reader.reading_; });
}

Reader::Pause::~Pause() {
  {
    const std::lock_guard lock(reader_.mutex_);
    --reader_.pauses_;
  }
  reader_.changed_.notify_all();
}

bool Reader::begin_reading() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || pauses_ == 0; });
  reading_ = !stopping_;
  return reading_;
}

void Reader::end_reading() {
  {
    const std::lock_guard lock(mutex_);
    reading_ = false;
  }
  changed_.notify_all();
}

void Reader::run() {
  give_way_to_others();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !searches_.empty(); });
    if (searches_.empty()) return;
    Search search = std::move(searches_.front());
    searches_.pop_front();
    const bool stopping = stopping_;
    lock.unlock();
    if (stopping) {
      search.done(tl::unexpected(read_anew()));
    } else {
      search.done(find(search.list));
    }
    lock.lock();
  }
}

Result<Keeper::Found> Reader::find(const ListTasks& list) {
  if (!database_) {
    auto opened = open_to_read(path_, vfs_);
    if (!opened) return refuse(ErrorCode::kUnavailable, opened.error().message);
    database_ = std::move(*opened);
    database_->add_test("has_part", has_part);
    database_->add_test("json_has_part", json_has_part);
  }
  auto found = find_in(*database_, list);
  if (found) return *std::move(found);
  database_.reset();
  return refuse(ErrorCode::kUnavailable, "the list cannot be read: " + found.error().message);
}

sqlite::Outcome<Keeper::Found> Reader::find_in(sqlite::Database& database, const ListTasks& list) {
  const Condition condition = condition_of(list.filter);
  auto lowest = database.prepare(
      "SELECT sequence FROM tasks WHERE sequence < ? ORDER BY sequence DESC LIMIT 1 OFFSET ?");
  if (!lowest) return tl::unexpected(lowest.error());
  auto rows = database.prepare(
      fmt::format("SELECT sequence, id FROM tasks WHERE sequence < ? AND sequence >= ?{} "
                  "ORDER BY sequence DESC LIMIT ?",
                  condition.sql));
  if (!rows) return tl::unexpected(rows.error());

  Keeper::Found found;
  std::int64_t before = parsed_cursor(list.cursor).value_or(INT64_MAX);
  std::int64_t last = 0;
  for (std::int64_t window = kFirstRows; before > 0;) {
    if (!begin_reading()) {
      return tl::unexpected(sqlite::Failure{SQLITE_INTERRUPT, "the store is being read anew"});
    }
    const Reading reading(*this);
    const Steady::time_point start = Steady::now();
    lowest->bind(1, before);
    lowest->bind(2, window);
    const auto row = lowest->step();
    if (!row) return tl::unexpected(row.error());
    const std::int64_t from = *row ? lowest->integer(0) : 0;
    lowest->reset();

    int place = 1;
    bind(*rows, place, before);
    bind(*rows, place, from);
    for (const Value& value : condition.values) bind(*rows, place, value);
    bind(*rows, place, list.limit + 1 - std::ssize(found.ids));
    for (;;) {
      const auto more = rows->step();
      if (!more) return tl::unexpected(more.error());
      if (!*more) break;
      if (std::ssize(found.ids) == list.limit) {
        found.next_cursor = std::to_string(last);
        rows->reset();
        return found;
      }
      last = rows->integer(0);
      found.ids.emplace_back(rows->text(1));
    }
    rows->reset();
    before = from;
    const bool quick = Steady::now() - start < kHeld;
    window = std::clamp(quick ? 2 * window : window / 2, kFirstRows / 10, kMostRows);
  }
  return found;
}

}  // namespace retsu::embedded
