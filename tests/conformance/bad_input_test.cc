// Whatever is wrong is refused with the code for it and a message, and nothing changes.

#include "conformance/bad_input.h"

#include <set>

namespace retsu::conformance {
namespace {

BadInputs all_rows() {
  BadInputs all;
  for (const auto& part : {bad_task_operations(), bad_claim_operations(), bad_queue_operations()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

class BadInputIsRefused : public Conformance {
 protected:
  void SetUp() override {
    begin(kSmallLimits);
    for (const State state : {kQueued, kScheduled, kDeferred, kFinished, kFailed, kCanceled}) {
      std::string id(name_of(state));
      for (char& c : id) c = static_cast<char>(c - 'A' + 'a');
      make(state, id);
    }
    push("of-started", {.id = "started"});
    start("started", {.claim_id = "held"});
    push("of-parent", {.id = "parent"});
    await(start("parent"), "parent", {{.id = "child", .queue = "of-child"}});
    start("child", {.claim_id = "child-claim"});
    make(kFinished, "needed");
    push("of-needed", {.id = "needs", .depends_on = {{"needed"}, {"queued"}}});
    make(kFailed, "dead", {.unique_key = "k"});
    push("of-dead", {.id = "holder", .unique_key = "k"});
    must(PutSchedule{.name = "hourly", .schedule = {.cron = "@hourly"}});
  }

  Result<Reply> ask_anything(Command command) {
    auto promise = std::make_shared<std::promise<Result<Reply>>>();
    broker().submit(std::move(command), {},
                    [promise](Result<Reply> reply) { promise->set_value(std::move(reply)); });
    std::future<Result<Reply>> answer = promise->get_future();
    return soon(answer);
  }

  // Some operations succeed as a whole and refuse a part.
  static testing::AssertionResult is_refused_or_its_part(const Result<Reply>& reply,
                                                         ErrorCode code) {
    if (reply) {
      const auto* settled = std::get_if<SettleReply>(&*reply);
      if (settled && !settled->results.empty()) return is_refused(settled->results.front(), code);
    }
    return is_refused(reply, code);
  }

  void refuse_all(const BadInputs& rows) {
    const Snapshot before = everything();
    for (const BadInput& row : rows) {
      SCOPED_TRACE(std::string(operation_of(row.command).name) + " " + row.field + ": " +
                   testing::PrintToString(row.what));
      EXPECT_TRUE(is_refused_or_its_part(ask_anything(row.command), row.code));
      if (!operation_of(row.command).changes) continue;
      const testing::AssertionResult same = is_same(before, everything());
      ASSERT_TRUE(same);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Conformance, BadInputIsRefused, testing::ValuesIn(subject_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(BadInputIsRefused, ByTheOperationsOnTasks) { refuse_all(bad_task_operations()); }
TEST_P(BadInputIsRefused, ByTheOperationsOfWorkers) { refuse_all(bad_claim_operations()); }
TEST_P(BadInputIsRefused, ByTheOperationsOnQueues) { refuse_all(bad_queue_operations()); }

// ------------------------------------------------------------------- the table itself has no holes

template <class T>
struct Content {  // of a list, a map or an optional
  using Type = void;
};
template <class T>
struct Content<std::optional<T>> {
  using Type = T;
};
template <class T>
struct Content<std::vector<T>> {
  using Type = T;
};

template <class T>
constexpr bool kCannotBeWrong = std::is_same_v<T, bool> || HasNames<T>;

template <HasFields T>
void collect_fields(const std::string& at, std::set<std::string>& fields);

template <class T>
void collect(const std::string& path, std::set<std::string>& fields) {
  using Inner = typename Content<T>::Type;
  if constexpr (kCannotBeWrong<T>) {
    return;
  } else if constexpr (HasFields<T>) {
    collect_fields<T>(path.empty() ? "" : path + ".", fields);
  } else if constexpr (std::is_void_v<Inner>) {
    fields.insert(path);
  } else if constexpr (HasFields<Inner>) {
    collect_fields<Inner>(path + ".", fields);
  } else if constexpr (!kCannotBeWrong<Inner>) {
    fields.insert(path);
  }
}

template <HasFields T>
void collect_fields(const std::string& at, std::set<std::string>& fields) {
  for_each_field<T>([&]<class Struct, class Member>(const Field<Struct, Member>& field) {
    collect<Member>(field.name.empty() ? "" : at + std::string(field.name), fields);
  });
}

template <std::size_t... kIndexes>
std::vector<std::set<std::string>> fields_of_all(std::index_sequence<kIndexes...>) {
  std::vector<std::set<std::string>> all(sizeof...(kIndexes));
  (collect_fields<std::variant_alternative_t<kIndexes, AnyCommand>>("", all[kIndexes]), ...);
  return all;
}

TEST(BadInputTable, HasARowForEveryFieldOfEveryOperation) {
  const auto fields = fields_of_all(std::make_index_sequence<std::variant_size_v<AnyCommand>>{});
  auto missing = fields;
  std::vector<bool> reached(kOperations.size(), false);
  for (const BadInput& row : all_rows()) {
    missing.at(row.command.index()).erase(row.field);
    reached.at(row.command.index()) = true;
  }
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    for (const std::string& field : missing[i]) {
      ADD_FAILURE() << kOperations[i].name << " has no bad input for " << field;
    }
    const bool takes_nothing = fields[i].empty();
    EXPECT_TRUE(reached[i] || takes_nothing) << kOperations[i].name << " has no row";
  }
}

}  // namespace
}  // namespace retsu::conformance
