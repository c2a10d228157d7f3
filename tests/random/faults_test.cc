// Random runs of the embedded broker on a disk that fails. What it answered must be so afterwards;
// what it could not answer has happened whole or not at all.

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <filesystem>

#include "base/temporary_directory.h"
#include "broker/codec.h"
#include "broker/embedded/embedded_broker.h"
#include "broker/embedded/store_files.h"
#include "conformance/store_subjects.h"
#include "deep.h"
#include "ingest/validate.h"
#include "patience.h"
#include "random/judge.h"
#include "reference/simulated_disk.h"

namespace retsu::random_runs {
namespace {

using reference::DiskCall;
using reference::SimulatedDisk;

Limits plenty() {
  Limits limits;
  limits.steps = 1'000'000;  // the model does long work at once
  return limits;
}

// A store on the simulated disk, closed and opened by hand.
class Patient final : public conformance::Subject {
 public:
  explicit Patient(SimulatedDisk& disk) {
    settings_.limits = plenty();
    settings_.clock = nullptr;
    settings_.store.journal_bytes = 2'000;  // folds all the time
    settings_.store.log_pages = 20;
    settings_.store.ballast_bytes = 4'096;
    settings_.store.searched_tasks = 0;
    settings_.store.payload_bytes = 0;
    settings_.store.vfs = disk.vfs();
  }

  [[nodiscard]] bool open() {
    auto opened = EmbeddedBroker::open(directory_.path(), settings_);
    if (!opened) problem_ = opened.error().message;
    if (opened) broker_ = std::move(*opened);
    return opened.has_value();
  }
  void close() { broker_.reset(); }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const std::string& path() const { return directory_.path(); }
  [[nodiscard]] bool has_ballast() const {
    return std::filesystem::exists(directory_.path() + "/ballast");
  }

  Broker& broker() override { return *broker_; }
  TimePoint now() override { return now_; }
  bool forgets_workers() override { return true; }
  void set_clock(TimePoint time) override {
    now_ = time;
    broker_->set_clock(time);
  }

 private:
  TemporaryDirectory directory_{conformance::fast_directory()};
  EmbeddedBroker::Settings settings_;
  std::unique_ptr<EmbeddedBroker> broker_;
  std::string problem_;
  TimePoint now_{};
};

// A run that knows at each moment what the queue must be like.
class FaultyRun {
 public:
  explicit FaultyRun(std::uint64_t seed) : patient_(disk), source_(seed) {}

  SimulatedDisk disk;

  void open() { ASSERT_TRUE(opens()) << patient_.problem(); }
  bool opens() { return patient_.open(); }
  // However often the power fails meanwhile.
  void open_again(std::mt19937_64& dice) {
    while (!patient_.open() || !disk.keep_power()) {
      patient_.close();
      if (!disk.power_loss(dice)) FAIL() << patient_.problem();
    }
  }
  void close() { patient_.close(); }

  enum class End { kNone, kDoubt };

  // One step; kDoubt: nobody can say whether it was done.
  End step() {
    step_ = source_.next();
    patient_.set_clock(step_.clock);
    Context context;
    context.idempotency_key = step_.key;
    const Answer got = call_any(patient_.broker(), step_.command, std::move(context));
    if (!got && (got.error().code == ErrorCode::kOutcomeUnknown ||
                 got.error().code == ErrorCode::kUnavailable)) {
      return End::kDoubt;
    }
    if (!got && got.error().code == ErrorCode::kStorageFull) {
      ++full;
      model_.advance(step_.clock);
      return End::kNone;
    }
    expect_same(comparable(done(model_)), comparable(got));
    source_.learn(step_.command, answer_);
    return End::kNone;
  }

  // After a doubt: the queue is as if the step had been done, or as if it had not.
  void find_out() {
    // What time it was when somebody only looked is not stored.
    patient_.set_clock(std::max(step_.clock, model_.now()));
    ReferenceQueue not_done = model_;
    not_done.advance(step_.clock);
    ReferenceQueue was_done = model_;
    (void)done(was_done);
    const auto difference = differs(not_done);
    if (!difference) {
      model_ = std::move(not_done);
      ++undone;
      make_certain();
      return;
    }
    const auto other = differs(was_done);
    ASSERT_FALSE(other) << "neither before nor after " << shown(step_)
                        << "\nbefore: " << difference->command << "\n  expected "
                        << difference->expected << "\n  got " << difference->got
                        << "\nafter: " << other->command << "\n  expected " << other->expected
                        << "\n  got " << other->got;
    model_ = std::move(was_done);
    source_.learn(step_.command, answer_);
    ++redone;
  }

  void expect_all_the_same() {
    patient_.set_clock(std::max(step_.clock, model_.now()));  // as above
    const auto difference = differs(model_);
    ASSERT_FALSE(difference) << difference->command << "\n  expected " << difference->expected
                             << "\n  got " << difference->got;
  }

