#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/temporary_directory.h"
#include "broker/embedded/embedded_broker.h"
#include "broker/embedded/store.h"
#include "broker/embedded/verify.h"
#include "deep.h"

// Bits that a disk gives back other than it got them.
namespace retsu {
namespace {

constexpr std::size_t kPage = 8'192;

class DamageTest : public testing::Test {
 protected:
  // A bit of everything: tasks in all states, dependencies, a claim, keys, settings.
  void fill() {
    auto broker = EmbeddedBroker::open(path_);
    ASSERT_TRUE(broker.has_value());
    for (int i = 0; i < 120; ++i) {
      NewTask task;
      task.id = fmt::format("task-{}", i);
      task.user = fmt::format("user-{}", i % 7);
      task.payload = Json(fmt::format(R"({{"number":{},"text":"{}"}})", i, std::string(40, 'x')));
      if (i % 10 == 9) task.depends_on = {{fmt::format("task-{}", i - 1)}};
      if (i % 8 == 0) task.tags = {"blue", "green"};
      ASSERT_TRUE(call(**broker, Push{.tasks = {std::move(task)}}));
    }
    auto claimed = call(**broker, Claim{.max = 40});
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
    ASSERT_TRUE(call(**broker, std::move(settle)));
    ASSERT_TRUE(call(**broker, PutUser{.user = "user-1", .settings = {.weight = 3}}));
  }
  [[nodiscard]] std::string file() const { return path_ + "/retsu.db"; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const {
    for (const char* beside : {"-wal", "-shm"}) std::filesystem::remove(file() + beside);
    std::ofstream(file(), std::ios::binary) << bytes;
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
  fill();
  const std::string whole = bytes();
  const auto as_written = loaded();
  ASSERT_TRUE(as_written.has_value());
  std::mt19937_64 random(7);
  int told = 0;
  for (int i = 0; i < scaled(deep() ? 40'000 : 2'000); ++i) {
    std::string damaged = whole;
    // Half of them in what SQLite itself needs, at the beginning of a page.
    const std::size_t page = random() % (damaged.size() / kPage) * kPage;
    const std::size_t place = page + random() % (i % 2 == 0 ? kPage : 128);
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << random() % 8));
    write(damaged);
    const auto now = loaded();
    told += now ? 0 : 1;
    if (now) {
      EXPECT_EQ(*now, *as_written) << "byte " << place << " of " << whole.size();
    }
    const auto verdict = embedded::verify(file());
    if (!now && verdict) {
      EXPECT_FALSE(verdict->problems.empty()) << "byte " << place;
    }
  }
  EXPECT_GT(told, 0);
}

}  // namespace
}  // namespace retsu
