#include "ingest/prepare.h"

#include <gtest/gtest.h>

namespace retsu {
namespace {

class Numbered final : public IdSource {
 public:
  std::string next(TimePoint) override { return "id-" + std::to_string(++count_); }

 private:
  int count_ = 0;
};

template <class Op>
Op prepared(Op op) {
  Numbered ids;
  return std::get<Op>(prepare(std::move(op), TimePoint{}, ids));
}

TEST(Preparing, NamesTasksThatHaveNoIdAndMarksThem) {
  Push push{std::vector<NewTask>(3)};
  push.tasks[1].id = "mine";
  push = prepared(push);
  EXPECT_EQ(push.tasks[0].id, "id-1");
  EXPECT_TRUE(push.tasks[0].id_generated);
  EXPECT_EQ(push.tasks[1].id, "mine");
  EXPECT_FALSE(push.tasks[1].id_generated);
  EXPECT_EQ(push.tasks[2].id, "id-2");
}

TEST(Preparing, NamesTheChildrenOfAnAwait) {
  Settle settle{.claim_id = "c", .results = std::vector<SettleOne>(2), .all = {}};
  settle.results[1].children.resize(2);
  settle.results[1].children[0].id = "mine";
  settle = prepared(settle);
  EXPECT_EQ(settle.results[1].children[0].id, "mine");
  EXPECT_FALSE(settle.results[1].children[0].id_generated);
  EXPECT_EQ(settle.results[1].children[1].id, "id-1");
  EXPECT_TRUE(settle.results[1].children[1].id_generated);
}

TEST(Preparing, NamesClaimsAndTheTasksOfSchedules) {
  EXPECT_EQ(prepared(Claim{}).claim_id, "id-1");
  EXPECT_EQ(prepared(RunSchedule{"nightly", ""}).id, "id-1");
  EXPECT_EQ(prepared(RunSchedule{"nightly", "mine"}).id, "mine");
}

TEST(Preparing, LeavesTheRestAlone) {
  EXPECT_EQ(prepared(GetTask{}).id, "");
  EXPECT_EQ(prepared(ReleaseClaim{}).claim_id, "");
}

}  // namespace
}  // namespace retsu
