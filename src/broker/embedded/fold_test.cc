#include "broker/embedded/fold.h"

#include <gtest/gtest.h>

#include "broker/embedded/schema.h"

namespace retsu::embedded {
namespace {

using engine::TombstoneRow;

class FoldTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(prepare_schema(database_));
    ASSERT_TRUE(fold_.prepare(database_));
  }

  void comes(engine::Sequence sequence) {
    const TombstoneRow row{sequence, Text("a"), State::kFinished, TimePoint()};
    fold_.set<TombstoneRow>(key_of(row), row, true);
  }
  void goes(engine::Sequence sequence) { fold_.set<TombstoneRow>({sequence}, std::nullopt, false); }
  void turn() {
    fold_.turn();
    fold_.sort();
  }
  // Rows that were written or taken out.
  std::int64_t write_all() {
    const std::int64_t before = changes();
    fold_.choose(SIZE_MAX);
    EXPECT_TRUE(fold_.write());
    fold_.commit();
    return changes() - before;
  }
  std::int64_t changes() { return database_.integer("SELECT total_changes()").value(); }
  std::int64_t rows() { return database_.integer("SELECT count(*) FROM tombstones").value(); }

  sqlite::Database database_ =
      sqlite::Database::open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).value();
  Fold fold_;
};

TEST_F(FoldTest, ARowThatComesAndGoesInOneGenerationCostsNothing) {
  comes(1);
  comes(2);
  goes(1);
  turn();
  EXPECT_EQ(write_all(), 1);
  EXPECT_EQ(rows(), 1);
}

TEST_F(FoldTest, ARowThatGoesBeforeItsTurnCostsNothing) {
  comes(1);
  turn();
  goes(1);
  EXPECT_EQ(write_all(), 0);
  EXPECT_FALSE(fold_.has_young()) << "the table need not be told";
}

TEST_F(FoldTest, ARowThatGoesAfterItWasWrittenIsTakenOut) {
  comes(1);
  turn();
  EXPECT_EQ(write_all(), 1);
  goes(1);
  turn();
  EXPECT_EQ(write_all(), 1);
  EXPECT_EQ(rows(), 0);
}

TEST_F(FoldTest, ARowThatGoesWhileItIsBeingWrittenIsTakenOutLater) {
  comes(1);
  turn();
  fold_.choose(SIZE_MAX);
  goes(1);
  EXPECT_TRUE(fold_.write());
  fold_.commit();
  EXPECT_EQ(rows(), 1);
  turn();
  EXPECT_EQ(write_all(), 1);
  EXPECT_EQ(rows(), 0);
}

TEST_F(FoldTest, ASliceIsBoundedByThePayloadsOfItsRows) {
  Engine engine;
  for (engine::Sequence sequence = 1; sequence <= 6; ++sequence) {
    engine::TaskRow row;
    row.sequence = sequence;
    row.id = Text(std::to_string(sequence));
    row.payload = Json(std::string(1'000, '1'));
    row.line = engine.line("q", "u");
    fold_.set<engine::TaskRow>(key_of(row), row, true);
  }
  turn();
  for (const std::size_t left : {3U, 0U}) {
    fold_.choose(SIZE_MAX, 2'500);
    EXPECT_EQ(fold_.left(), left);
    EXPECT_TRUE(fold_.write());
    fold_.commit();
  }
  EXPECT_EQ(*database_.integer("SELECT count(*) FROM tasks"), 6);
}

TEST_F(FoldTest, WhatWasNotCommittedIsWrittenAgain) {
  comes(1);
  comes(2);
  turn();
  fold_.choose(1);
  fold_.roll_back();
  EXPECT_EQ(fold_.left(), 2U);
  EXPECT_EQ(write_all(), 2);
}

}  // namespace
}  // namespace retsu::embedded
