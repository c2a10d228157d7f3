// Tables and queue agree, whatever call fails on the way, and wherever the process ends.
#include <filesystem>
#include <fstream>
#include <random>

#include "deep.h"
#include "library/library_test.h"
#include "reference/simulated_disk.h"
#include "seed.h"
#include "small_disk.h"

namespace retsu {
namespace {

// Fails from some call on: that one is done or not, the others are not.
class DyingBroker final : public Broker {
 public:
  DyingBroker(Broker& inner, int lives, bool is_last_done)
      : inner_(inner), left_(lives), is_last_done_(is_last_done) {}

  void submit(Command command, Context context, Done done) noexcept override {
    const int left = left_--;
    if (left > 0) return inner_.submit(std::move(command), std::move(context), std::move(done));
    if (left < 0 || !is_last_done_) {
      return inner_.submit(Stats{}, {}, [done](const Answer&) {
        done(Result<Reply>(refuse(ErrorCode::kUnavailable, "gone")));
      });
    }
    inner_.submit(std::move(command), std::move(context), [done](const Answer&) {
      done(Result<Reply>(refuse(ErrorCode::kOutcomeUnknown, "gone")));
    });
  }
  Subscription watch(EventFilter filter, EventSink sink) override {
    return inner_.watch(std::move(filter), std::move(sink));
  }
  [[nodiscard]] Capabilities capabilities() const override { return inner_.capabilities(); }
  [[nodiscard]] bool is_dead() const { return left_ < 0; }

 private:
  Broker& inner_;
  int left_;
  const bool is_last_done_;
};

class OutboxTest : public testing::Test {
 protected:
  using Reply = Result<AppResponse>;

  void open(Broker& broker, const std::string& directory, const char* vfs = nullptr) {
    auto opened = library::Library::open(
        directory, broker, [this] { return now_; }, vfs);
    library_ = opened ? *std::move(opened) : nullptr;
  }
  template <class Op>
  Result<typename Op::Reply> ask(const Op& op) {
    if (!library_) return refuse(ErrorCode::kUnavailable, "not open");
    const Operation& row = library::library_row<Op>();
    std::string json;
    append_json(json, op);
    const HttpForm form = json_to_http(row, json);
    AppRequest request{.body = form.body, .caller = "anyone"};
    const auto question = form.target.find('?');
    if (question != std::string::npos) request.query = form.target.substr(question + 1);
    for (const std::string_view name : path_names(row.path)) {
      // All our paths with a field end with it, or have it before the last segment.
      std::string path = form.target.substr(0, question);
      const bool is_last = row.path.ends_with('}');
      if (!is_last) path.erase(path.rfind('/'));
      request.path.emplace_back(name, path.substr(path.rfind('/') + 1));
    }
    auto answer = library_->serve(row, request);
    if (!answer) return tl::unexpected(answer.error());
    return *from_json<typename Op::Reply>(answer->body);
  }

  // A bit of everything. Refusals are part of the game; what was answered is not forgotten.
  void live() {
    using namespace library;
    std::vector<std::string> ids;
    for (int i = 0; i < 6; ++i) {
      const auto made = ask(CreateBooks{.books = {{.title = "Book " + std::to_string(i)}}});
      if (!made) continue;
      ids.push_back(made->books[0].id);
      accepted_.insert(ids.back());
    }
    const auto first = ask(ClaimMissing{.limit = 3});
    const auto give_id = [&](const std::string& id) {
      const auto patched = ask(PatchBook{id, Json(R"({"hardcoverId":5})")});
      if (patched) with_id_.insert(id);
    };
    if (ids.size() > 4) give_id(ids[4]);
    if (first && first->books.size() == 3) {
      const auto settled = ask(SettleBooks{
          .processing_id = first->processing_id,
          .results = {
              {.book_id = first->books[0].book_id, .outcome = Verdict::kMatched, .hardcover_id = 6},
              {.book_id = first->books[1].book_id,
               .outcome = Verdict::kUnmatched,
               .reason = "nothing found"}}});
      if (settled) with_id_.insert(first->books[0].book_id);
      const auto second = ask(ClaimMissing{.previous_processing_id = first->processing_id});
      if (second && !second->books.empty()) give_id(second->books[0].book_id);
    }
    (void)ask(ResetOld{.older_than = 0});
    if (!ids.empty()) {
      (void)ask(DeleteBook{ids.back()});
      accepted_.erase(ids.back());  // what was not answered may have happened
    }
    (void)ask(Requeue{});
  }

