#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "base/temporary_directory.h"
#include "broker/embedded/embedded_broker.h"
#include "broker/embedded/store.h"
#include "broker/embedded/store_files.h"
#include "broker/embedded/verify.h"
#include "deep.h"

// Bits that a disk gives back other than it got them.
namespace retsu {
namespace {

constexpr std::size_t kPage = 8'192;

class DamageTest : public testing::Test {
 protected:
  using Files = std::map<std::string, std::string>;  // bytes by name

  void SetUp() override {
    auto broker = EmbeddedBroker::open(path_);
    ASSERT_TRUE(broker.has_value());
    fill(**broker);
    if (HasFatalFailure()) return;
    killed_ = files();
    broker->reset();
    closed_ = files();
    restore(killed_);
    // What a start does first: then the log is in its file.
    ASSERT_TRUE(embedded::open_to_write(path_ + "/retsu.db", nullptr, embedded::OldLog::kHasToGo));
    killed_ = files();
  }

  // False: nobody noticed, and everything is as it was.
  bool flip(Files files, const std::string& as_written, const std::string& name, std::size_t place,
            std::size_t bit) {
    char& byte = files.at(name).at(place);
    byte = static_cast<char>(byte ^ (1 << bit));
    restore(files);
    const auto now = loaded();
    if (now) {
      EXPECT_EQ(*now, as_written) << "byte " << place;
    }
    if (now) restore(files);
    const auto verdict = embedded::verify(path_ + "/retsu.db");
    if (!now && verdict) {
      EXPECT_FALSE(verdict->problems.empty()) << "byte " << place << ": " << now.error().message;
    }
    return !now;
  }

  // What a start makes of undamaged files.
  [[nodiscard]] std::string as_written(const Files& files) const {
    restore(files);
    const auto dump = loaded();
    EXPECT_TRUE(dump.has_value());
    return dump.value_or("");
  }

  // How many of so many, in the first so many bytes, were told of.
  int flip_some(const Files& files, const std::string& name, std::size_t bytes, int times) {
    std::mt19937_64 random(7);
    const std::string whole = as_written(files);
    int told = 0;
    for (int i = 0; i < times; ++i) {
      // Half of them in what SQLite itself needs, at the beginning of a page.
      const std::size_t page = random() % (bytes / kPage) * kPage;
      const std::size_t place = page + random() % (i % 2 == 0 ? kPage : 128);
      told += flip(files, whole, name, place, random() % 8) ? 1 : 0;
    }
    return told;
  }

  Files closed_;
  Files killed_;

 private:
  // A bit of everything: tasks in all states, dependencies, a claim, keys, settings.
  static void fill(Broker& broker) {
    for (int i = 0; i < 120; ++i) {
      NewTask task;
      task.id = fmt::format("task-{}", i);
      task.user = fmt::format("user-{}", i % 7);
      task.payload = Json(fmt::format(R"({{"number":{},"text":"{}"}})", i, std::string(40, 'x')));
      if (i % 10 == 9) task.depends_on = {{fmt::format("task-{}", i - 1)}};
      if (i % 8 == 0) task.tags = {"blue", "green"};
      ASSERT_TRUE(call(broker, Push{.tasks = {std::move(task)}}));
    }
    auto claimed = call(broker, Claim{.max = 40});
    ASSERT_TRUE(claimed.has_value());
    Settle settle{.claim_id = claimed->claim_id};
    for (std::size_t i = 0; i < 30; ++i) {
      SettleOne one;
      one.id = claimed->tasks[i].id;
      one.outcome = i % 3 == 0 ? Outcome::kFail : Outcome::kFinish;
      if (i % 3 == 0) one.error = "no answer";
      if (i % 3 != 0) one.result = Json(R"({"done":true})");
      settle.results.push_back(std::move(one));
    }
    ASSERT_TRUE(call(broker, std::move(settle)));
    ASSERT_TRUE(call(broker, PutUser{.user = "user-1", .settings = {.weight = 3}}));
  }
  [[nodiscard]] Files files() const {
    Files all;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("retsu.db") && !name.starts_with("journal")) continue;
      if (name.ends_with("-shm")) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      all[name] = {std::istreambuf_iterator<char>(in), {}};
    }
    return all;
  }
  void restore(const Files& files) const {
    for (const char* name :
         {"/retsu.db", "/retsu.db-wal", "/retsu.db-shm", "/journal.1", "/journal.2"}) {
      std::filesystem::remove(path_ + name);
    }
    for (const auto& [name, bytes] : files) {
      std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
    }
  }
  // What a start makes of the file.
  [[nodiscard]] Result<std::string> loaded() const {
    auto store = embedded::Store::open(path_);
    if (!store) return tl::unexpected(store.error());
    Engine engine;
    if (auto done = (*store)->reopen(engine); !done) return tl::unexpected(done.error());
    return engine.dump();
  }

  TemporaryDirectory directory_;
  const std::string& path_ = directory_.path();
};

TEST_F(DamageTest, AFlippedBitIsToldOrDoesNoHarm) {
  EXPECT_GT(flip_some(closed_, "retsu.db", closed_.at("retsu.db").size(),
                      scaled(deep() ? 40'000 : 2'000)),
            0);
}

TEST_F(DamageTest, AFlippedBitOfTheJournalIsToldOrDoesNoHarm) {
  // But for the last group, which cannot be told from one that the power cut short.
  EXPECT_GT(flip_some(killed_, "journal.1", killed_.at("journal.1").rfind("RTSUGRP"),
                      scaled(deep() ? 10'000 : 1'000)),
            0);
}

TEST_F(DamageTest, AFlippedBitOfAHeaderIsToldOrDoesNoHarm) {
  const std::string closed = as_written(closed_);
  const std::string killed = as_written(killed_);
  for (std::size_t bit = 0; bit < static_cast<std::size_t>(scaled(800)); ++bit) {
    flip(closed_, closed, "retsu.db", bit / 8, bit % 8);
    if (bit % 8 == 2) flip(killed_, killed, "journal.1", bit / 8, bit % 8);
  }
}

}  // namespace
}  // namespace retsu
