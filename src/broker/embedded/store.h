#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "base/histogram.h"
#include "base/sqlite.h"
#include "broker/embedded/folding.h"
#include "broker/embedded/journal_file.h"
#include "broker/embedded/lock_file.h"
#include "broker/embedded/reader.h"
#include "broker/keeper.h"

namespace retsu::embedded {

struct StoreSettings {
  std::size_t journal_bytes = std::size_t{64}
                              << 20;  // of a file, then it is folded into the tables
  // Then the tables' log is carried over.
  int log_pages = 1'000;
  std::size_t ballast_bytes = std::size_t{16} << 20;  // given up when the disk is full
  std::size_t payload_bytes = std::size_t{256}
                              << 20;   // in memory, about; the rest is read when needed
  std::size_t searched_tasks = 2'000;  // more than so many are not listed by the engine
  const char* vfs = nullptr;           // SQLite's file system, for tests
};

// What a store has done so far. Readable from any thread.
struct StoreFigures {
  std::atomic<std::uint64_t> groups = 0;
  std::atomic<std::uint64_t> journal_bytes = 0;
  Histogram commits;  // nearly all of it is the sync
};

// An engine's rows in a directory:
//
//   retsu.db      SQLite in WAL mode: the rows themselves, a moment later than the journal, so that
//                 a person can read them. Together they are always the whole truth.
//   journal.1, .2 group after group, synced before commit returns. They go when the store is
//                 closed: then the tables have all.
//   lock          who has the store open
//   ballast       bytes to be given up when the disk is full
//
// Only this connection writes and checkpoints. Threads: as Keeper says.
class Store final : public Keeper {
 public:
  // Makes the directory if it is not there. Refused: somebody else has it open, it is not a store,
  // it is from a later version, the disk fails.
  static Result<std::unique_ptr<Store>> open(const std::string& directory,
                                             StoreSettings settings = {});
  ~Store() override;  // folds all, so that the tables are up to date

  void prepare(const engine::Changes& group) override;
  Kept commit(const engine::Changes& group) override;
  void kept(Engine& engine) override;
  void note(engine::Changes group) override;
  bool search(const ListTasks& list, std::size_t tasks, Done done) override;
  Status reopen(Engine& engine) override;
  bool has_room() override;
  [[nodiscard]] bool works() const override { return journal_ && folding_ && !lost_payload_; }
  [[nodiscard]] bool lost_payload() const override { return lost_payload_; }
  std::chrono::milliseconds tidy(Engine& engine) override { return tidy(&engine); }
  [[nodiscard]] bool is_awaited() const override { return !searches_.empty(); }

  [[nodiscard]] std::shared_ptr<const StoreFigures> figures() const { return figures_; }

 private:
  Store(std::string directory, StoreSettings settings, LockFile lock);

  Status connect(JournalContent& content);
  sqlite::Done open_journal(sqlite::Database& tables, const JournalMark& mark,
                            JournalContent& content);
  Status load(Engine& engine, const JournalContent& content);
  sqlite::Done begin_journal(const JournalContent& content);
  void end_journal();
  void stop_reading();
  void disconnect();
  [[nodiscard]] sqlite::Done check_tables() const;
  [[nodiscard]] Error refusal(sqlite::Failure failure, const sqlite::Done& pages) const;
  std::chrono::milliseconds tidy(Engine* engine);
  [[nodiscard]] Folding::Visit parking(Engine* engine) const;
  void folded(const std::optional<sqlite::Done>& slice);
  Json payload(engine::Sequence sequence);
  [[nodiscard]] bool goes_on(const ListTasks& list) const;
  void begin_searches();
  void end_searches();
  bool make_ballast();
  [[nodiscard]] bool has_room_for_rows() const;
  bool give_up_ballast();

  const std::string directory_;
  const StoreSettings settings_;
  const std::shared_ptr<StoreFigures> figures_ = std::make_shared<StoreFigures>();
  LockFile lock_;
  OldLog old_log_ = OldLog::kMayStay;
  // Given up for work that is to be finished, by a commit that may run beside the owner.
  std::atomic<bool> has_ballast_ = false;
  bool lacks_room_ = false;  // the next commit says so, once, and pushes are refused
  bool rows_fit_ = true;     // into the tables, when there was last a look

  // For payloads, while the others may be writing.
  struct Payloads {
    sqlite::Database database;
    sqlite::Statement select;
  };
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<Folding> folding_;  // none: it failed
  std::optional<Journal> journal_;    // likewise
  std::optional<Payloads> payloads_;
  bool lost_payload_ = false;

  Packer group_;              // that is committed, or was last
  bool is_prepared_ = false;  // it has the bytes of the next one to be committed
  std::uint64_t next_group_ = 1;

  // Searches that wait until the tables say what the journal said when they came.
  struct Search {
    std::uint64_t group;
    ListTasks list;
    Done done;
  };
  std::deque<Search> searches_;
  std::atomic<std::int64_t> began_until_ = 0;  // the tables had all before it when it was given out
};

}  // namespace retsu::embedded
