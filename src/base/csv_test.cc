#include "base/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/json.h"

namespace retsu {
namespace {

using testing::ElementsAre;

// Rows as `line: field|field`, errors as `line! message`.
std::vector<std::string> read(std::string_view text, std::size_t piece = 1 << 20,
                              CsvLimits limits = {}) {
  std::vector<std::string> out;
  CsvReader reader(
      [&](const tl::expected<CsvRow, CsvError>& row) {
        if (!row) {
          out.push_back(std::to_string(row.error().line) + "! " + row.error().message);
          return;
        }
        out.push_back(std::to_string(row->line) + ": ");
        for (const auto& field : row->fields) {
          if (&field != row->fields.data()) out.back() += '|';
          out.back() += field;
        }
      },
      limits);
  for (std::size_t at = 0; at < text.size(); at += piece) reader.take(text.substr(at, piece));
  reader.end();
  return out;
}

TEST(Csv, HasRowsOfFields) {
  EXPECT_THAT(read("a,b\nc,,d\n"), ElementsAre("1: a|b", "2: c||d"));
  EXPECT_THAT(read("a,b\r\n,\r\n"), ElementsAre("1: a|b", "2: |"));
  EXPECT_THAT(read(" a , b "), ElementsAre("1:  a | b "));
}

TEST(Csv, LastLineNeedsNoEnd) {
  EXPECT_THAT(read("a\nb"), ElementsAre("1: a", "2: b"));
  EXPECT_THAT(read("a\nb,"), ElementsAre("1: a", "2: b|"));
  EXPECT_THAT(read("a\nb\r"), ElementsAre("1: a", "2: b"));
  EXPECT_THAT(read("a\n\"b\"\r"), ElementsAre("1: a", "2: b"));
  EXPECT_THAT(read(""), ElementsAre());
}

TEST(Csv, EmptyLinesArePassedOverButCounted) {
  EXPECT_THAT(read("\n\r\na\n\n\nb\n\n"), ElementsAre("3: a", "6: b"));
  EXPECT_THAT(read("\"\"\n"), ElementsAre("1: "));
}

TEST(Csv, QuotesHoldCommasLineEndsAndDoubledQuotes) {
  EXPECT_THAT(read("\"a,b\",\"say \"\"hi\"\"\"\n"), ElementsAre("1: a,b|say \"hi\""));
  EXPECT_THAT(read("\"a\r\nb\n\",c\nd"), ElementsAre("1: a\r\nb\n|c", "4: d"));
  EXPECT_THAT(read("\"\",\"\"\"\"\r\n"), ElementsAre("1: |\""));
}

TEST(Csv, ACarriageReturnAloneEndsNothing) {
  EXPECT_THAT(read("a\rb,c\r,d\r\r\n"), ElementsAre("1: a\rb|c\r|d\r"));
}

TEST(Csv, AByteOrderMarkIsPassedOverAtTheBeginningOnly) {
  EXPECT_THAT(read("\xef\xbb\xbf\"a\",b"), ElementsAre("1: a|b"));
  EXPECT_THAT(read("\xef\xbb\xbf\xef\xbb\xbf"
                   "a"),
              ElementsAre("1: \xef\xbb\xbf"
                          "a"));
  EXPECT_THAT(read("\xef\xbb\xbe"), ElementsAre("1: \xef\xbb\xbe"));
  EXPECT_THAT(read("\xef\xbb\xbf"), ElementsAre());
  EXPECT_THAT(read("\xef\xbb"), ElementsAre("1! field 1 is not valid UTF-8"));
}

TEST(Csv, AnErrorCostsItsRowOnly) {
  EXPECT_THAT(
      read("a\"b\",c\nd\n"),
      ElementsAre("1! a quote in the middle of a field that does not begin with one", "2: d"));
  EXPECT_THAT(read("x\n\"a\" ,b\nd\n"),
              ElementsAre("1: x", "2! text after a closing quote", "3: d"));
  EXPECT_THAT(read("\"a\"\rb\nd\n"), ElementsAre("1! text after a closing quote", "2: d"));
  EXPECT_THAT(read("a,\xff,\"\xff\"\nd\n"), ElementsAre("1! field 2 is not valid UTF-8", "2: d"));
  EXPECT_THAT(read("a\"b\"c\"d"), testing::SizeIs(1));
}

TEST(Csv, AQuoteThatIsNeverClosedIsNamedWhereItOpens) {
  EXPECT_THAT(
      read("a\n\"b\nc\",\"d\ne\n"),
      ElementsAre("1: a", "3! the quote is never closed, in the row that begins in line 2"));
  EXPECT_THAT(read("\""), ElementsAre("1! the quote is never closed"));
}

TEST(Csv, ReadingGoesOnBehindAQuoteThatCannotBeTheEnd) {
  EXPECT_THAT(
      read("1,\"a\n2,\"b\"\n3,c\n"),
      ElementsAre("2! text after a closing quote, in the row that begins in line 1", "3: 3|c"));
}

TEST(Csv, ARowIsOnlySoLong) {
  const CsvLimits limits{.row_bytes = 5};
  EXPECT_THAT(read("12345\n123456\nab,cd\nab,cde\n1\n", 100, limits),
              ElementsAre("1: 12345", "2! the row is longer than 5 bytes", "3: ab|cd",
                          "4! the row is longer than 5 bytes", "5: 1"));
}

TEST(Csv, ARowThatIsTooLongEndsWhereItWould) {
  EXPECT_THAT(read("\"1234\n5678\"\n1\n", 100, {.row_bytes = 5}),
              ElementsAre("1! the row is longer than 5 bytes; is the quote of line 1 never closed?",
                          "3: 1"));
}

TEST(Csv, OfTwoErrorsInARowTheFirstIsToldWhereverItIsCut) {
  for (const std::size_t piece : {1, 2, 100}) {
    EXPECT_THAT(read("\"\"bc\nd", piece, {.row_bytes = 3}),
                ElementsAre("1! text after a closing quote", "2: d"));
  }
}

TEST(Csv, ARowHasOnlySoManyFields) {
  EXPECT_THAT(read("a,b\na,b,c,d\ne\n", 100, {.fields = 2}),
              ElementsAre("1: a|b", "2! more than 2 fields", "3: e"));
  const std::string full(CsvLimits().fields - 1, ',');
  EXPECT_THAT(
      read(full + "\n" + full + ",\n"),
      ElementsAre("1: " + std::string(CsvLimits().fields - 1, '|'), "2! more than 256 fields"));
}

TEST(Csv, WritesQuotesOnlyWhereTheyAreNeeded) {
  const auto written = [](std::string_view field) {
    std::string out = "x,";
    append_csv_field(out, field);
    return out;
  };
  EXPECT_EQ(written(""), "x,");
  EXPECT_EQ(written(" a b;'"), "x, a b;'");
  EXPECT_EQ(written("a,b"), "x,\"a,b\"");
  EXPECT_EQ(written("a\"b"), "x,\"a\"\"b\"");
  EXPECT_EQ(written("a\nb"), "x,\"a\nb\"");
  EXPECT_EQ(written("a\r"), "x,\"a\r\"");
  for (const char* formula : {"=1+1", "+1", "-1", "@a"}) {
    EXPECT_EQ(written(formula), "x," + std::string(formula));
  }
}

rc::Gen<std::string> any_text(std::vector<std::string> words) {
  return rc::gen::map(
      rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(std::move(words))),
      [](const std::vector<std::string>& parts) {
        std::string text;
        for (const auto& part : parts) text += part;
        return text;
      });
}

RC_GTEST_PROP(Csv, IsTheSameWhereverItIsCut, ()) {
  const auto text = *any_text({"a", "bc", ",", "\"", "\r", "\n", "é", "\xff", "\xef\xbb\xbf"});
  const CsvLimits limits{.row_bytes = *rc::gen::inRange<std::size_t>(1, 20), .fields = 4};
  const auto whole = read(text, 1 << 20, limits);
  for (std::size_t piece = 1; piece < 7; ++piece) RC_ASSERT(read(text, piece, limits) == whole);
}

RC_GTEST_PROP(Csv, RowsAreReadBackAsTheyWereWritten, ()) {
  const auto field =
      rc::gen::resize(5, any_text({"a", ",", "\"", "\r", "\n", "é", "\xef\xbb\xbf", "="}));
  const auto rows = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::resize(5, rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(field))));
  std::string text;
  for (const auto& row : rows) append_csv_row(text, row);
  std::vector<std::vector<std::string>> again;
  CsvReader reader([&](tl::expected<CsvRow, CsvError> row) {
    RC_ASSERT(row.has_value());
    again.push_back(std::move(row->fields));
  });
  reader.take(text);
  reader.end();
  RC_ASSERT(again == rows);
}

}  // namespace
}  // namespace retsu