  int undone = 0;  // doubts that turned out so
  int redone = 0;
  int full = 0;

 private:
  // An order or a value cannot be seen in lists. What may be repeated is done again: then it is as
  // if it had been done once, whatever happened the first time.
  void make_certain() {
    const Operation& operation = operation_of(step_.command);
    if (!operation.changes || !operation.repeatable) return;
    if (!validate(step_.command, plenty())) return;
    expect_same(comparable(model_.apply(step_.command, step_.clock)),
                comparable(call_any(patient_.broker(), step_.command)));
  }

  Result<Reply> done(ReferenceQueue& model) {
    if (const Status valid = validate(step_.command, plenty()); !valid) {
      answer_ = tl::unexpected(valid.error());
    } else if (step_.key) {
      answer_ = model.apply_once(step_.command, step_.clock,
                                 {"", std::string(operation_of(step_.command).name), *step_.key},
                                 canonical_json(to_json(step_.command)));
    } else {
      answer_ = model.apply(step_.command, step_.clock);
    }
    return answer_;
  }

  std::optional<Mismatch> differs(const ReferenceQueue& model) {
    Judge judge(plenty(), model, patient_);
    return judge.compare_at(step_.clock);
  }

  static void expect_same(Result<Reply> expected, Result<Reply> got) {
    for (Result<Reply>* reply : {&expected, &got}) forget_workers(*reply);
    EXPECT_EQ(expected == got, true) << "expected " << shown(expected) << "\ngot " << shown(got);
  }

