#include "base/sqlite.h"

#include <filesystem>

namespace retsu::sqlite {
namespace {

Failure failure_of(sqlite3* handle, int code) {
  const int extended = handle == nullptr ? code : sqlite3_extended_errcode(handle);
  // The connection tells about its last call, which is not always the one that failed.
  const bool same = (extended & 0xff) == (code & 0xff);
  Failure failure{same ? extended : code,
                  handle != nullptr && same ? sqlite3_errmsg(handle) : sqlite3_errstr(code)};
  if (handle == nullptr || !failure.is_damage()) return failure;
  const char* path = sqlite3_db_filename(handle, "main");
  if (path == nullptr || *path == '\0') return failure;  // it is in memory
  failure.message.insert(0, std::filesystem::path(path).filename().string() + ": ");
  return failure;
}

}  // namespace

void count_no_memory() { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

Outcome<bool> Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return tl::unexpected(failure_of(sqlite3_db_handle(handle_.get()), code));
}

Done Statement::run() {
  for (;;) {
    const auto row = step();
    if (row && *row) continue;
    Done done;
    if (!row) done = tl::unexpected(row.error());
    reset();
    return done;
  }
}

std::string_view Statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

Outcome<Database> Database::open(const std::string& path, int flags, const char* vfs) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_EXRESCODE, vfs);
  Database database(handle);
  if (code != SQLITE_OK) return tl::unexpected(database.failure(code));
  return database;
}

Failure Database::failure(int code) const { return failure_of(handle_.get(), code); }

void Database::add_test(const char* name, bool (*test)(std::string_view, std::string_view)) {
  const auto call = [](sqlite3_context* context, int, sqlite3_value** values) {
    const auto text = [&](int i) {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(values[i]));
      return bytes == nullptr
                 ? std::string_view()
                 : std::string_view(bytes,
                                    static_cast<std::size_t>(sqlite3_value_bytes(values[i])));
    };
    const auto has = reinterpret_cast<decltype(test)>(sqlite3_user_data(context));
    const bool is_null = sqlite3_value_type(values[0]) == SQLITE_NULL;
    sqlite3_result_int(context, !is_null && has(text(0), text(1)) ? 1 : 0);
  };
  sqlite3_create_function(handle_.get(), name, 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                          reinterpret_cast<void*>(test), call, nullptr, nullptr);
}

void Database::on_tick(const std::function<void()>* tick) {
  constexpr int kInstructions = 20'000;
  const auto call = [](void* what) {
    (*static_cast<const std::function<void()>*>(what))();
    return 0;
  };
  sqlite3_progress_handler(handle_.get(), tick != nullptr ? kInstructions : 0,
                           tick != nullptr ? +call : nullptr,
                           const_cast<std::function<void()>*>(tick));
}

Done Database::copy_into(Database& copy,
                         const std::function<void(std::int64_t, std::int64_t)>& tell) {
  constexpr int kPages = 1'000;  // at a time
  sqlite3_backup* backup = sqlite3_backup_init(copy.handle_.get(), "main", handle_.get(), "main");
  if (backup == nullptr) return tl::unexpected(copy.failure(SQLITE_ERROR));
  for (int code = SQLITE_OK; code == SQLITE_OK;) {
    code = sqlite3_backup_step(backup, kPages);
    const int whole = sqlite3_backup_pagecount(backup);
    if (tell) tell(whole - sqlite3_backup_remaining(backup), whole);
  }
  const int code = sqlite3_backup_finish(backup);
  if (code != SQLITE_OK) return tl::unexpected(copy.failure(code));
  return {};
}

Done Database::check_header() {
  constexpr int kWriteVersion = 18;  // its place, see SQLite's file format
  constexpr int kNewest = 2;         // with a log
  sqlite3_file* file = nullptr;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  unsigned char version = 0;
  if (file == nullptr || file->pMethods == nullptr) return {};
  const int code = file->pMethods->xRead(file, &version, 1, kWriteVersion);
  if (code == SQLITE_IOERR_SHORT_READ) return {};  // it is new
  if (code != SQLITE_OK) return tl::unexpected(failure(code));
  if (version <= kNewest) return {};
  return tl::unexpected(Failure{SQLITE_CORRUPT, "its header lets nobody write (byte 18)"});
}

Done Database::carry_over_log(bool from_start) {
  const int how = from_start ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
  const int code = sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, how, nullptr, nullptr);
  if (code != SQLITE_OK) return tl::unexpected(failure(code));
  return {};
}

bool Database::log_is_long() {
  if (log_->pages < std::exchange(log_->seen, log_->pages)) log_->long_at = log_->long_log;
  if (log_->pages < log_->long_at) return false;
  log_->long_at = log_->pages + log_->long_log;
  return true;
}

Done Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return tl::unexpected(failure(code));
  return {};
}

Outcome<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* made = nullptr;
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  if (code != SQLITE_OK) return tl::unexpected(failure(code));
  return Statement(made);
}

Done Database::prepare(std::initializer_list<Prepared> statements) {
  for (const auto& [statement, sql] : statements) {
    auto made = prepare(sql);
    if (!made) return tl::unexpected(std::move(made.error()));
    statement = std::move(*made);
  }
  return {};
}

Outcome<std::int64_t> Database::integer(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return tl::unexpected(statement.error());
  const auto row = statement->step();
  if (!row) return tl::unexpected(row.error());
  return *row ? statement->integer(0) : 0;
}

Outcome<std::string> Database::text(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return tl::unexpected(statement.error());
  const auto row = statement->step();
  if (!row) return tl::unexpected(row.error());
  return *row ? std::string(statement->text(0)) : std::string();
}

}  // namespace retsu::sqlite
