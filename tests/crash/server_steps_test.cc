// A server that is killed at each of its calls on the store's files, while it takes a request with
// an idempotency key: the same request again finds all of it or none of it, never twice.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/temporary_directory.h"
#include "broker/codec.h"
#include "broker/remote/remote_broker.h"
#include "crash/server_process.h"
#include "deep.h"
#include "seed.h"
#include "server/raw_client.h"
#include "traced_child.h"

namespace retsu {
namespace {

using namespace std::chrono_literals;

constexpr int kOrdinarySteps = 150;
constexpr auto kQuiet = 500ms;  // more than it lets what it keeps lie before it tidies up

struct Request {
  const char* name;
  const char* type;
  const char* body;
  std::size_t tasks;
};
void PrintTo(const Request& request, std::ostream* out) { *out << request.name; }

constexpr Request kRequests[] = {
    {"OneTask", "application/json", R"({"queue":"mail","payload":1})", 1},
    {"ThreeTasks", "application/json",
     R"({"tasks":[{"user":"ann"},{"user":"bob","payload":[2]},{"queue":"mail"}]})", 3},
    {"FiveLines", "application/x-ndjson",
     "{\"payload\":1}\n{\"payload\":2}\n{\"user\":\"ann\"}\n{\"queue\":\"mail\"}\n{}\n", 5},
};

std::string on_the_wire(const Request& request) {
  const std::string_view body = request.body;
  return fmt::format(
      "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: the-key\r\n"
      "Content-Type: {}\r\nContent-Length: {}\r\n\r\n{}",
      request.type, body.size(), body);
}

struct Said {
  std::string status;
  std::string body;

  bool operator==(const Said&) const = default;
};
void PrintTo(const Said& said, std::ostream* out) { *out << said.status << ": " << said.body; }

// Nothing: the answer is not whole.
std::optional<Said> said(const std::string& answer) {
  const auto head = answer.find("\r\n\r\n");
  const auto length = answer.find("Content-Length: ");
  if (head == std::string::npos || length > head) return std::nullopt;
  if (answer.size() != head + 4 + std::stoul(answer.substr(length + 16))) return std::nullopt;
  return Said{answer.substr(0, answer.find("\r\n")), answer.substr(head + 4)};
}

std::set<std::string> ids_in(const std::string& answer) {
  std::set<std::string> ids;
  const auto reply = reply_from_json("push", answer);
  EXPECT_TRUE(reply) << answer;
  if (!reply) return ids;
  for (const Pushed& each : std::get<PushReply>(*reply).tasks) ids.insert(each.id);
  return ids;
}

class ServerSteps : public testing::TestWithParam<std::tuple<Request, bool>> {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_tracing(); !why.empty()) GTEST_SKIP() << why;
  }

  struct Crash {
    Trace trace;
    std::optional<Said> said;
  };

  // Asks a new server on this store, which meets the mishap; ends when it is dead, or has nothing
  // more to do.
  static Crash crash(const std::string& store, const Request& request, Mishap mishap) {
    TracedProgram server(serve_command(store, "127.0.0.1:0"), store);
    Crash crash;
    RawClient client(port_in(served_at(store)));
    EXPECT_TRUE(said(client.ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")));
    server.begin(mishap);
    crash.said = said(client.ask(on_the_wire(request)));
    for (int calls = -1; calls != server.calls() && !server.ends_within(0ms);) {
      calls = server.calls();
      (void)server.ends_within(kQuiet);
    }
    crash.trace = server.end();
    return crash;
  }

  // Three times the same again. Whether it had been done before.
  static bool repeat(const std::string& store, const Request& request,
                     const std::optional<Said>& before) {
    const ServerProcess server(store);
    RemoteBroker broker({.url = server.url()});
    const std::int64_t found = pushed(broker);
    const auto all = static_cast<std::int64_t>(request.tasks);
    EXPECT_TRUE(found == all || (found == 0 && !before)) << found << " tasks are there";
    RawClient client(server.port());
    std::optional<Said> first = before;
    for (int i = 0; i < 3; ++i) {
      const auto again = said(client.ask(on_the_wire(request)));
      if (!first) first = again;
      EXPECT_EQ(again, first);
    }
    if (!first) return false;
    EXPECT_EQ(first->status, "HTTP/1.1 201 Created");
    EXPECT_EQ(pushed(broker), all);
    expect_stored(broker, ids_in(first->body), request.tasks);
    return found > 0;
  }

  static std::int64_t pushed(Broker& broker) {
    const auto stats = call(broker, Stats{});
    if (!stats) {
      ADD_FAILURE() << stats.error().message;
      return -1;
    }
    const auto counter = stats->counters.find("pushed");  // an empty store has none
    return counter == stats->counters.end() ? 0 : counter->second;
  }

  static void expect_stored(Broker& broker, const std::set<std::string>& ids, std::size_t tasks) {
    const auto listed = call(broker, ListTasks{});
    ASSERT_TRUE(listed) << listed.error().message;
    std::set<std::string> stored;
    for (const Task& each : listed->tasks) stored.insert(each.id);
    EXPECT_EQ(stored, ids);
    EXPECT_EQ(listed->tasks.size(), tasks);
  }
};

TEST_P(ServerSteps, NoCrashBetweenDoingAndRecordingDoublesATask) {
  const auto& [request, after] = GetParam();
  const TemporaryDirectory undisturbed;
  const Trace trace = crash(undisturbed.path(), request, {}).trace;
  const int steps = static_cast<int>(trace.calls.size());
  // Each call up to the one that keeps the tasks, and the next; of those after it, some.
  const int each = trace.find("fdatasync", "journal.1") + 1;
  ASSERT_GT(each, 1) << trace.text();
  const int stride = deep() ? 1 : std::max(1 + steps / kOrdinarySteps, kSanitized ? 5 : 1);
  const int chosen = static_cast<int>(seed_of_this_run() % static_cast<std::uint64_t>(stride));
  int unanswered = 0;
  int done = 0;  // of those
  int met = 0;
  int tried = 0;
  for (int n = 1; n <= steps; ++n) {
    if (n > each && n % stride != chosen) continue;
    const TemporaryDirectory store;
    const Crash crashed =
        crash(store.path(), request, after ? Mishap::kill_after(n) : Mishap::kill_at(n));
    const bool was_done = repeat(store.path(), request, crashed.said);
    if (HasFailure()) FAIL() << "step " << n << ":\n" << crashed.trace.text();
    ++tried;
    met += crashed.trace.reached ? 1 : 0;
    unanswered += crashed.said ? 0 : 1;
    done += was_done && !crashed.said ? 1 : 0;
  }
  // Background work may take some steps together that it took apart before.
  EXPECT_GE(met * 10, tried * 8);
  EXPECT_GT(done, 0) << "no crash came between doing and answering";
  // The first call of a commit writes all of it, so after that it is done.
  EXPECT_GT(unanswered + (after ? 1 : 0), done) << "no crash came before doing";
}

INSTANTIATE_TEST_SUITE_P(All, ServerSteps,
                         testing::Combine(testing::ValuesIn(kRequests), testing::Bool()),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param).name) +
                                  (std::get<1>(each.param) ? "KilledAfter" : "KilledBefore");
                         });

}  // namespace
}  // namespace retsu
