#include "broker/embedded/folding.h"

#include <gtest/gtest.h>

#include "base/temporary_directory.h"
#include "broker/embedded/schema.h"
#include "broker/embedded/store_files.h"

namespace retsu::embedded {
namespace {

using engine::TombstoneRow;

constexpr std::size_t kGenerationBytes = 1'000'000;
constexpr std::int64_t kRows = 1'600;

// One generation of rows that waits for the tables, in order.
class FoldingTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(prepare_schema(folding_.database()));
    ASSERT_TRUE(folding_.prepare());
    for (engine::Sequence sequence = 1; sequence <= kRows; ++sequence) {
      const TombstoneRow row{sequence, Text("a"), State::kFinished, TimePoint()};
      folding_.rows().set<TombstoneRow>(key_of(row), row, true);
    }
    folding_.loaded(0, 1, 1);
    folding_.begin_slice(false);
    folding_.wait();
  }

  // Rows of the slice that is begun now; more than 0, if one was.
  std::int64_t slice() {
    const std::int64_t before = rows();
    folding_.begin_slice(false);
    const auto done = folding_.end_slice({}, true);
    EXPECT_TRUE(!done || done->has_value());
    return rows() - before;
  }
  std::int64_t rows() {
    return folding_.database().integer("SELECT count(*) FROM tombstones").value();
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/retsu.db";
  Reader reader_{path_, nullptr};
  Folding folding_{open_to_write(path_, nullptr, OldLog::kMayStay).value(), kGenerationBytes, 1'000,
                   reader_};
};

TEST_F(FoldingTest, WritesRowsAsTheJournalGrows) {
  EXPECT_EQ(slice(), 0);
  folding_.kept(kGenerationBytes / 100, 1);
  EXPECT_EQ(slice(), kRows / 80 + 1);  // a little sooner than it must
  EXPECT_EQ(slice(), 0);
  folding_.kept(kGenerationBytes / 100, 1);
  EXPECT_EQ(slice(), kRows / 80 + 1);
}

TEST_F(FoldingTest, WritesRowsInPartsIfMuchHasCome) {
  folding_.kept(kGenerationBytes / 2, 1);
  const std::int64_t part = kRows / 16 * 5 / 4 + 1;
  for (int i = 0; i < 8; ++i) EXPECT_EQ(slice(), part);
  EXPECT_EQ(slice(), 0);
}

TEST_F(FoldingTest, IsNeverFartherBehindThanAGeneration) {
  folding_.kept(kGenerationBytes + kGenerationBytes / 2, 1);
  EXPECT_EQ(slice(), kRows / 2 * 5 / 4 + 1);
}

}  // namespace
}  // namespace retsu::embedded
