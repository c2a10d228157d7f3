#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <regex>

namespace retsu {
namespace {

std::string written(LogForm form, std::string_view message) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  Log(form, ends[1]).write(LogLevel::kWarning, message, {{"a", 1}, {"b", 0.5}, {"c", "x\"y"}});
  std::array<char, 1000> bytes{};
  const auto size = ::read(ends[0], bytes.data(), bytes.size());
  ::close(ends[0]);
  ::close(ends[1]);
  return {bytes.data(), static_cast<std::size_t>(size)};
}

TEST(Logs, AreLinesOfText) {
  EXPECT_TRUE(std::regex_match(
      written(LogForm::kText, "it fires"),
      std::regex(R"re(20\d\d-.*Z warning: it fires  a=1  b=0\.5  c="x\\"y"\n)re")));
}

TEST(Logs, AreLinesOfJson) {
  EXPECT_TRUE(
      std::regex_match(written(LogForm::kJson, "two\nlines"),
                       std::regex(R"re(\{"at":"20.*Z","level":"warning","message":"two\\nlines",)re"
                                  R"re("a":1,"b":0\.5,"c":"x\\"y"\}\n)re")));
}

}  // namespace
}  // namespace retsu
