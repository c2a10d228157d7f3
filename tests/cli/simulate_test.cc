#include "cli/run_program.h"

namespace retsu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SimulateTest : public CliTest {
 protected:
  static std::string query(std::string_view isbn) {
    return R"({"query":"{ editions(where: {isbn_13: {_eq: \")" + std::string(isbn) +
           R"(\"}}) { id } }"})";
  }
};

TEST_F(SimulateTest, ItSaysWhereItListensAnswersAndEndsWithStatusZero) {
  const Ran ran = shell(
      "retsu simulate --hardcover 0 --token t --speed 300 --no-daily-limit --latency 1ms "
      "--log calls.ndjson --json > out & simulator=$!\n"
      "until [ -s out ]; do sleep 0.05; done\n"
      "url=$(sed 's/.*\"hardcover\":\"//; s/\".*//' out)\n"
      "curl -sS -i -H 'authorization: Bearer t' -d '" +
      query("9784873113944") +
      "' $url\n"
      "kill -TERM $simulator; wait $simulator; echo; echo ended $?; cat out calls.ndjson");
  EXPECT_THAT(ran.out, AllOf(HasSubstr(R"({"data":{"editions":[{"id":487311395}]}})"),
                             HasSubstr(R"(RateLimit-Policy: "Free";q=18000;w=60;burst=10)"),
                             HasSubstr("ended 0"), HasSubstr(R"({"hardcover":"http://127.0.0.1:)"),
                             HasSubstr(R"("asked":[{"isbn13":"9784873113944"}])")))
      << ran.err;
}

TEST_F(SimulateTest, ForPeopleItShowsWhatToExport) {
  const Ran ran = shell(
      "set -m; retsu simulate --hardcover 0 > out & simulator=$!\n"
      "until [ -s out ]; do sleep 0.05; done\n"
      "kill -INT $simulator; wait $simulator; echo ended $?; cat out");
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("ended 0"), HasSubstr("/v1/graphql stands in for hardcover\n"),
                    HasSubstr("export RETSU_HARDCOVER_URL=http://127.0.0.1:")));
}

TEST_F(SimulateTest, WhatMakesNoSenseIsRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> each = {
      {{}, "--hardcover PORT"},
      {{"--speed", "300"}, "--hardcover PORT"},
      {{"--hardcover", "65536"}, "--hardcover"},
      {{"--hardcover", "-1"}, "--hardcover"},
      {{"--hardcover", "x"}, "--hardcover"},
      {{"--hardcover", "0", "--speed", "0"}, "--speed"},
      {{"--hardcover", "0", "--latency", "50"}, "--latency"},
      {{"--hardcover", "0", "--latency", "1d"}, "--latency"},
  };
  for (const auto& [options, told] : each) {
    std::vector<std::string> command = {"simulate"};
    command.insert(command.end(), options.begin(), options.end());
    const Ran ran = retsu(command);
    EXPECT_EQ(ran.status, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(told));
  }
  const Ran nowhere = retsu({"simulate", "--hardcover", "0", "--log", path("no/such/log")});
  EXPECT_EQ(nowhere.status, 5);
  EXPECT_THAT(nowhere.err, HasSubstr("no/such/log"));
}

}  // namespace
}  // namespace retsu
