#include "cli/table.h"

#include <algorithm>
#include <cwchar>

#include "base/check.h"

namespace retsu::cli {
namespace {

struct Letter {
  std::size_t bytes;
  std::size_t width;
};

// The first letter of a text that is not empty. Bytes that are no UTF-8 count one each.
Letter first_letter(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  std::size_t bytes = 1;
  if (lead >= 0xf0) {
    bytes = 4;
  } else if (lead >= 0xe0) {
    bytes = 3;
  } else if (lead >= 0xc0) {
    bytes = 2;
  }
  if (bytes == 1 || bytes > text.size()) return {1, 1};
  wchar_t code = static_cast<wchar_t>(lead & (0x7fU >> bytes));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {1, 1};
    code = static_cast<wchar_t>(code << 6 | (byte & 0x3f));
  }
  const int width = ::wcwidth(code);
  return {bytes, width < 0 ? 1 : static_cast<std::size_t>(width)};
}

constexpr std::size_t kGap = 2;

}  // namespace

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    width += letter.width;
    text.remove_prefix(letter.bytes);
  }
  return width;
}

std::string cut(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  std::size_t fits = 0;  // bytes that leave room for the ellipsis
  for (std::size_t at = 0; at < text.size();) {
    const Letter letter = first_letter(text.substr(at));
    used += letter.width;
    if (used > width) return std::string(text.substr(0, fits)) + "…";
    at += letter.bytes;
    if (used < width) fits = at;
  }
  return std::string(text);
}

Table::Table(Screen& screen, std::vector<std::string> columns) : screen_(screen) {
  for (std::string& column : columns) {
    right_.push_back(column.starts_with('>'));
    if (right_.back()) column.erase(0, 1);
    widths_.push_back(width_of(column));
    headline_.emplace_back(std::move(column), Style::kBold);
  }
}

void Table::add(std::vector<Cell> row) {
  RETSU_CHECK(row.size() == headline_.size());
  for (Cell& cell : row) cell.text = printable(cell.text);
  rows_.push_back(std::move(row));
}

void Table::print() {
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths_[i] = std::max(widths_[i], width_of(row[i].text));
    }
  }
  if (!began_ && !rows_.empty()) screen_.line(row_text(headline_));
  began_ |= !rows_.empty();
  for (const auto& row : rows_) screen_.line(row_text(row));
  rows_.clear();
}

std::string Table::row_text(const std::vector<Cell>& row) const {
  std::string text;
  std::size_t column = 0;
  std::size_t owed = 0;  // spaces, if something comes after them
  const std::size_t edge = static_cast<std::size_t>(screen_.width());
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string shown = row[i].text;
    if (i + 1 == row.size() && edge > 0) {
      shown = cut(shown, edge > column ? std::max<std::size_t>(edge - column, 10) : 10);
    }
    const std::size_t width = width_of(shown);
    const std::size_t rest = widths_[i] > width ? widths_[i] - width : 0;
    if (!shown.empty()) {
      text.append(owed + (right_[i] ? rest : 0), ' ');
      text += screen_.styled(row[i].style, shown);
      owed = 0;
    } else {
      owed += right_[i] ? rest : 0;
    }
    owed += (right_[i] ? 0 : rest) + kGap;
    column += widths_[i] + kGap;
  }
  return text;
}

void Card::add(std::string name, Cell value) {
  if (value.text.empty()) return;
  value.text = printable(value.text);
  rows_.emplace_back(std::move(name), std::move(value));
}

void Card::print() {
  std::size_t width = 0;
  for (const auto& [name, value] : rows_) width = std::max(width, width_of(name));
  for (const auto& [name, value] : rows_) {
    const std::string space(width - width_of(name) + kGap, ' ');
    screen_.line(screen_.styled(Style::kDim, name) + space +
                 screen_.styled(value.style, value.text));
  }
  rows_.clear();
}

}  // namespace retsu::cli
