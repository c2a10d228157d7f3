#include "apps/library/book_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "model/json.h"

namespace retsu::library {
namespace {

void set(std::string& member, std::string_view text) { member = text; }
void set(MaybeText& member, std::string_view text) { member = text; }
void set(AuthorNames& member, std::string_view text) { member = split_authors(text); }
// What is no number is one that no book can have, so that it is told.
void set(MaybeNumber& member, std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  member = read.ec == std::errc() && read.ptr == text.data() + text.size() ? number : -1;
}

std::string shown(const std::string& member) { return member; }
std::string shown(const MaybeText& member) { return member.value_or(""); }
std::string shown(const AuthorNames& member) {
  return fmt::format("{}", fmt::join(member.names, "; "));
}
std::string shown(const MaybeNumber& member) { return member ? std::to_string(*member) : ""; }

void set_column(BookFields& book, std::string_view column, std::string_view text) {
  if (text.empty()) return;
  for_each_field<BookFields>([&](const auto& field) {
    if (field.name == column) set(book.*(field.member), text);
  });
}

}  // namespace

BookFormat format_of(std::string_view file_name) {
  return file_name.ends_with(".csv") || file_name.ends_with(".CSV") ? BookFormat::kCsv
                                                                    : BookFormat::kJson;
}

std::vector<std::string> book_columns() {
  std::vector<std::string> names;
  for_each_field<BookFields>([&](const auto& field) { names.emplace_back(field.name); });
  return names;
}

std::vector<std::string> book_row(const BookFields& book) {
  std::vector<std::string> row;
  for_each_field<BookFields>(
      [&](const auto& field) { row.push_back(shown(book.*(field.member))); });
  return row;
}

BookReader::BookReader(BookFormat format, OnBook on_book)
    : format_(format),
      on_book_(std::move(on_book)),
      csv_([this](tl::expected<CsvRow, CsvError> row) { on_row(std::move(row)); }),
      json_([this](const tl::expected<JsonItem, JsonItemError>& item) { on_item(item); }) {}

Status BookReader::take(std::string_view bytes) {
  if (status_) format_ == BookFormat::kCsv ? csv_.take(bytes) : json_.take(bytes);
  return status_;
}

Status BookReader::end() {
  if (status_) format_ == BookFormat::kCsv ? csv_.end() : json_.end();
  if (status_ && format_ == BookFormat::kCsv && columns_.empty()) {
    status_ = refuse(ErrorCode::kInvalid, "there is no line of column names");
  }
  return status_;
}

void BookReader::give(const std::string& place, BookFields book) {
  if (auto fine = normalize(book); !fine) return on_book_(place, tl::unexpected(fine.error()));
  on_book_(place, std::move(book));
}

void BookReader::read_columns(const CsvRow& row) {
  const auto known = book_columns();
  for (std::string name : row.fields) {
    name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
    name.erase(name.find_last_not_of(' ') + 1);
    if (std::ranges::find(known, name) == known.end()) {
      status_ = refuse(ErrorCode::kUnknownField,
                       fmt::format("line {}: books have no column {}; there are {}", row.line,
                                   name.empty() ? "without a name" : name, fmt::join(known, ", ")));
      return;
    }
    if (std::ranges::find(columns_, name) != columns_.end()) {
      status_ = refuse(ErrorCode::kInvalid,
                       fmt::format("line {}: the column {} is there twice", row.line, name));
      return;
    }
    columns_.push_back(std::move(name));
  }
  if (std::ranges::find(columns_, "title") == columns_.end()) {
    status_ =
        refuse(ErrorCode::kInvalid, fmt::format("line {}: there is no column title", row.line));
  }
}

void BookReader::on_row(tl::expected<CsvRow, CsvError> row) {
  if (!status_) return;
  if (!row) {
    const Error error{ErrorCode::kInvalid, row.error().message};
    if (columns_.empty()) {
      status_ = tl::unexpected(error);
      return;
    }
    return on_book_(fmt::format("line {}", row.error().line), tl::unexpected(error));
  }
  if (columns_.empty()) return read_columns(*row);
  const std::string place = fmt::format("line {}", row->line);
  if (row->fields.size() != columns_.size()) {
    return on_book_(place,
                    refuse(ErrorCode::kInvalid, fmt::format("{} fields, but there are {} columns",
                                                            row->fields.size(), columns_.size())));
  }
  BookFields book;
  for (std::size_t i = 0; i < columns_.size(); ++i) set_column(book, columns_[i], row->fields[i]);
  give(place, std::move(book));
}

void BookReader::on_item(const tl::expected<JsonItem, JsonItemError>& item) {
  if (!item) {
    return on_book_(item.error().place.text(), refuse(ErrorCode::kInvalid, item.error().message));
  }
  auto book = from_json<BookFields>(item->text);
  if (!book) return on_book_(item->place.text(), tl::unexpected(to_error(book.error())));
  give(item->place.text(), *std::move(book));
}

}  // namespace retsu::library
