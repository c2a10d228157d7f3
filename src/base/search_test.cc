#include "base/search.h"

#include <gtest/gtest.h>

namespace retsu {
namespace {

TEST(Search, FindsAPartWhateverTheCaseOfItsLetters) {
  EXPECT_TRUE(has_part("No Answer", "answer"));
  EXPECT_TRUE(has_part("no answer", "NO A"));
  EXPECT_TRUE(has_part("answer", "answer"));
  EXPECT_TRUE(has_part("naïve 日本", "NAïVE 日"));
  EXPECT_TRUE(has_part("", ""));
  EXPECT_FALSE(has_part("answer", "answers"));
  EXPECT_FALSE(has_part("", "a"));
  EXPECT_FALSE(has_part("@[", "`{")) << "these are no letters, though they differ by the same bit";
}

TEST(Search, FindsInJsonWhatIsWrittenAndWhatItReads) {
  struct Row {
    std::string_view json;
    std::string_view part;
    bool found;
  };
  const Row rows[] = {
      {R"({"to":"bob"})", R"("to":"BOB")", true},
      {R"({"to":"bob"})", "bob\"}", true},
      {R"("\u65e5\u672c")", "日本", true},
      {R"("\u65E5本")", "日本", true},
      {R"("\u65e5\u672c")", R"(\u65E5)", true},
      {R"("\ud83d\ude00!")", "😀!", true},
      {R"(["a\/b","say \"hi\""])", R"(say "HI")", true},
      {R"(["a\/b","say \"hi\""])", "a/b", true},
      {R"("line\nnext")", "line\nnext", true},
      {R"("日本")", "日本", true},
      {R"("\u65e5\u672c")", "日本語", false},
      {R"(null)", "nil", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(json_has_part(row.json, row.part), row.found) << row.json << " " << row.part;
  }
}

TEST(Search, ReadsNothingBeyondJsonThatIsDamaged) {
  for (const std::string_view json : {R"("\)", R"("\u1)", R"("\ud83d)", R"("\ud83d\u)", "\\"}) {
    EXPECT_FALSE(json_has_part(json, "x")) << json;
  }
}

}  // namespace
}  // namespace retsu
