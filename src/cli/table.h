// Rows of text in aligned columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/screen.h"

namespace retsu::cli {

struct Cell {
  Cell(std::string its_text, Style its_style = Style::kPlain)  // NOLINT: a text is a cell
      : text(std::move(its_text)), style(its_style) {}
  Cell(const char* its_text) : Cell(std::string(its_text)) {}  // NOLINT
  std::string text;
  Style style;
};

// As wide as its contents; on a terminal the last column is cut at the edge. Control characters are
// shown as such. Columns of numbers are named with a leading `>` and aligned to the right.
class Table {
 public:
  Table(Screen& screen, std::vector<std::string> columns);

  void add(std::vector<Cell> row);  // one cell a column
  // May be called page by page: the headline comes once, columns only ever get wider.
  void print();

 private:
  [[nodiscard]] std::string row_text(const std::vector<Cell>& row) const;

  Screen& screen_;
  std::vector<Cell> headline_;
  std::vector<bool> right_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<Cell>> rows_;
  bool began_ = false;
};

// Names and values, for one thing. Values that are empty are left out.
class Card {
 public:
  explicit Card(Screen& screen) : screen_(screen) {}
  void add(std::string name, Cell value);
  void print();

 private:
  Screen& screen_;
  std::vector<std::pair<std::string, Cell>> rows_;
};

// How many columns a text takes: none for combining marks, two for most of Chinese and Japanese.
std::size_t width_of(std::string_view text);

// The text, or as much of it as fits with an ellipsis.
std::string cut(std::string_view text, std::size_t width);

}  // namespace retsu::cli
