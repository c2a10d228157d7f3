#include "base/json_struct.h"

#include <bit>
#include <cstdlib>

namespace retsu::json_detail {
namespace {

constexpr std::size_t kMaxRows = 64;

void* at(void* value, const Row& row) { return static_cast<char*>(value) + row.offset; }
const void* at(const void* value, const Row& row) {
  return static_cast<const char*>(value) + row.offset;
}

// Keys mostly come in the order of the table, so the search begins where the last one ended.
const Row* find_row(const Table& table, std::string_view key, std::size_t& hint) {
  const std::size_t count = table.rows.size();
  for (std::size_t tried = 0; tried < count; ++tried) {
    if (hint == count) hint = 0;
    const Row& row = table.rows[hint++];
    if (row.name == key && !row.read_only) return &row;
  }
  return nullptr;
}

bool refuse(JsonReader& in, std::string_view key, const Table& table) {
  std::vector<std::string_view> names;
  for (const Row& row : table.rows) {
    if (!row.read_only) names.push_back(row.name);
  }
  return in.fail_unknown(key, names);
}

}  // namespace

void Table::add(std::string_view name, unsigned use, std::size_t offset, const MemberType* type) {
  if (rows.size() == kMaxRows) std::abort();  // a struct with more needs wider bit sets
  if ((use & kRequired) != 0) required |= std::uint64_t{1} << rows.size();
  Row row{name, ",\"" + std::string(name) + "\":", offset, type, (use & kReadOnly) != 0, false};
  row.hidden_if_blank = (use & (kAlwaysShown | kRequired)) == 0 && type->blank(at(defaults, row));
  rows.push_back(std::move(row));
}

bool read_struct(JsonReader& in, void* value, const Table& table) {
  std::uint64_t seen = 0;
  std::size_t hint = 0;
  const bool read = in.read_object([&](std::string_view key) {
    const Row* row = find_row(table, key, hint);
    if (row == nullptr) {
      if (!in.how().skip_unknown) return refuse(in, key, table);
      in.skip();
      return true;
    }
    const auto bit = std::uint64_t{1} << (row - table.rows.data());
    if ((seen & bit) != 0) return in.fail_twice();
    seen |= bit;
    if (in.how().merge && !row->type->takes_null && in.take_null()) {
      row->type->assign(at(value, *row), at(table.defaults, *row));
      return true;
    }
    return row->type->read(in, at(value, *row));
  });
  if (!read) return false;
  const std::uint64_t missing = in.how().merge ? 0 : table.required & ~seen;
  if (missing == 0) return true;
  return in.fail_missing(table.rows[static_cast<std::size_t>(std::countr_zero(missing))].name);
}

void write_struct(JsonWriter& to, const void* value, const Table& table) {
  to.open_object();
  for (const Row& row : table.rows) {
    const void* member = at(value, row);
    if (row.hidden_if_blank && row.type->blank(member)) continue;
    to.key_literal(row.literal);
    row.type->write(to, member);
  }
  to.close_object();
}

}  // namespace retsu::json_detail
