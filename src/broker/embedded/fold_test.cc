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
    sort();
  }
  // Rows that were written or taken out.
  std::int64_t write_all() {
    const std::int64_t before = changes();
    do {
      sort();
      fold_.choose(SIZE_MAX);
      EXPECT_TRUE(fold_.write());
      fold_.commit();
    } while (fold_.left() > 0);
    return changes() - before;
  }
  void sort() {
    if (!fold_.needs_sort()) return;
    fold_.begin_sort();
    fold_.sort();
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

// The journal has it whole, so the tables can do without what it was before.
TEST_F(FoldTest, ALineThatChangesBeforeItsTurnIsWrittenOnce) {
  Engine engine;
  const auto line = engine.line("q", "u");
  const auto other = engine.line("q", "v");
  const auto places = [&] {
    return *database_.text("SELECT group_concat(user || place) FROM (SELECT * FROM lines)");
  };
  fold_.set(*line, {.place = 1}, true);
  fold_.set(*other, {.place = 2}, true);
  turn();
  fold_.set(*line, {.place = 3}, false);
  EXPECT_EQ(write_all(), 1);
  EXPECT_EQ(places(), "v2");
  turn();
  EXPECT_EQ(write_all(), 1);
  EXPECT_EQ(places(), "u3,v2");
}

TEST_F(FoldTest, ALineThatGoesBeforeItsTurnCostsNothing) {
  Engine engine;
  const auto line = engine.line("q", "u");
  fold_.set(*line, {.place = 1}, true);
  turn();
  fold_.set(*line, {}, false);
  EXPECT_EQ(fold_.left(), 0U);
  EXPECT_FALSE(fold_.has_young()) << "the table need not be told";
  fold_.set(*line, {.place = 2}, true);
  turn();
  EXPECT_EQ(write_all(), 1);
  fold_.set(*line, {}, false);
  turn();
  EXPECT_EQ(write_all(), 1);
  EXPECT_EQ(*database_.integer("SELECT count(*) FROM lines"), 0);
}

TEST_F(FoldTest, ALineThatComesBackBeforeItWasTakenOutIsTakenOutWhenItGoesAgain) {
  Engine engine;
  const auto line = engine.line("q", "u");
  fold_.set(*line, {.place = 1}, true);
  turn();
  EXPECT_EQ(write_all(), 1);
  fold_.set(*line, {}, false);
  turn();
  fold_.set(*line, {.place = 2}, true);
  fold_.set(*line, {}, false);
  EXPECT_EQ(write_all(), 0);
  turn();
  EXPECT_EQ(write_all(), 1);
  EXPECT_EQ(*database_.integer("SELECT count(*) FROM lines"), 0);
}

// Most change before that: then there is little to put in order.
TEST_F(FoldTest, LinesAreSortedWhenNothingElseIsLeft) {
  Engine engine;
  const auto line = engine.line("q", "u");
  const auto other = engine.line("q", "v");
  fold_.set(*line, {.place = 1}, true);
  fold_.set(*other, {.place = 2}, true);
  comes(1);
  turn();
  fold_.choose(SIZE_MAX);
  EXPECT_EQ(fold_.left(), 2U);
  EXPECT_TRUE(fold_.write());
  fold_.commit();
  EXPECT_EQ(rows(), 1);
  fold_.set(*line, {.place = 3}, false);
  EXPECT_TRUE(fold_.needs_sort());
  fold_.begin_sort();
  fold_.sort();
  fold_.set(*other, {.place = 4}, false);  // too late: it is written, and later again
  EXPECT_EQ(write_all(), 1);
  turn();
  EXPECT_EQ(write_all(), 2);
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
