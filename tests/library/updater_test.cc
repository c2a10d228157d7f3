// The client's threads, in this process: what they share is seen by the thread sanitizer here.
#include "apps/library/updater.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/isbn.h"
#include "base/temporary_directory.h"
#include "broker/memory/memory_broker.h"
#include "simulators/hardcover/hardcover.h"

namespace retsu {
namespace {

using namespace library;
using simulators::HardcoverSimulator;

class LibraryUpdater : public testing::Test {
 protected:
  void SetUp() override {
    auto library = Library::open(directory_.path() + "/library", queue_, wall_clock);
    ASSERT_TRUE(library) << library.error().message;
    door_ = std::make_unique<LocalDoor>(*std::move(library));
    auto service =
        HardcoverSimulator::start({.token = "right", .speed = 10'000, .daily_limit = false});
    ASSERT_TRUE(service) << service.error();
    service_ = *std::move(service);
  }
  void add_books(int count) {
    CreateBooks create;
    for (int n = 1; n <= count; ++n) {
      create.books.push_back(
          {.title = "Title " + std::to_string(n), .authors = {{"Author " + std::to_string(n)}}});
    }
    ASSERT_TRUE(door_->ask(create));
  }
  Result<UpdateProgress> update(const std::string& name, const std::stop_token& stop = {},
                                const std::string& token = "right") {
    auto place = ResumePlace::take(directory_.path() + "/" + name);
    if (!place) return tl::unexpected(place.error());
    Updater updater(
        *door_, queue_, **place,
        {.hardcover = {.url = service_->url(), .token = token, .client = name}, .batch = 10},
        [this](const UpdateProgress& progress) {
          done_ = std::max(done_.load(), progress.done());
        });
    return updater.run(stop);
  }

  const TemporaryDirectory directory_;
  MemoryBroker queue_{{}, MemoryBroker::system_clock()};
  std::unique_ptr<Door> door_;
  std::unique_ptr<HardcoverSimulator> service_;
  std::atomic<std::int64_t> done_ = 0;
};

TEST_F(LibraryUpdater, SeveralShareAllBooks) {
  add_books(60);
  std::atomic<std::int64_t> matched = 0;
  std::atomic<std::int64_t> unmatched = 0;
  {
    std::vector<std::jthread> clients;
    for (const std::string name : {"ann", "ben", "cal"}) {
      clients.emplace_back([&, name] {
        const auto done = update(name);
        ASSERT_TRUE(done) << done.error().message;
        matched += done->matched;
        unmatched += done->unmatched;
        EXPECT_EQ(done->failed + done->lost, 0);
      });
    }
  }
  EXPECT_EQ(matched + unmatched, 60);
  EXPECT_GT(matched, 10);
  EXPECT_GT(unmatched, 10);
  EXPECT_EQ(door_->ask(GetStatus{})->with_id, matched);
  EXPECT_EQ(service_->calls().size(), 60);
  EXPECT_EQ(service_->calls_by_status().count("429"), 0);
}

TEST_F(LibraryUpdater, AStopGivesBackWhatHasNotBegun) {
  add_books(100);
  std::stop_source stop;
  std::jthread client([&] {
    const auto done = update("ann", stop.get_token());
    EXPECT_TRUE(done) << done.error().message;
  });
  while (done_ < 3) std::this_thread::yield();
  stop.request_stop();
  client.join();
  const auto now = door_->ask(GetStatus{});
  EXPECT_EQ(now->claimed, 0);
  EXPECT_EQ(now->unclaimed + now->with_id + now->without_match, 100);
}

TEST_F(LibraryUpdater, ATokenThatIsRefusedIsTold) {
  add_books(20);
  const auto done = update("ann", {}, "wrong");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnauthorized);
  EXPECT_EQ(door_->ask(GetStatus{})->unclaimed, 20);
  EXPECT_EQ(update("ann")->done(), 20);
}

TEST_F(LibraryUpdater, WhatTheServiceSaysOfItsPaceIsThePaceOfAll) {
  add_books(3);
  EXPECT_TRUE(update("ann"));
  EXPECT_EQ(call(queue_, GetQueue{"hardcover-api"})->policy.rate,
            (Rate{.limit = 600'000, .per_ms = 60'000, .burst = 4}));
}

}  // namespace
}  // namespace retsu
