#include "cli/run_program.h"

namespace retsu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class RepairTest : public CliTest {
 protected:
  void SetUp() override {
    done({"push", "--file", "-"},
         R"({"id":"a","max_attempts":1}
{"id":"b","max_attempts":1}
{"id":"c","queue":"mail"}
{"id":"d","queue":"mail"}
)");
    done({"claim", "--max", "2", "--claim-id", "c1"});
    done({"settle", "c1", "a", "--outcome", "fail", "--error", "timeout"});
    done({"settle", "c1", "b", "--outcome", "fail", "--error", "no route"});
  }
};

TEST_F(RepairTest, TasksAreCanceledById) {
  EXPECT_EQ(done({"cancel", "c"}), "c CANCELED\n");
  const Ran ran = retsu({"cancel", "nobody", "d", "c"});
  EXPECT_EQ(ran.out, "d CANCELED\n");
  EXPECT_EQ(ran.status, 3);  // of the first that was refused
  EXPECT_THAT(ran.err, HasSubstr("not_found"));
  EXPECT_THAT(ran.err, HasSubstr("invalid_transition"));
}

TEST_F(RepairTest, TasksAreCanceledByFilterOnlyIfTheirNumberIsKnown) {
  EXPECT_EQ(retsu({"cancel", "--queue", "mail"}).status, 2);
  EXPECT_EQ(done({"cancel", "--queue", "mail", "--dry-run"}), "2 match; to go on: --expect 2\n");
  EXPECT_EQ(retsu({"cancel", "--queue", "mail", "--expect", "3"}).status, 4);
  EXPECT_EQ(field("c", "state"), "QUEUED");
  EXPECT_EQ(done({"cancel", "--queue", "mail", "--expect", "2"}), "2 of 2 canceled\n");
  EXPECT_EQ(field("c", "state"), "CANCELED");
  EXPECT_EQ(done({"retry", "--queue", "mail", "--expect", "2", "--json"}),
            "{\"matched\":2,\"changed\":2}\n");
  EXPECT_EQ(field("c", "state"), "QUEUED");
}

TEST_F(RepairTest, BadInputOfEachKindChangesNothing) {
  const std::string before = done({"tasks", "--json"});
  const std::vector<std::vector<std::string>> kinds = {
      {"cancel"},
      {"cancel", "c", "--queue", "mail", "--expect", "1"},
      {"cancel", "--state", "QUEUD", "--dry-run"},
      {"cancel", "--queue", "mail", "--expect", "-1"},
      {"cancel", "--queue", "mail", "--expect", "many"},
      {"cancel", "--queue", "mail", "--expect", "2", "--dry-run"},
      {"retry"},
      {"front"},
      {"dead", "--group", "user"},
      {"dead", "redrive"},
      {"dead", "purge", "--q", "x"},
      {"dead", "--queue", "mail", "purge", "--expect", "2"},
      {"queue"},
      {"queue", "set", "mail"},
      {"queue", "set", "mail", "concurrency"},
      {"queue", "set", "mail", "concurrency=0"},
      {"queue", "set", "mail", "concurrency=4", "concurrency=5"},
      {"queue", "set", "mail", "retry={}", "retry.base_ms=5"},
      {"queue", "set", "mail", "speed=4"},
      {"queue", "set", "mail", "lease_ms=long"},
      {"pause"}};
  for (const auto& arguments : kinds) {
    const Ran ran = retsu(arguments);
    EXPECT_EQ(ran.status, 2) << testing::PrintToString(arguments) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("retsu: "));
  }
  EXPECT_EQ(done({"tasks", "--json"}), before);
  EXPECT_EQ(value_in(done({"queues", "mail", "--json"}), "concurrency"), "");
}

TEST_F(RepairTest, DeadLettersAreListedGroupedRedrivenAndPurged) {
  EXPECT_THAT(lines_of(done({"dead", "--json"})), SizeIs(2));
  EXPECT_THAT(done({"dead"}), HasSubstr("no route"));
  const auto groups = lines_of(done({"dead", "--group", "error", "--json"}));
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(value_in(groups[0], "count"), "1");
  EXPECT_THAT(done({"dead", "--group", "error"}), HasSubstr("timeout"));
  EXPECT_EQ(done({"dead", "redrive", "--q", "timeout", "--expect", "1"}), "1 of 1 queued again\n");
  EXPECT_EQ(field("a", "state"), "QUEUED");
  EXPECT_EQ(done({"dead", "purge", "--dry-run"}), "1 match; to go on: --expect 1\n");
  EXPECT_EQ(done({"dead", "purge", "--expect", "1"}), "1 of 1 removed\n");
  EXPECT_EQ(retsu({"show", "b"}).status, 3);
}

TEST_F(RepairTest, ATaskIsRetriedAndMovedToTheFront) {
  EXPECT_EQ(done({"retry", "a"}), "a QUEUED\n");
  EXPECT_EQ(retsu({"retry", "c"}).status, 4);
  EXPECT_EQ(done({"front", "d"}), "d QUEUED\n");
  EXPECT_EQ(value_in(done({"claim", "--queue", "mail", "--json"}), "id"), "d");
}

TEST_F(RepairTest, AQueueIsPacedAndPaused) {
  const std::string queue =
      done({"queue", "set", "mail", "concurrency=4", "lease_ms=5m", "retry.base_ms=500",
            "retry.kind=fixed", "rate.limit=10", "rate.per_ms=1s", "aging_ms=strict", "--json"});
  EXPECT_EQ(value_in(queue, "concurrency"), "4");
  EXPECT_EQ(value_in(queue, "lease_ms"), "300000");
  EXPECT_EQ(value_in(value_in(queue, "retry"), "base_ms"), "500");
  EXPECT_EQ(value_in(value_in(queue, "retry"), "kind"), "fixed");
  EXPECT_EQ(value_in(value_in(queue, "rate"), "per_ms"), "1000");
  EXPECT_EQ(value_in(queue, "aging_ms"), "strict");
  EXPECT_EQ(value_in(done({"queue", "set", "mail", "concurrency=null", "--json"}), "concurrency"),
            "");
  EXPECT_EQ(done({"pause", "mail", "default"}), "mail is paused\ndefault is paused\n");
  EXPECT_THAT(done({"claim", "--queue", "mail"}), HasSubstr("nothing"));
  EXPECT_THAT(done({"why", "c"}), HasSubstr("queue mail is paused"));
  EXPECT_EQ(done({"resume", "mail"}), "mail goes on\n");
}

}  // namespace
}  // namespace retsu
