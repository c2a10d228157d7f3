#include "base/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace retsu {
namespace {

// What a byte is, in the order of the table's columns.
enum Kind : std::uint8_t { kText, kComma, kQuoteMark, kCr, kLf };

constexpr Kind kind_of(char c) {
  switch (c) {
    case ',':
      return kComma;
    case '"':
      return kQuoteMark;
    case '\r':
      return kCr;
    case '\n':
      return kLf;
    default:
      return kText;
  }
}

}  // namespace

// A CR in a plain field belongs to it, unless the line ends there: see end_row.
constexpr CsvReader::Step CsvReader::kSteps[6][5] = {
    // text, comma, quote, CR, LF
    {{Action::kAppend, State::kPlain},
     {Action::kEndField, State::kStart},
     {Action::kOpenQuote, State::kQuoted},
     {Action::kAppend, State::kPlain},
     {Action::kEndRow, State::kStart}},  // kStart: of a field
    {{Action::kAppend, State::kPlain},
     {Action::kEndField, State::kStart},
     {Action::kRefuseQuote, State::kSkipping},
     {Action::kAppend, State::kPlain},
     {Action::kEndRow, State::kStart}},  // kPlain
    {{Action::kAppend, State::kQuoted},
     {Action::kAppend, State::kQuoted},
     {Action::kNone, State::kQuote},
     {Action::kAppend, State::kQuoted},
     {Action::kAppend, State::kQuoted}},  // kQuoted
    {{Action::kRefuseText, State::kSkipping},
     {Action::kEndField, State::kStart},
     {Action::kAppend, State::kQuoted},
     {Action::kNone, State::kQuoteCr},
     {Action::kEndRow, State::kStart}},  // kQuote: the end of a quoted field, or half of a quote
    {{Action::kRefuseText, State::kSkipping},
     {Action::kRefuseText, State::kSkipping},
     {Action::kRefuseText, State::kSkipping},
     {Action::kRefuseText, State::kSkipping},
     {Action::kEndRow, State::kStart}},  // kQuoteCr: a CR behind that end
    {{Action::kNone, State::kSkipping},
     {Action::kNone, State::kSkipping},
     {Action::kNone, State::kSkipping},
     {Action::kNone, State::kSkipping},
     {Action::kEndRow, State::kStart}},  // kSkipping: the rest of a line
};

void CsvReader::take(std::string_view bytes) {
  bom_.take(bytes, [this](std::string_view piece) { read(piece); });
}

void CsvReader::end() {
  bom_.end([this](std::string_view piece) { read(piece); });
  if (state_ == State::kQuoted) fail(quote_line_, "the quote is never closed");
  end_row();
}

void CsvReader::read(std::string_view bytes) {
  while (!bytes.empty()) {
    const Kind kind = kind_of(bytes.front());
    const Step step = kSteps[static_cast<std::size_t>(state_)][kind];
    std::size_t size = 1;
    if (kind == kText && step.action == Action::kAppend) {
      while (size < bytes.size() && kind_of(bytes[size]) == kText) ++size;
    }
    if (step.action != Action::kEndRow) count(size);
    do_step(step, bytes.substr(0, size));
    state_ = step.next;
    bytes.remove_prefix(size);
    if (kind != kLf) continue;
    ++line_;
    if (step.action == Action::kEndRow) row_.line = line_;
  }
}

void CsvReader::do_step(Step step, std::string_view bytes) {
  switch (step.action) {
    case Action::kNone:
      return;
    case Action::kAppend:
      if (!failed_) field_ += bytes;
      return;
    case Action::kOpenQuote:
      quote_line_ = line_;
      return;
    case Action::kEndField:
      return end_field();
    case Action::kEndRow:
      return end_row();
    case Action::kRefuseQuote:
      return fail(line_, "a quote in the middle of a field that does not begin with one");
    case Action::kRefuseText:
      return fail(line_, "text after a closing quote");
  }
}

void CsvReader::count(std::size_t bytes) {
  row_bytes_ += bytes;
  if (row_bytes_ <= limits_.row_bytes) return;
  std::string message = fmt::format("the row is longer than {} bytes", limits_.row_bytes);
  if (state_ == State::kQuoted) {
    message += fmt::format("; is the quote of line {} never closed?", quote_line_);
  }
  fail(row_.line, std::move(message));
}

void CsvReader::end_field() {
  if (failed_) return;
  row_.fields.push_back(std::exchange(field_, {}));
  if (row_.fields.size() < limits_.fields) return;
  fail(line_, fmt::format("more than {} fields", limits_.fields));
}

void CsvReader::end_row() {
  if (state_ == State::kPlain && field_.ends_with('\r')) field_.pop_back();
  const bool in_quotes = state_ == State::kQuote || state_ == State::kQuoteCr;
  const bool empty = row_.fields.empty() && field_.empty() && !in_quotes;
  if (!failed_ && !empty) {
    row_.fields.push_back(std::move(field_));
    const auto bad = std::ranges::find_if_not(row_.fields, is_utf8);
    if (bad == row_.fields.end()) {
      on_row_(std::exchange(row_, {}));
    } else {
      fail(row_.line, fmt::format("field {} is not valid UTF-8", bad - row_.fields.begin() + 1));
    }
  }
  row_.fields.clear();
  field_.clear();
  row_bytes_ = 0;
  failed_ = false;
}

void CsvReader::fail(std::uint64_t line, std::string message) {
  if (std::exchange(failed_, true)) return;
  if (line != row_.line) message += fmt::format(", in the row that begins in line {}", row_.line);
  on_row_(tl::unexpected(CsvError{line, std::move(message)}));
}

void append_csv_field(std::string& out, std::string_view field) {
  // A mark at the beginning of a file would be passed over.
  if (field.find_first_of(",\"\r\n") == std::string_view::npos && !field.starts_with(kBom)) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

void append_csv_row(std::string& out, std::span<const std::string> fields) {
  const std::size_t begin = out.size();
  for (const std::string& field : fields) {
    if (&field != fields.data()) out += ',';
    append_csv_field(out, field);
  }
  if (out.size() == begin) out += "\"\"";  // else it would be an empty line
  out += "\r\n";
}

}  // namespace retsu
