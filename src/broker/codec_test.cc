#include "broker/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/random_values.h"

namespace retsu {
namespace {

using namespace random_values;  // NOLINT: a test
using testing::HasSubstr;

TEST(Codec, EveryCommandReadsBackAsItWas) {
  for (std::size_t row = 0; row < kOperations.size(); ++row) {
    const bool held = rc::check(std::string(kOperations[row].name), [row] {
      Command command = alternative<Command>(row);
      std::visit([](auto& op) { fill(op); }, command);
      const std::string text = to_json(command);
      const auto read = command_from_json(kOperations[row].name, text);
      if (!read) RC_FAIL(read.error().message + " in " + text);
      RC_ASSERT(to_json(*read) == text);
      RC_ASSERT(same_command(*read, command));
    });
    EXPECT_TRUE(held);
  }
}

TEST(Codec, EveryReplyReadsBackAsItWas) {
  for (std::size_t row = 0; row < kOperations.size(); ++row) {
    const bool held = rc::check(std::string(kOperations[row].name), [row] {
      Reply reply = std::visit(
          []<class Op>(const Op&) {
            typename Op::Reply answer;
            fill(answer);
            return Reply(answer);
          },
          alternative<Command>(row));
      const std::string text = to_json(reply);
      const auto read = reply_from_json(kOperations[row].name, text);
      if (!read) RC_FAIL(read.error().message + " in " + text);
      RC_ASSERT(*read == reply);
    });
    EXPECT_TRUE(held);
  }
}

TEST(Codec, ErrorsAndEventsReadBackAsTheyWere) {
  EXPECT_TRUE(rc::check("errors", [] {
    Error error;
    fill(error);
    const auto read = error_from_json(to_json(error));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == error);
  }));
  EXPECT_TRUE(rc::check("events", [] {
    TaskEvent event;
    fill(event);
    const auto read = event_from_json(to_json(event));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == event);
  }));
}

TEST(Codec, AcceptsOneTaskOrABatch) {
  const auto one = command_from_json("push", R"({"user":"ann","payload":{"a": 1}})");
  ASSERT_TRUE(one) << one.error().message;
  const auto batch = command_from_json("push", R"({"tasks":[{"user":"ann","payload":{"a":1}}]})");
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_TRUE(same_command(*one, *batch));
  const auto partial = command_from_json("push", R"({"partial":true,"tasks":[{},{}]})");
  ASSERT_TRUE(partial) << partial.error().message;
  EXPECT_EQ(std::get<Push>(*partial).tasks.size(), 2u);
  EXPECT_TRUE(std::get<Push>(*partial).partial);
  EXPECT_FALSE(command_from_json("push", R"({"user":"ann","tasks":[]})"));
  EXPECT_FALSE(command_from_json("push", R"({"tasks":[],"user":"ann"})"));
  EXPECT_FALSE(command_from_json("push", R"({"partial":true})"));
}

TEST(Codec, ReadsAllThatATaskMaySay) {
  const auto read = command_from_json("push", R"({
      "id": "t-1", "queue": "mail", "user": "ann", "type": "send", "priority": "critical",
      "payload": {"to": "bob", "n": 1.50}, "run_at": "2026-11-15T22:20:19.123Z",
      "depends_on": ["a", {"id": "b", "when": "settled"}, {"id": "c"}],
      "on_dependency_failure": "run", "on_dependency_cancel": "cancel", "allow_missing": true,
      "unique_key": "k", "placement": "front", "timeout_ms": 0, "max_attempts": 5,
      "retry": {"kind": "fixed", "base_ms": 10}, "expires_at": null, "tags": ["x"], "trace": "00-1"})");
  ASSERT_TRUE(read) << read.error().message;
  NewTask task;
  task.id = "t-1";
  task.queue = "mail";
  task.user = "ann";
  task.type = "send";
  task.priority = {kCritical};
  task.payload = R"({"to":"bob","n":1.50})";
  task.run_at = *parse_time("2026-11-15T22:20:19.123Z");
  task.depends_on = {{"a"}, {"b", When::kSettled}, {"c"}};
  task.on_dependency_failure = OnDependencyFailure::kRun;
  task.on_dependency_cancel = OnDependencyCancel::kCancel;
  task.allow_missing = true;
  task.unique_key = "k";
  task.placement = Placement::kFront;
  task.timeout_ms = 0;
  task.max_attempts = 5;
  task.retry = Retry{.kind = RetryKind::kFixed, .base_ms = 10};
  task.tags = {"x"};
  task.trace = "00-1";
  EXPECT_EQ(std::get<Push>(*read).tasks.front(), task);
}

