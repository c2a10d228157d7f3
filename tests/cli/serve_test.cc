// The server as a program: started, used, stopped and killed as people do it.

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/file_limit.h"
#include "broker/embedded/embedded_broker.h"
#include "cli/serve_program.h"
#include "server/raw_client.h"

namespace retsu {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using namespace std::chrono_literals;

TEST_F(ServeTest, WhatItSuggestsWorksAsItIsPrinted) {
  const Ran ran =
      shell("cd " + path("") +
            " && unset RETSU_URL; retsu serve --listen 127.0.0.1:0 > log 2>&1 & server=$!\n"
            "until grep -q curl " +
            path("log") +
            "; do sleep 0.05; done\n"
            "grep '^  ' " +
            path("log") + " > " + path("try") + "; bash -e " + path("try") +
            " || echo BROKEN\nkill $server; wait $server; echo ended $?");
  EXPECT_THAT(lines_of(read("try")), SizeIs(3));
  EXPECT_THAT(ran.out, AllOf(HasSubstr(R"({"to":"bob"})"), HasSubstr(R"("QUEUED":1)"),
                             HasSubstr("ended 0"), testing::Not(HasSubstr("BROKEN"))))
      << ran.err;
}

TEST_F(ServeTest, EveryCommandWorksThroughIt) {
  serve();
  done({"push", "--id", "a", "--queue", "mail", "--user", "ann", "1"});
  done({"push", "--id", "b", "--after", "a"});
  EXPECT_THAT(done({"tasks"}), HasSubstr("mail"));
  EXPECT_THAT(done({"show", "a"}), HasSubstr("ann"));
  EXPECT_THAT(done({"why", "b"}), HasSubstr("a"));
  EXPECT_THAT(done({"graph", "a"}), HasSubstr("b"));
  EXPECT_THAT(done({"queues"}), HasSubstr("mail"));
  EXPECT_THAT(done({"users"}), HasSubstr("ann"));
  EXPECT_THAT(done({"claim", "--queue", "mail", "--claim-id", "c"}), HasSubstr("ann"));
  EXPECT_THAT(done({"claims"}), HasSubstr("c"));
  done({"settle", "c", "--all", "--outcome", "finish"});
  done({"cancel", "b"});
  done({"retry", "b"});
  done({"queue", "set", "mail", "concurrency=2"});
  done({"pause", "mail"});
  EXPECT_EQ(retsu({"show", "nobody"}).status, 3);
  EXPECT_EQ(retsu({"verify"}).status, 2);
}

TEST_F(ServeTest, ItsStoreIsReachedThroughIt) {
  serve();
  const Ran ran = retsu({"push", "--at", path("q"), "1"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("is held by the server at " + url_));
  EXPECT_EQ(retsu({"backup", path("copy"), "--at", path("q")}).status, 0);
}

TEST_F(ServeTest, StopsWithinFiveSecondsThoughSomebodyWaits) {
  serve();
  const pid_t waits = start({"claim", "--wait", "60s"});
  std::this_thread::sleep_for(300ms);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(stop(SIGTERM), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
  int status = 0;
  ::waitpid(waits, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_FALSE(std::ifstream(path("q/server")).good());
}

TEST_F(ServeTest, ThatWasKilledIsNotAskedForAStoreThatAnotherHolds) {
  serve();
  stop(SIGKILL);
  ASSERT_TRUE(std::ifstream(path("q/server")).good());
  const auto holder = EmbeddedBroker::open(path("q"));
  ASSERT_TRUE(holder.has_value());
  const Ran ran = retsu({"push", "--at", path("q"), "1"});
  EXPECT_EQ(ran.status, 5);
  EXPECT_THAT(ran.err, HasSubstr("is held by process " + std::to_string(::getpid())));
}

TEST_F(ServeTest, LosesNothingThatItAnsweredWhenItIsKilled) {
  serve();
  for (int i = 0; i < 20; ++i) done({"push", "--id", "t" + std::to_string(i), "1"});
  stop(SIGKILL);
  EXPECT_EQ(retsu({"tasks"}).status, 5);
  std::filesystem::remove(path("q/server"));  // or the next would be taken for this one
  serve();
  EXPECT_THAT(lines_of(done({"tasks", "--json"})), SizeIs(20));
}

TEST_F(ServeTest, TakesItsSettingsFromAFileAndAgainOnSighup) {
  write("retsu.toml", "[queues.mail]\nconcurrency = 4\n");
  serve({"--config", path("retsu.toml")});
  EXPECT_THAT(done({"queues", "mail", "--json"}), HasSubstr(R"("concurrency":4)"));
  write("retsu.toml", "[queues.mail]\nconcurrency = 5\n");
  ::kill(server_, SIGHUP);
  std::string shown;
  for (int i = 0; i < 200 && shown.find(R"("concurrency":5)") == std::string::npos; ++i) {
    shown = done({"queues", "mail", "--json"});
  }
  EXPECT_THAT(shown, HasSubstr(R"("concurrency":5)"));
}

TEST_F(ServeTest, RefusesBadSettingsAndSaysWhere) {
  const std::pair<const char*, const char*> table[] = {
      {"listen = 7380\n", "listen"},
      {"listen = \"nowhere\"\n", "listen"},
      {"lissten = \"127.0.0.1:1\"\n", "did you mean"},
      {"a = \n", "line 1"},
      {"[http]\nconnections = 0\n", "http.connections"},
      {"[limits]\npayload_bytes = -1\n", "limits.payload_bytes"},
      {"[queues.mail]\nconcurency = 1\n", "queues.mail"},
      {"[queues.mail]\nconcurrency = -1\n", "queues.mail"},
      {"[queues.\"a b\"]\nconcurrency = 1\n", "queues.a b"},
      {"[tls]\ncertificate = \"x\"\n", "key"},
  };
  for (const auto& [text, says] : table) {
    write("bad.toml", text);
    const Ran ran = retsu({"config", "check", path("bad.toml")});
    EXPECT_EQ(ran.status, 2) << text;
    EXPECT_THAT(ran.err, HasSubstr(says)) << text;
    EXPECT_EQ(retsu({"serve", "--config", path("bad.toml")}).status, 2) << text;
  }
  EXPECT_EQ(retsu({"config", "check", path("none.toml")}).status, 2);
  EXPECT_EQ(retsu({"serve", "--tls-cert", "x"}).status, 2);
}

TEST_F(ServeTest, ServesEncryptedToo) {
  const Ran made =
      shell("cd " + path("") +
            " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
            "-keyout key.pem -out cert.pem -days 2 -subj /CN=localhost "
            "-addext subjectAltName=IP:127.0.0.1");
  ASSERT_EQ(made.status, 0) << made.err;
  serve({"--tls-cert", path("cert.pem"), "--tls-key", path("key.pem")});
  EXPECT_THAT(url_, StartsWith("https://"));
  const Ran asked = shell("curl -s --cacert " + path("cert.pem") + " " + url_ + "/v1/stats");
  EXPECT_THAT(asked.out, HasSubstr("QUEUED"));
  EXPECT_NE(shell("curl -s " + url_ + "/v1/stats").status, 0);
  EXPECT_EQ(retsu({"tasks"}).status, 5);  // the certificate is nobody's
}

TEST_F(ServeTest, TokensAreMadeListedAndRevokedFromTheCommandLine) {
  serve();
  const std::string admin = lines_of(done({"token", "create", "--scope", "admin"})).front();
  EXPECT_EQ(retsu({"tasks"}).status, 1);
  environment_["RETSU_TOKEN"] = admin;
  EXPECT_EQ(retsu({"tasks"}).status, 0);
  const std::string push = lines_of(done({"token", "create", "--scope", "push", "--queue", "mail",
                                          "--user", "ann", "--name", "for ann"}))
                               .front();
  EXPECT_THAT(done({"token", "list"}), AllOf(HasSubstr("for ann"), HasSubstr("push")));
  environment_["RETSU_TOKEN"] = push;
  EXPECT_EQ(retsu({"push", "--queue", "mail", "1"}).status, 0);
  EXPECT_EQ(retsu({"push", "--queue", "other", "1"}).status, 1);
  environment_["RETSU_TOKEN"] = admin;
  done({"token", "revoke", push.substr(6, 12)});
  environment_["RETSU_TOKEN"] = push;
  EXPECT_EQ(retsu({"push", "--queue", "mail", "1"}).status, 1);
  EXPECT_EQ(retsu({"token", "create", "--scope", "root"}).status, 2);
}

TEST_F(ServeTest, SettingsThatAreEmptyAreFineAndThoseThatCannotBeReadAreNot) {
  write("empty.toml", "");
  EXPECT_EQ(retsu({"config", "check", "empty.toml"}).status, 0);
  EXPECT_EQ(retsu({"config", "check", path("")}).status, 2);
  EXPECT_EQ(retsu({"config", "check", "nowhere.toml"}).status, 2);
}

TEST_F(ServeTest, WhatIsPrintedOnAClosedStreamGoesIntoNoFile) {
  EXPECT_EQ(shell("retsu --at q push --id a 1 >&- 2>&-; retsu --at q tasks --json >&- 2>&-").status,
            0);
  EXPECT_EQ(read("q/lock").find("a"), std::string::npos);
}

TEST_F(ServeTest, NamesThatLookLikeFoldersAreNames) {
  serve();
  EXPECT_EQ(retsu({"push", "--id", ".", "--queue", ".."}).status, 0);
  EXPECT_EQ(field(".", "queue"), "..");
  EXPECT_EQ(retsu({"cancel", "."}).status, 0);
  EXPECT_EQ(field(".", "state"), "CANCELED");
}

// ------------------------------------------------------------------------------------- a crowd

class CrowdTest : public ServeTest {
 protected:
  static constexpr int kCrowd = 10'000;

  void SetUp() override {
    raise_file_limit();
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < kCrowd + 200) GTEST_SKIP() << "this system allows too few open files";
    serve();
    port_ = static_cast<std::uint16_t>(std::stoi(url_.substr(url_.rfind(':') + 1)));
    one_ = std::make_unique<RawClient>(port_);
    alone_ = median_push();
  }

  static std::string request(const std::string& target, const std::string& body) {
    return "POST " + target +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
  std::chrono::microseconds median_push() {
    std::vector<std::chrono::microseconds> times;
    for (int i = 0; i < 101; ++i) {
      const auto began = std::chrono::steady_clock::now();
      EXPECT_THAT(one_->ask(request("/v1/tasks", "{}")), StartsWith("HTTP/1.1 201"));
      times.push_back(std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::steady_clock::now() - began));
    }
    std::ranges::nth_element(times, times.begin() + 50);
    return times[50];
  }
  void gather(const std::string& words) {
    for (int i = 0; i < kCrowd; ++i) {
      crowd_.emplace_back(port_);
      ASSERT_TRUE(crowd_.back().send(words));
    }
  }
  // Of the server, so far.
  [[nodiscard]] std::chrono::milliseconds cpu_time() const {
    std::ifstream stat("/proc/" + std::to_string(server_) + "/stat");
    std::string word;
    for (int i = 0; i < 13; ++i) stat >> word;
    long user = 0;
    long system = 0;
    stat >> user >> system;
    return std::chrono::milliseconds((user + system) * 1'000 / ::sysconf(_SC_CLK_TCK));
  }

  std::uint16_t port_ = 0;
  std::unique_ptr<RawClient> one_;
  std::vector<RawClient> crowd_;
  std::chrono::microseconds alone_{};
};

TEST_F(CrowdTest, OfIdleConnectionsDisturbsNobody) {
  gather("");
  EXPECT_LT(median_push(), 5 * alone_ + 20ms);
}

TEST_F(CrowdTest, OfThoseWhoSendHalfARequestDisturbsNobody) {
  gather("POST /v1/tasks HTTP/1.1\r\nHost: local");
  EXPECT_LT(median_push(), 5 * alone_ + 20ms);
}

TEST_F(CrowdTest, OfClaimsThatWaitCostsNothingAndEachGetsItsTask) {
  gather(request("/v1/claims", R"({"queues":["crowd"],"wait_ms":120000})"));
  EXPECT_LT(median_push(), 5 * alone_ + 20ms);
  const auto before = cpu_time();
  std::this_thread::sleep_for(1s);
  EXPECT_LT(cpu_time() - before, 300ms);
  std::string tasks = R"({"queue":"crowd"})";
  for (int i = 1; i < 1'000; ++i) tasks += R"(,{"queue":"crowd"})";
  for (int i = 0; i < kCrowd; i += 1'000) {
    EXPECT_THAT(one_->ask(request("/v1/tasks", "{\"tasks\":[" + tasks + "]}")),
                StartsWith("HTTP/1.1 201"));
  }
  for (RawClient& each : crowd_) {
    ASSERT_THAT(each.receive_answer(), HasSubstr(R"("tasks":[{"id":)"));
  }
}

}  // namespace
}  // namespace retsu
