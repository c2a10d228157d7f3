#include "api/tables.h"

#include <gtest/gtest.h>

#include "model/json.h"

namespace retsu_api {
namespace {

// Names of fields as they stand in JSON.
template <class T>
std::vector<std::string> fields() {
  std::vector<std::string> names;
  retsu::for_each_field<T>([&](const auto& field) {
    using Member = std::remove_cvref_t<decltype(std::declval<T>().*(field.member))>;
    if constexpr (retsu::HasFields<Member>) {
      if (field.name.empty()) {
        for (std::string& name : fields<Member>()) names.push_back(std::move(name));
        return;
      }
    }
    names.emplace_back(field.name);
  });
  return names;
}

// What the public struct says by itself, read by the library.
template <class Public, class Own>
Own default_as_read() {
  std::string text;
  retsu::append_json(text, Public());
  auto read = retsu::from_json<Own>(text);
  EXPECT_TRUE(read) << text << (read ? "" : read.error().message);
  return read ? *read : Own();
}

TEST(PublicStructs, HaveAllFieldsOfTheLibrarysOwn) {
  EXPECT_EQ(fields<Retry>(), fields<retsu::Retry>());
  EXPECT_EQ(fields<Rate>(), fields<retsu::Rate>());
  EXPECT_EQ(fields<Breaker>(), fields<retsu::Breaker>());
  EXPECT_EQ(fields<Retention>(), fields<retsu::Retention>());
  EXPECT_EQ(fields<QueuePolicy>(), fields<retsu::QueuePolicy>());
  EXPECT_EQ(fields<QueueInfo>(), fields<retsu::QueueInfo>());
  EXPECT_EQ(fields<PutQueueBody>(), fields<retsu::PutQueue>());
  EXPECT_EQ(fields<NewTask>(), fields<retsu::NewTask>());
  EXPECT_EQ(fields<Attempt>(), fields<retsu::Attempt>());
  EXPECT_EQ(fields<Task>(), fields<retsu::Task>());
  EXPECT_EQ(fields<Input>(), fields<retsu::Input>());
  EXPECT_EQ(fields<ClaimedTask>(), fields<retsu::ClaimedTask>());
  EXPECT_EQ(fields<Pushed>(), fields<retsu::Pushed>());
  EXPECT_EQ(fields<PushBody>(), fields<retsu::Push>());
  EXPECT_EQ(fields<PushAnswer>(), fields<retsu::PushReply>());
  EXPECT_EQ(fields<ClaimRequest>(), fields<retsu::Claim>());
  EXPECT_EQ(fields<Claim>(), fields<retsu::ClaimReply>());
  EXPECT_EQ(fields<Outcome>(), fields<retsu::SettleOne>());
  EXPECT_EQ(fields<SettleBody>(), fields<retsu::Settle>());
  EXPECT_EQ(fields<Settled>(), fields<retsu::Settled>());
  EXPECT_EQ(fields<SettleAnswer>(), fields<retsu::SettleReply>());
  EXPECT_EQ(fields<ExtendBody>(), fields<retsu::Extend>());
  EXPECT_EQ(fields<Extended>(), fields<retsu::ExtendReply>());
  EXPECT_EQ(fields<WhyCause>(), fields<retsu::WhyCause>());
  EXPECT_EQ(fields<Why>(), fields<retsu::WhyReply>());
  EXPECT_EQ(fields<Stats>(), fields<retsu::StatsReply>());
}

TEST(PublicStructs, HaveTheSameDefaults) {
  EXPECT_EQ((default_as_read<NewTask, retsu::NewTask>()), retsu::NewTask());
  EXPECT_EQ((default_as_read<QueuePolicy, retsu::QueuePolicy>()), retsu::QueuePolicy());
  const auto claim = default_as_read<ClaimRequest, retsu::Claim>();
  EXPECT_EQ(claim.queues, retsu::Claim().queues);
  EXPECT_EQ(claim.max, retsu::Claim().max);
  EXPECT_EQ(claim.lease_ms, retsu::Claim().lease_ms);
  EXPECT_EQ(claim.wait_ms, retsu::Claim().wait_ms);
}

TEST(PublicStructs, NameStatesAsTheContractDoes) {
  EXPECT_EQ(to_string(State::kScheduled), "SCHEDULED");
  EXPECT_EQ(to_string(State::kDeferred), "DEFERRED");
  EXPECT_EQ(to_string(State::kQueued), "QUEUED");
  EXPECT_EQ(to_string(State::kStarted), "STARTED");
  EXPECT_EQ(to_string(State::kFinished), "FINISHED");
  EXPECT_EQ(to_string(State::kFailed), "FAILED");
  EXPECT_EQ(to_string(State::kCanceled), "CANCELED");
}

TEST(PublicStructs, EnumsMeanWhatTheLibrarysMean) {
  EXPECT_EQ(retsu::name_of(When::kFinished), "finished");
  EXPECT_EQ(retsu::name_of(When::kSettled), "settled");
  EXPECT_EQ(retsu::name_of(OnDependencyFailure::kWait), "wait");
  EXPECT_EQ(retsu::name_of(OnDependencyFailure::kCancel), "cancel");
  EXPECT_EQ(retsu::name_of(OnDependencyFailure::kRun), "run");
  EXPECT_EQ(retsu::name_of(OnDependencyCancel::kDrop), "drop");
  EXPECT_EQ(retsu::name_of(OnDependencyCancel::kCancel), "cancel");
  EXPECT_EQ(retsu::name_of(Placement::kBack), "back");
  EXPECT_EQ(retsu::name_of(Placement::kFront), "front");
  EXPECT_EQ(retsu::name_of(RetryKind::kExponential), "exponential");
  EXPECT_EQ(retsu::name_of(RetryKind::kFixed), "fixed");
  EXPECT_EQ(retsu::name_of(OutcomeKind::kFinish), "finish");
  EXPECT_EQ(retsu::name_of(OutcomeKind::kFail), "fail");
  EXPECT_EQ(retsu::name_of(OutcomeKind::kThrottle), "throttle");
  EXPECT_EQ(retsu::name_of(OutcomeKind::kRelease), "release");
  EXPECT_EQ(retsu::name_of(OutcomeKind::kAwait), "await");
}

TEST(PublicStructs, ATaskThatSaysEverythingIsReadAsItWasMeant) {
  const NewTask task{.id = "t-1",
                     .queue = "mail",
                     .user = "ann",
                     .type = "send",
                     .priority = kCritical,
                     .payload = {{"to", "bob"}},
                     .run_at = TimePoint(Duration(1'000)),
                     .depends_on = {"a", {"b", When::kSettled}},
                     .on_dependency_failure = OnDependencyFailure::kRun,
                     .on_dependency_cancel = OnDependencyCancel::kCancel,
                     .allow_missing = true,
                     .unique_key = "k",
                     .placement = Placement::kFront,
                     .timeout = std::chrono::seconds(2),
                     .max_attempts = 5,
                     .retry = Retry{.kind = RetryKind::kFixed, .base = Duration(10)},
                     .expires_at = TimePoint(Duration(9'000)),
                     .tags = {"x"},
                     .trace = "00-1"};
  std::string text;
  retsu::append_json(text, task);
  const auto read = retsu::from_json<retsu::NewTask>(text);
  ASSERT_TRUE(read) << read.error().message;
  retsu::NewTask wanted;
  wanted.id = "t-1";
  wanted.queue = "mail";
  wanted.user = "ann";
  wanted.type = "send";
  wanted.priority = {retsu::kCritical};
  wanted.payload = R"({"to":"bob"})";
  wanted.run_at = retsu::TimePoint(retsu::Millis(1'000));
  wanted.depends_on = {{"a"}, {"b", retsu::When::kSettled}};
  wanted.on_dependency_failure = retsu::OnDependencyFailure::kRun;
  wanted.on_dependency_cancel = retsu::OnDependencyCancel::kCancel;
  wanted.allow_missing = true;
  wanted.unique_key = "k";
  wanted.placement = retsu::Placement::kFront;
  wanted.timeout_ms = 2'000;
  wanted.max_attempts = 5;
  wanted.retry = retsu::Retry{.kind = retsu::RetryKind::kFixed, .base_ms = 10};
  wanted.expires_at = retsu::TimePoint(retsu::Millis(9'000));
  wanted.tags = {"x"};
  wanted.trace = "00-1";
  EXPECT_EQ(*read, wanted);
}

}  // namespace
}  // namespace retsu_api