TEST(Codec, WritesAsTheInterfaceSays) {
  Task task;
  task.id = "t";
  task.queue = "default";
  task.user = "ann";
  task.payload = "null";
  task.max_attempts = 3;
  task.depends_on = {{"a"}, {"b", When::kSettled}};
  EXPECT_EQ(
      to_json(Reply(task)),
      R"({"id":"t","state":"QUEUED","queue":"default","user":"ann","type":"","priority":3,)"
      R"("payload":null,"attempts":0,"max_attempts":3,"created_at":"1970-01-01T00:00:00.000Z",)"
      R"("depends_on":["a",{"id":"b","when":"settled"}],"on_dependency_failure":"wait",)"
      R"("on_dependency_cancel":"drop","placement":"back"})");
  EXPECT_EQ(to_json(Reply(PushReply{{{"t", State::kQueued, true, {}}}})),
            R"({"tasks":[{"id":"t","state":"QUEUED","created":true}]})");
  EXPECT_EQ(to_json(Reply(TaskPage{})), R"({"tasks":[],"next_cursor":null})");
  EXPECT_EQ(to_json(Command(Settle{"c", {}, Outcome::kFinish})),
            R"({"claim_id":"c","all":"finish"})");
  EXPECT_EQ(
      to_json(Error{ErrorCode::kOverloaded, "wait", "", Millis(1000)}),
      R"({"error":{"code":"overloaded","message":"wait","details":{},"retry_after_ms":1000}})");
  EXPECT_EQ(to_json(TaskEvent{.number = 5,
                              .id = "t",
                              .queue = "q",
                              .user = "u",
                              .from = {},
                              .to = State::kQueued,
                              .at = TimePoint{}}),
            R"({"number":5,"id":"t","queue":"q","user":"u","from":null,"to":"QUEUED",)"
            R"("at":"1970-01-01T00:00:00.000Z","attempt":0})");
}

TEST(Codec, AFailureThatMustNotBeRetriedStaysOne) {
  SettleOne failure;
  failure.id = "t";
  failure.outcome = Outcome::kFail;
  failure.retryable = false;
  const Settle settle{.claim_id = "c", .results = {failure}, .all = {}};
  const auto read = command_from_json("settle", to_json(Command(settle)));
  ASSERT_TRUE(read);
  EXPECT_FALSE(std::get<Settle>(*read).results[0].retryable);
}

TEST(Codec, AnswersOfANewerServerCanBeRead) {
  EXPECT_TRUE(reply_from_json("release_claim", R"({"released":1,"news":[{}]})"));
  EXPECT_FALSE(reply_from_json("release_claim", R"({"released":"1"})"));
  EXPECT_FALSE(error_from_json(R"({"error":{"code":"newer","message":""}})"));
}

