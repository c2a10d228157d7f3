// Comma-separated values as RFC 4180 has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/bom.h"

namespace retsu {

struct CsvRow {
  std::uint64_t line = 0;  // in which it begins, from 1
  std::vector<std::string> fields;

  bool operator==(const CsvRow&) const = default;
};

struct CsvError {
  std::uint64_t line = 0;
  std::string message;  // without the line

  bool operator==(const CsvError&) const = default;
};

struct CsvLimits {
  std::size_t row_bytes = 1 << 20;  // with quotes and commas, and without the LF that ends it
  std::size_t fields = 256;         // of a row
};

// Reads CSV piece by piece; where it is cut makes no difference. Fields may be in quotes, and then
// have commas, line ends and doubled quotes in them; spaces belong to the field. Lines end with LF
// or CRLF, the last one need not. A byte order mark and empty lines are passed over. All fields are
// valid UTF-8; how many there are in a row is for the caller to judge.
//
// A row with an error is left out, and reported once. Reading goes on in the next line; after a row
// that is too long or has too many fields, in the line after its end. A quote that is never closed
// takes all that follows with it, up to a quote that cannot be its end.
//
// Holds at most one row in memory.
class CsvReader {
 public:
  // Called in the order of the text, from within take() and end().
  using OnRow = std::function<void(tl::expected<CsvRow, CsvError>)>;

  explicit CsvReader(OnRow on_row, CsvLimits limits = {})
      : on_row_(std::move(on_row)), limits_(limits) {}

  void take(std::string_view bytes);
  void end();  // once, after all was taken

 private:
  enum class State : std::uint8_t { kStart, kPlain, kQuoted, kQuote, kQuoteCr, kSkipping };
  enum class Action : std::uint8_t {
    kNone,
    kAppend,
    kOpenQuote,
    kEndField,
    kEndRow,
    kRefuseQuote,
    kRefuseText
  };
  struct Step {
    Action action;
    State next;
  };
  static const Step kSteps[6][5];

  void read(std::string_view bytes);
  void do_step(Step step, std::string_view bytes);
  void count(std::size_t bytes);
  void end_field();
  void end_row();
  void fail(std::uint64_t line, std::string message);

  const OnRow on_row_;
  const CsvLimits limits_;
  BomSkipper bom_;
  State state_ = State::kStart;
  bool failed_ = false;  // the row was reported
  std::uint64_t line_ = 1;
  std::uint64_t quote_line_ = 0;  // in which the last quoted field begins
  std::size_t row_bytes_ = 0;
  std::string field_;
  CsvRow row_{1, {}};
};

// Appends a field, in quotes only where it needs them. Fields that begin with = + - or @ are NOT
// changed, because other programs would read the change as data: a spreadsheet may take them for
// formulas.
void append_csv_field(std::string& out, std::string_view field);

// Appends a row and its CRLF, to be read back as it is; at least one field.
void append_csv_row(std::string& out, std::span<const std::string> fields);

}  // namespace retsu
