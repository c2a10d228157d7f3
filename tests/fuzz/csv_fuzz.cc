// Rows are the same wherever the text is cut, and read back as they are written. The first byte is
// how large the pieces are, the second how long a row may be.
#include <vector>

#include "base/check.h"
#include "base/csv.h"
#include "base/json.h"
#include "input.h"

namespace {

using Read = std::vector<tl::expected<retsu::CsvRow, retsu::CsvError>>;

Read read(std::string_view text, std::size_t piece, retsu::CsvLimits limits) {
  Read rows;
  retsu::CsvReader reader([&](const auto& row) { rows.push_back(row); }, limits);
  for (std::size_t at = 0; at < text.size(); at += piece) reader.take(text.substr(at, piece));
  reader.end();
  return rows;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  retsu::fuzz::Input in(data, size);
  const std::size_t piece = 1 + in.byte();
  const retsu::CsvLimits limits{.row_bytes = 1 + in.byte(), .fields = 8};
  const std::size_t all = std::max<std::size_t>(in.rest().size(), 1);
  const Read whole = read(in.rest(), all, limits);
  RETSU_CHECK(read(in.rest(), piece, limits) == whole);

  std::string written;
  std::vector<retsu::CsvRow> rows;
  std::uint64_t line = 0;
  for (const auto& row : whole) {
    if (!row) {
      RETSU_CHECK(retsu::is_utf8(row.error().message) && row.error().line > 0);
      continue;
    }
    RETSU_CHECK(row->line > line && !row->fields.empty() && row->fields.size() <= limits.fields);
    line = row->line;
    for (const auto& field : row->fields) RETSU_CHECK(retsu::is_utf8(field));
    retsu::append_csv_row(written, row->fields);
    rows.push_back(*row);
  }
  const Read again = read(written, piece, {});
  RETSU_CHECK(again.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    RETSU_CHECK(again[i] && again[i]->fields == rows[i].fields);
  }
  return 0;
}