TEST(Codec, AnUnknownOperationIsNotFound) {
  EXPECT_EQ(command_from_json("explode", "{}").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(reply_from_json("explode", "{}").error().code, ErrorCode::kNotFound);
}

TEST(Codec, TellsWhereABadValueStands) {
  const std::vector<std::array<std::string_view, 3>> table = {
      {"push", R"({"tasks":[{},{},{},{"retry":{"base_ms":"x"}}]})",
       R"(tasks[3].retry.base_ms: expected a whole number, got "x")"},
      {"push", R"({"priority":7})", "priority: expected 1 to 6, or a word such as \"high\", got 7"},
      {"push", R"({"priority":"urgent"})", "priority: expected one of \"very_low\", "},
      {"push", R"({"depends_on":[3]})",
       "depends_on[0]: expected an id, or {\"id\", \"when\"}, got 3"},
      {"push", R"({"depends_on":[{"when":"settled"}]})", "depends_on[0].id: missing"},
      {"push", R"({"usr":"x"})", "usr: unknown field; did you mean \"user\"?"},
      {"push", R"({"state":"QUEUED"})", "state: unknown field"},
      {"put_queue", R"({"queue":"q","aging_ms":"slow"})",
       "aging_ms: expected \"strict\", got \"slow\""},
      {"settle", R"({"claim_id":"c","results":[{"id":"t","outcome":"done"}]})",
       "results[0].outcome: expected one of \"finish\""},
      {"extend", R"({"claim_id":"c","progress":{"a":1,"a":2}})", "progress.a: given twice"},
  };
  for (const auto& [operation, body, message] : table) {
    const auto read = command_from_json(operation, body);
    ASSERT_FALSE(read) << body;
    EXPECT_THAT(read.error().message, HasSubstr(message));
  }
}

// For every operation, with the smallest body that it takes.
class EveryOperation : public testing::TestWithParam<std::size_t> {
 protected:
  const Operation& operation_ = kOperations[GetParam()];
  const std::string body_ = to_json(alternative<Command>(GetParam()));

  void refuses(const std::string& body, ErrorCode code, std::string_view hint) const {
    const auto read = command_from_json(operation_.name, body);
    ASSERT_FALSE(read) << body;
    EXPECT_EQ(read.error().code, code) << body;
    EXPECT_THAT(read.error().message, HasSubstr(hint)) << body;
    EXPECT_TRUE(is_utf8(read.error().message));
  }
  // The body with one more member at its end.
  [[nodiscard]] std::string with(const std::string& member) const {
    return body_.substr(0, body_.size() - 1) + (body_ == "{}" ? "" : ",") + member + "}";
  }
};
INSTANTIATE_TEST_SUITE_P(Codec, EveryOperation, testing::Range(std::size_t{0}, kOperations.size()),
                         [](const auto& row) { return std::string(kOperations[row.param].name); });

TEST_P(EveryOperation, AcceptsItsSmallestBody) {
  EXPECT_TRUE(command_from_json(operation_.name, body_)) << body_;
}

TEST_P(EveryOperation, RefusesUnknownFieldsByName) {
  refuses(with(R"("no_such_field":1)"), ErrorCode::kUnknownField, "no_such_field: unknown field");
}

TEST_P(EveryOperation, RefusesWhatIsNotAnObject) {
  for (const std::string body : {"[]", "3", "\"x\"", "null", "true"})
    refuses(body, ErrorCode::kInvalid, "expected an object");
}

TEST_P(EveryOperation, RefusesFieldsOfTheWrongTypeAndFieldsGivenTwice) {
  std::visit(
      [&]<class Op>(const Op&) {
        for (const auto& row : json_detail::table_of<Op>().rows) {
          const std::string member = row.literal.substr(1) + "0.5";
          if (!row.type->takes_null)
            refuses("{" + member + "}", ErrorCode::kInvalid, std::string(row.name) + ": expected");
        }
        if (body_ != "{}") {
          const std::string members = body_.substr(1, body_.size() - 2);
          refuses("{" + members + "," + members + "}", ErrorCode::kInvalid, "given twice");
        }
      },
      alternative<Command>(GetParam()));
}

TEST_P(EveryOperation, RefusesTextThatIsCutOffAnywhere) {
  for (std::size_t size = 0; size < body_.size(); ++size)
    refuses(body_.substr(0, size), ErrorCode::kInvalid, "not valid JSON");
}

TEST_P(EveryOperation, RefusesWhatIsNotCleanJson) {
  const std::string deep(100'000, '[');
  for (const std::string& body :
       {body_ + "x", body_ + "{}", body_ + ",", with("\"x\":\"\xff\""), with("\"\xff\":1"),
        with("\"x\":\"\\ud800\""), with("\"x\":" + deep), with("\"x\":" + std::string(400, '9')),
        with("\"x\":18446744073709551616"), with("\"x\":1e400"), with("\"x\":01"), with("x:1"),
        with("\"x\":NaN"), with("\"x\":'a'"), with("/* */\"x\":1"), with("\"x\":1,")})
    refuses(body, ErrorCode::kInvalid, "not valid JSON");
}

}  // namespace
}  // namespace retsu
