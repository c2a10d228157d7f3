#include "broker/http_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/url.h"
#include "broker/codec.h"
#include "broker/random_values.h"

namespace retsu {
namespace {

using namespace random_values;  // NOLINT: a test
using testing::HasSubstr;

const Operation& row(std::string_view name) {
  return *std::ranges::find(kOperations, name, &Operation::name);
}

// As a server would: the row is known, the target is taken apart.
Result<Command> read(const Operation& operation, std::string_view target, std::string_view body) {
  const auto question = std::min(target.find('?'), target.size());
  std::string_view path = target.substr(0, question);
  PathFields fields;
  std::string_view pattern = operation.path;
  while (!pattern.empty()) {
    const auto cut = [](std::string_view& text) {
      text.remove_prefix(1);
      const std::string_view segment = text.substr(0, text.find('/'));
      text.remove_prefix(segment.size());
      return segment;
    };
    const std::string_view name = cut(pattern);
    const std::string_view value = cut(path);
    if (name[0] != '{') continue;
    fields.emplace_back(name.substr(1, name.size() - 2), *percent_decoded(value, UrlPart::kPath));
  }
  return command_from_http(operation, fields,
                           question == target.size() ? "" : target.substr(question + 1), body);
}

TEST(HttpForm, EveryCommandReadsBackAsItWas) {
  for (const Operation& operation : kOperations) {
    const auto index = static_cast<std::size_t>(&operation - kOperations.data());
    const bool held = rc::check(std::string(operation.name), [&] {
      Command command = alternative<Command>(index);
      std::visit([](auto& op) { fill(op); }, command);
      if (auto* patch = std::get_if<PatchQueue>(&command))
        patch->patch = Json(R"({"paused":true})");
      const HttpForm form = to_http(command);
      const auto again = read(operation, form.target, form.body);
      if (!again) RC_FAIL(again.error().message + " in " + form.target + " " + form.body);
      RC_ASSERT(same_command(*again, command));
    });
    EXPECT_TRUE(held);
  }
}

TEST(HttpForm, ReadsParametersOfTheQuery) {
  const auto list = read(row("list_tasks"),
                         "/v1/tasks?state=FAILED&q=a+b&limit=5&since=2030-01-01T00:00:00.000Z", "");
  ASSERT_TRUE(list) << list.error().message;
  const auto& asked = std::get<ListTasks>(*list);
  EXPECT_EQ(asked.filter.state, State::kFailed);
  EXPECT_EQ(asked.filter.q, "a b");
  EXPECT_EQ(asked.limit, 5);
  const auto released = read(row("release_older"), "/v1/claims/release?older_than_ms=60000", "");
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_EQ(std::get<ReleaseOlder>(*released).older_than_ms, 60'000);
  const auto user = read(row("put_user"), "/v1/users/ann?queue=mail", R"( {"weight":3} )");
  ASSERT_TRUE(user) << user.error().message;
  EXPECT_EQ(std::get<PutUser>(*user).queue, "mail");
  EXPECT_EQ(std::get<PutUser>(*user).settings.weight, 3);
}

TEST(HttpForm, APartialPushOfOneTask) {
  const auto push = read(row("push"), "/v1/tasks?partial=true", R"({"id":"a"})");
  ASSERT_TRUE(push) << push.error().message;
  EXPECT_TRUE(std::get<Push>(*push).partial);
  EXPECT_EQ(std::get<Push>(*push).tasks.at(0).id, "a");
}

struct BadForm {
  std::string_view operation;
  std::string target;
  std::string body;
  ErrorCode code;
  std::string says;
};

TEST(HttpForm, SaysWhatIsWrong) {
  using enum ErrorCode;
  const BadForm forms[] = {
      {"list_tasks", "/v1/tasks?stat=FAILED", "", kUnknownField,
       "stat: GET /v1/tasks has no such parameter"},
      {"list_tasks", "/v1/tasks?limit=ten", "", kInvalid, "limit: must be a whole number"},
      {"list_tasks", "/v1/tasks?limit=", "", kInvalid, "limit: must be a whole number"},
      {"list_tasks", "/v1/tasks?limit=007", "", kInvalid, "limit: must be a whole number"},
      {"list_tasks", "/v1/tasks?limit=99999999999999999999", "", kInvalid, "limit"},
      {"list_tasks", "/v1/tasks?state=BUSY", "", kInvalid, "state"},
      {"list_tasks", "/v1/tasks?limit=1&limit=2", "", kInvalid, "limit: given twice"},
      {"list_tasks", "/v1/tasks?queue=a&queue=b", "", kInvalid, "queue: given twice"},
      {"list_tasks", "/v1/tasks?filter=x", "", kUnknownField, "filter"},
      {"list_tasks", "/v1/tasks?q=%ff", "", kInvalid, "q: is not valid UTF-8"},
      {"list_tasks", "/v1/tasks?q=%f", "", kInvalid, "% without two digits"},
      {"list_tasks", "/v1/tasks", "{}", kInvalid, "takes no body"},
      {"push", "/v1/tasks?partial=yes", R"({"id":"a"})", kInvalid,
       "partial: must be true or false"},
      {"push", "/v1/tasks?tasks=1", R"({"id":"a"})", kUnknownField, "tasks"},
      {"push", "/v1/tasks", "", kInvalid, ""},
      {"settle", "/v1/claims/c/settle", R"({"claim_id":"d","all":"finish"})", kInvalid,
       "claim_id: given twice"},
      {"settle", "/v1/claims/c/settle", R"([])", kInvalid, "an object"},
      {"settle", "/v1/claims/c/settle", R"({"all":"finish"}})", kInvalid, ""},
      {"settle", "/v1/claims/c/settle", R"({}, "x":{})", kInvalid, ""},
      {"patch_queue", "/v1/queues/q", R"({"a":1},"queue":"r")", kInvalid, ""},
      {"patch_queue", "/v1/queues/q", "", kInvalid, ""},
  };
  for (const BadForm& form : forms) {
    const auto command = read(row(form.operation), form.target, form.body);
    ASSERT_FALSE(command) << form.target << ' ' << form.body;
    EXPECT_EQ(command.error().code, form.code) << form.target << ": " << command.error().message;
    EXPECT_THAT(command.error().message, HasSubstr(form.says)) << form.target;
  }
}

}  // namespace
}  // namespace retsu