  void expect_agreement(Broker& broker) {
    library_->tick();
    std::map<std::string, std::string> live;  // task by book
    const auto page = call(broker, ListTasks{.filter = {.queue = "hardcover"}, .limit = 1'000});
    for (const Task& task : page->tasks) {
      if (is_ended(task.state)) continue;
      const auto name = library::task_name(task.id);
      ASSERT_TRUE(name) << task.id;
      EXPECT_TRUE(live.emplace(name->book_id, task.id).second) << "twice: " << name->book_id;
    }
    const auto books = ask(library::ListBooks{.limit = 1'000});
    ASSERT_TRUE(books);
    std::set<std::string> there;
    for (const library::Book& book : books->books) {
      there.insert(book.id);
      EXPECT_EQ(book.search.queued, live.contains(book.id)) << book.fields.title;
      EXPECT_FALSE(book.fields.hardcover_id && book.search.queued) << book.fields.title;
      EXPECT_TRUE(book.fields.hardcover_id || book.search.queued || book.search.reason)
          << book.fields.title << " is forgotten";
      EXPECT_TRUE(book.fields.hardcover_id || !with_id_.contains(book.id)) << book.fields.title;
    }
    for (const auto& [book, task] : live) EXPECT_TRUE(there.contains(book)) << task;
    for (const std::string& id : accepted_) EXPECT_TRUE(there.contains(id)) << id;
  }

  TimePoint now_{Millis(1'800'000'000'000)};
  std::unique_ptr<library::Library> library_;
  std::set<std::string> accepted_;
  std::set<std::string> with_id_;
};

TEST_F(OutboxTest, TablesAndQueueAgreeAfterAnyCallWasTheLast) {
  int calls = 0;
  for (bool is_done : {false, true}) {
    for (int lives = 0;; ++lives) {
      SCOPED_TRACE(testing::Message()
                   << "the last call is number " << lives << (is_done ? ", done" : ""));
      accepted_.clear();
      with_id_.clear();
      const TemporaryDirectory directory;
      MemoryBroker queue({}, [this] { return now_; });
      bool survived = false;
      {
        DyingBroker dying(queue, lives, is_done);
        open(dying, directory.path());
        live();
        survived = !dying.is_dead();
        library_.reset();
      }
      open(queue, directory.path());
      ASSERT_TRUE(library_);
      expect_agreement(queue);
      live();  // and all goes on
      expect_agreement(queue);
      library_.reset();
      if (HasFailure()) return;
      if (survived) break;
      calls = std::max(calls, lives);
    }
  }
  EXPECT_GT(calls, 20);
}

// The queue is on another machine, whose power stays.
TEST_F(OutboxTest, TablesAndQueueAgreeAfterThePowerFailedAtAnyCall) {
  const bool is_random = deep() || std::getenv("RETSU_SEED") != nullptr;
  std::mt19937_64 dice(is_random ? seed_of_this_run() : 1);
  std::uint64_t calls = 0;
  for (std::uint64_t last = 1;; ++last) {
    SCOPED_TRACE(testing::Message() << "the last call is " << last);
    accepted_.clear();
    with_id_.clear();
    const TemporaryDirectory directory;
    reference::SimulatedDisk disk;
    MemoryBroker queue({}, [this] { return now_; });
    disk.cut_power_at(last);
    open(queue, directory.path(), disk.vfs());
    live();
    const bool survived = disk.keep_power();
    library_.reset();
    disk.power_loss(dice);
    open(queue, directory.path(), disk.vfs());
    ASSERT_TRUE(library_);
    expect_agreement(queue);
    live();  // and all goes on
    expect_agreement(queue);
    library_.reset();
    if (HasFailure()) return;
    if (survived) break;
    calls = last;
  }
  EXPECT_GT(calls, 40);
}

TEST_F(OutboxTest, WhatTheQueueDoesNotTakeIsToldLater) {
  const TemporaryDirectory directory;
  MemoryBroker queue({}, [this] { return now_; });
  open(queue, directory.path());
  call(queue, StartDrain{});
  const auto made = ask(library::CreateBooks{.books = {{.title = "A"}, {.title = "B"}}});
  ASSERT_TRUE(made);
  EXPECT_EQ(ask(library::GetStatus{})->unsent, 2);
  EXPECT_EQ(ask(library::ClaimMissing{})->remaining_unclaimed, 2);
  call(queue, EndDrain{});
  library_->tick();
  EXPECT_EQ(ask(library::GetStatus{})->unsent, 0);
  EXPECT_EQ(ask(library::ClaimMissing{})->books.size(), 2);
}

TEST_F(OutboxTest, AFullDiskIsToldAndNothingIsHalfDone) {
  const SmallDisk disk(8);
  if (!disk.mounted()) GTEST_SKIP() << "mounting is not allowed here";
  MemoryBroker queue({}, [this] { return now_; });
  open(queue, disk.path());
  ASSERT_TRUE(library_);
  ASSERT_TRUE(ask(library::CreateBooks{.books = {{.title = "A"}}}));
  const std::string other = disk.path() + "/other";  // another program's file
  {
    std::ofstream file(other);
    const std::string bytes(1 << 16, 'x');
    while (file << bytes << std::flush) continue;
  }
  std::int64_t added = 1;
  for (int i = 0;; ++i) {
    ASSERT_LT(i, 10'000);
    library::BookFields book{.title = "Book " + std::to_string(i)};
    book.synopsis = std::string(20'000, 's');
    const auto made = ask(library::CreateBooks{.books = {std::move(book)}});
    if (!made) {
      EXPECT_EQ(made.error().code, ErrorCode::kStorageFull) << made.error().message;
      break;
    }
    ++added;
  }
  EXPECT_EQ(ask(library::GetStatus{})->books, added);
  EXPECT_EQ(ask(library::ListBooks{})->books.size(), std::min<std::size_t>(100, added));
  EXPECT_TRUE(ask(library::ClaimMissing{.limit = 1}));  // the queue has room
  std::filesystem::remove(other);
  ASSERT_TRUE(ask(library::CreateBooks{.books = {{.title = "Z"}}}));  // by itself
  EXPECT_EQ(ask(library::GetStatus{})->books, added + 1);
  expect_agreement(queue);
  library_.reset();
}

TEST_F(OutboxTest, AQueueThatIsNewIsToldOfAllBooks) {
  const TemporaryDirectory directory;
  {
    MemoryBroker queue({}, [this] { return now_; });
    open(queue, directory.path());
    ask(library::CreateBooks{
        .books = {{.title = "A"}, {.title = "B"}, {.title = "C", .hardcover_id = 1}}});
    const auto claimed = ask(library::ClaimMissing{.limit = 1});
    ask(library::SettleBooks{.processing_id = claimed->processing_id,
                             .results = {{.book_id = claimed->books[0].book_id,
                                          .outcome = library::Verdict::kUnmatched,
                                          .reason = "none"}}});
    library_.reset();
  }
  MemoryBroker queue({}, [this] { return now_; });
  open(queue, directory.path());
  EXPECT_EQ(ask(library::ClaimMissing{})->books.size(), 1);  // B: A was looked up
  library_.reset();
}

}  // namespace
}  // namespace retsu