  Patient patient_;
  CommandSource source_;
  ReferenceQueue model_{plenty()};
  Step step_;
  Result<Reply> answer_;
};

TEST(Faults, APowerLossLosesNothingThatWasAnswered) {
  const int losses = deep() ? 40'000 : scaled(2'000, 10);
  const int losses_each = 50;  // of one store
  std::mt19937_64 dice(11);
  int undone = 0;
  int redone = 0;
  for (int run = 0; run < losses / losses_each; ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    FaultyRun queue(static_cast<std::uint64_t>(run) + 1);
    queue.open();
    for (int loss = 0; loss < losses_each && !testing::Test::HasFailure(); ++loss) {
      queue.disk.cut_power_at(1 + dice() % (dice() % 4 == 0 ? 200 : 40));
      while (queue.step() == FaultyRun::End::kNone && !testing::Test::HasFailure()) continue;
      queue.close();
      queue.disk.power_loss(dice);
      if (dice() % 3 == 0) queue.disk.cut_power_at(1 + dice() % 30);  // again, while it recovers
      if (!testing::Test::HasFailure()) queue.open_again(dice);
      if (!testing::Test::HasFailure()) queue.find_out();
    }
    if (testing::Test::HasFailure()) return;
    undone += queue.undone;
    redone += queue.redone;
  }
  EXPECT_GT(undone, losses / 20);
  EXPECT_GE(redone, losses / 200);
}

// What a sync could not carry over is lost, though everybody sees it, until the power goes.
TEST(Faults, APowerLossAfterAFailedSyncLosesNothingThatWasAnswered) {
  std::mt19937_64 dice(17);
  const int runs = deep() ? 20'000 : scaled(600, 10);
  for (int run = 0; run < runs && !testing::Test::HasFailure(); ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    FaultyRun queue(static_cast<std::uint64_t>(run) + 1);
    queue.open();
    bool failed = false;
    queue.disk.set_fault([&, failing = dice() % 300](DiskCall call, std::uint64_t number) {
      if (failed || call != DiskCall::kSync || number < failing) return SQLITE_OK;
      failed = true;
      return SQLITE_IOERR_FSYNC;
    });
    const auto finds_out = [&] {
      queue.open_again(dice);
      if (!testing::Test::HasFailure()) queue.find_out();
    };
    for (auto left = dice() % 80; left > 0 && !testing::Test::HasFailure(); --left) {
      if (queue.step() == FaultyRun::End::kNone) continue;
      queue.close();
      finds_out();
    }
    queue.disk.set_fault(nullptr);
    queue.disk.cut_power_at(1 + dice() % 40);
    while (queue.step() == FaultyRun::End::kNone && !testing::Test::HasFailure()) continue;
    queue.close();
    queue.disk.power_loss(dice);
    finds_out();
  }
}

// The power goes at every call while a store is made, closed, opened and closed again.
TEST(Faults, APowerLossWhileAStoreIsOpenedOrClosedDoesNoHarm) {
  std::mt19937_64 dice(13);
  for (std::uint64_t call = 1; !testing::Test::HasFailure(); ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    FaultyRun queue(5);
    queue.disk.cut_power_at(call);
    bool in_doubt = false;
    for (int opening = 0; opening < 3 && !in_doubt && queue.opens(); ++opening) {
      for (int i = 0; i < 3 && !in_doubt; ++i) in_doubt = queue.step() == FaultyRun::End::kDoubt;
      queue.close();
    }
    if (!queue.disk.power_loss(dice)) return;
    queue.open();
    if (!testing::Test::HasFailure()) in_doubt ? queue.find_out() : queue.expect_all_the_same();
  }
}

// Every write, sync, truncation and deletion of a run fails once, in each way.
TEST(Faults, AFailedCallIsToldAndNothingIsHalfDone) {
  for (const int code : {SQLITE_IOERR_WRITE, SQLITE_FULL}) {
    int doubts = 0;
    int full = 0;
    for (std::uint64_t failing = 1;; ++failing) {
      SCOPED_TRACE("call " + std::to_string(failing) + " fails with " + std::to_string(code));
      bool reached = false;
      FaultyRun queue(3);
      queue.open();
      queue.disk.set_fault([&](DiskCall, std::uint64_t number) {
        reached |= number == failing;
        return number == failing ? code : SQLITE_OK;
      });
      for (int i = 0; i < (deep() ? 300 : scaled(80, 4)); ++i) {
        if (queue.step() == FaultyRun::End::kDoubt) {
          ++doubts;
          queue.close();  // it goes on by itself too, a second later
          queue.open();
          queue.find_out();
        }
        ASSERT_FALSE(testing::Test::HasFailure());
      }
      queue.disk.set_fault(nullptr);
      queue.close();  // rows may have failed after the last answer; to look is refused then too
      queue.open();
      queue.expect_all_the_same();
      full += queue.full;
      ASSERT_FALSE(testing::Test::HasFailure());
      if (!reached) break;
    }
    EXPECT_GT(code == SQLITE_FULL ? full : doubts, 5);
  }
}

TEST(Faults, AFullDiskRefusesWhatGrowsAndTheQueueGoesOnByItself) {
  SimulatedDisk disk;
  Patient queue(disk);
  ASSERT_TRUE(queue.open()) << queue.problem();
  const auto push = [&] {
    NewTask task;
    task.payload = '"' + std::string(5'000, 'x') + '"';
    return call(queue.broker(), Push{.tasks = {std::move(task)}});
  };
  disk.set_capacity(disk.used() + 300'000);
  int accepted = 0;
  Result<PushReply> pushed = push();
  for (; pushed; pushed = push()) ++accepted;
  EXPECT_EQ(pushed.error().code, ErrorCode::kStorageFull);
  EXPECT_GT(accepted, 3);
  EXPECT_FALSE(queue.has_ballast());

  disk.set_capacity(disk.used() + 100'000);  // what the ballast gave up
  const auto claimed = call(queue.broker(), Claim{});
  ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
  EXPECT_EQ(push().error().code, ErrorCode::kStorageFull);
  EXPECT_TRUE(call(queue.broker(), Settle{.claim_id = claimed->claim_id, .all = Outcome::kFinish}));

  disk.set_capacity(std::nullopt);
  EXPECT_TRUE(succeeds_in_the_end(push));
  const auto stats = call(queue.broker(), Stats{});
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(stats->tasks.at("FINISHED"), 1);
  EXPECT_EQ(stats->tasks.at("QUEUED"), accepted);
}

TEST(Faults, AStoreIsOpenedWhenSomebodyWhoReadsACopyHasDone) {
  SimulatedDisk disk;
  Patient queue(disk);
  ASSERT_TRUE(queue.open()) << queue.problem();
  queue.close();
  const std::string file = queue.path() + "/retsu.db";
  auto reader = sqlite::Database::open(file, SQLITE_OPEN_READWRITE, disk.vfs());
  ASSERT_TRUE(reader && reader->execute("PRAGMA journal_mode = DELETE"));  // as copies have it
  ASSERT_TRUE(reader->execute("BEGIN") && reader->integer("SELECT count(*) FROM tasks"));
  int waits = 0;
  disk.set_on_wait([&] {
    ++waits;
    EXPECT_TRUE(reader->roll_back());
  });
  EXPECT_TRUE(queue.open()) << queue.problem();
  EXPECT_GT(waits, 0);
  EXPECT_TRUE(call(queue.broker(), Push{.tasks = std::vector<NewTask>(1)}));
}

TEST(Faults, AListDoesNotWaitForRoom) {
  SimulatedDisk disk;
  Patient queue(disk);
  ASSERT_TRUE(queue.open()) << queue.problem();
  ASSERT_TRUE(call(queue.broker(), Push{.tasks = std::vector<NewTask>(3)}));
  disk.set_fault([](DiskCall call, std::uint64_t) {
    return call == DiskCall::kWrite ? SQLITE_FULL : SQLITE_OK;
  });
  Context context;
  context.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto first = call(queue.broker(), ListTasks{}, std::move(context));
  EXPECT_EQ(first.error().code, ErrorCode::kUnavailable);  // at once, not at the deadline
  const auto second = call(queue.broker(), ListTasks{});
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ(second->tasks.size(), 3U);
}

TEST(Faults, WhatWasDueHappensThoughItCouldNotBeStoredAtFirst) {
  SimulatedDisk disk;
  Patient queue(disk);
  ASSERT_TRUE(queue.open()) << queue.problem();
  constexpr TimePoint kStart{Millis(1'800'000'000'000)};
  queue.set_clock(kStart);
  NewTask task;
  task.expires_at = kStart + Millis(1'000);
  ASSERT_TRUE(call(queue.broker(), Push{.tasks = {task}}));
  bool fails = true;
  disk.set_fault([&](DiskCall call, std::uint64_t) {
    return call == DiskCall::kSync && std::exchange(fails, false) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
  });
  queue.set_clock(kStart + Millis(2'000));
  EXPECT_FALSE(fails);
  ListTasks list;
  list.filter.state = State::kFailed;
  const auto page = call(queue.broker(), list);
  ASSERT_TRUE(page.has_value()) << page.error().message;
  EXPECT_EQ(page->tasks.size(), 1U);
}

// What SQLite reads back may be in memory only, as long as somebody keeps it there.
TEST(Faults, AfterAFailedSyncALogThatSomebodyReadsIsNotTrusted) {
  bool fails = false;
  SimulatedDisk disk;
  Patient queue(disk);
  ASSERT_TRUE(queue.open()) << queue.problem();
  const auto push = [&] { return call(queue.broker(), Push{.tasks = std::vector<NewTask>(1)}); };
  ASSERT_TRUE(push());
  auto reader = embedded::open_to_read(queue.path() + "/retsu.db", disk.vfs());
  ASSERT_TRUE(reader && reader->execute("BEGIN") && reader->integer("SELECT count(*) FROM tasks"));
  disk.set_fault([&](DiskCall call, std::uint64_t) {
    return call == DiskCall::kSync && std::exchange(fails, false) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
  });
  fails = true;
  EXPECT_EQ(push().error().code, ErrorCode::kOutcomeUnknown);
  EXPECT_EQ(push().error().code, ErrorCode::kUnavailable);
  reader = tl::unexpected(sqlite::Failure{});
  EXPECT_TRUE(succeeds_in_the_end([&] { return push().has_value(); }));
}

TEST(Faults, WhenNothingFitsAtAllEverythingIsRefusedAndNothingIsLost) {
  SimulatedDisk disk;
  Patient queue(disk);
  ASSERT_TRUE(queue.open()) << queue.problem();
  const Push push{.tasks = std::vector<NewTask>(1)};
  ASSERT_TRUE(call(queue.broker(), push));
  disk.set_fault([](DiskCall call, std::uint64_t) {
    return call == DiskCall::kWrite ? SQLITE_FULL : SQLITE_OK;
  });
  EXPECT_EQ(call(queue.broker(), push).error().code, ErrorCode::kStorageFull);
  EXPECT_EQ(call(queue.broker(), Claim{}).error().code, ErrorCode::kStorageFull);
  disk.set_fault(nullptr);
  Result<ClaimReply> claimed;
  EXPECT_TRUE(succeeds_in_the_end([&] {
    claimed = call(queue.broker(), Claim{});
    return claimed.has_value();
  }));
  EXPECT_EQ(claimed->tasks.size(), 1U);
  EXPECT_EQ(claimed->remaining, 0);
}

TEST(Faults, AFailedSyncIsNeverASuccessAndThoseWhoWatchAreToldOfTheGap) {
  bool failed = false;
  SimulatedDisk disk;
  Patient queue(disk);
  ASSERT_TRUE(queue.open()) << queue.problem();
  std::atomic<std::uint64_t> missed = 0;
  {
    const Subscription watching =
        queue.broker().watch({}, [&](const EventBatch& batch) { missed += batch.missed; });
    disk.set_fault([&](DiskCall call, std::uint64_t) {
      if (call != DiskCall::kSync || std::exchange(failed, true)) return SQLITE_OK;
      return SQLITE_IOERR_FSYNC;
    });
    const auto pushed = call(queue.broker(), Push{.tasks = std::vector<NewTask>(1)});
    ASSERT_FALSE(pushed.has_value());
    EXPECT_EQ(pushed.error().code, ErrorCode::kOutcomeUnknown);
    EXPECT_TRUE(call(queue.broker(), Push{.tasks = std::vector<NewTask>(1)}));
  }
  EXPECT_GT(missed, 0U);
}

}  // namespace
}  // namespace retsu::random_runs
