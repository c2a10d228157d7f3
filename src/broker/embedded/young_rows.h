// What rows have become, found by their place in a table.
#pragma once

#include <algorithm>
#include <array>
#include <boost/container/deque.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "broker/embedded/latest.h"

namespace retsu::embedded {

template <class Key>
inline constexpr bool kIsNumber = false;
template <class Number>
inline constexpr bool kIsNumber<std::tuple<Number>> = std::is_integral_v<Number>;

template <class Row, bool by_number = kIsNumber<Key<Row>>>
class YoungRows {
 public:
  Latest<Row>& operator[](const Key<Row>& place) { return rows_[place]; }
  [[nodiscard]] const Latest<Row>* find(const Key<Row>& place) const {
    const auto found = rows_.find(place);
    return found == rows_.end() ? nullptr : &found->second;
  }
  void erase(const Key<Row>& place) { rows_.erase(place); }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }

  // visit(place, latest) for each, by place.
  template <class Visit>
  void in_order(Visit visit) {
    std::vector<typename decltype(rows_)::value_type*> order;
    order.reserve(rows_.size());
    for (auto& row : rows_) order.push_back(&row);
    std::ranges::sort(order, {}, [](const auto* row) -> const Key<Row>& { return row->first; });
    for (auto* row : order) visit(row->first, row->second);
  }
  void clear() { rows_ = {}; }

 private:
  boost::unordered_flat_map<Key<Row>, Latest<Row>, KeyHash> rows_;
};

// A line that is noted here lives, so one user's has one object, and that says where its note is.
// Where 100,000 users wait, it is in a cache when it has just been served; nothing else would be.
template <>
class YoungRows<StoredLine, false> {
 public:
  // Nothing is noted, and no line says so: they say it of the generation that they were noted in.
  void begin(std::uint32_t generation) { generation_ = generation; }

  Latest<StoredLine>& operator[](engine::Line* line) {
    if (Noted* noted = note_of(*line)) return noted->latest;
    std::size_t place = rows_.size();
    if (unused_.empty()) {
      rows_.emplace_back();
    } else {
      place = unused_.back();
      unused_.pop_back();
    }
    rows_[place].line = line;
    line->noted = {generation_, static_cast<std::uint32_t>(place)};
    return rows_[place].latest;
  }
  [[nodiscard]] const Latest<StoredLine>* find(engine::Line* line) const {
    const Noted* noted = note_of(*line);
    return noted == nullptr ? nullptr : &noted->latest;
  }
  void erase(engine::Line* line) {
    unused_.push_back(line->noted.place);
    line->noted = {};
    rows_[unused_.back()] = {};
  }
  [[nodiscard]] std::size_t size() const { return rows_.size() - unused_.size(); }

  template <class Visit>
  void in_order(Visit visit) {
    std::vector<Noted*> order;
    order.reserve(size());
    for (Noted& noted : rows_) {
      if (noted.line) order.push_back(&noted);
    }
    const auto key = [](const Noted* noted) {
      return std::pair(noted->line->queue->name.view(), noted->line->user.view());
    };
    std::ranges::sort(order, {}, key);
    for (Noted* noted : order) visit(noted->line.get(), noted->latest);
  }
  void clear() { *this = {}; }

 private:
  struct Noted {
    boost::intrusive_ptr<engine::Line> line;  // none: the place is not used
    Latest<StoredLine> latest;
  };
  using Blocks = boost::container::deque_options_t<boost::container::block_size<256>>;

  [[nodiscard]] const Noted* note_of(const engine::Line& line) const {
    const auto& [generation, place] = line.noted;
    return generation == generation_ && place < rows_.size() ? &rows_[place] : nullptr;
  }
  Noted* note_of(const engine::Line& line) {
    return const_cast<Noted*>(std::as_const(*this).note_of(line));
  }

  std::uint32_t generation_ = 0;
  boost::container::deque<Noted, void, Blocks> rows_;  // which stay where they are
  std::vector<std::uint32_t> unused_;                  // places
};

// Rows by number come, change and go together with those next to them: pages of them are found once
// for many.
template <class Row>
class YoungRows<Row, true> {
 public:
  Latest<Row>& operator[](const Key<Row>& place) {
    const auto number = static_cast<std::uint64_t>(std::get<0>(place));
    Page* page = page_of(number);
    if (page == nullptr) {
      auto& made = pages_[number / kRows];
      made = std::make_unique<Page>();
      page = remember(number, made.get());
    }
    const std::uint32_t bit = 1U << number % kRows;
    size_ += (page->used & bit) == 0 ? 1 : 0;
    page->used |= bit;
    return page->rows[number % kRows];
  }
  [[nodiscard]] const Latest<Row>* find(const Key<Row>& place) const {
    const auto number = static_cast<std::uint64_t>(std::get<0>(place));
    const Page* page = page_of(number);
    const bool has = page != nullptr && (page->used >> number % kRows & 1) != 0;
    return has ? &page->rows[number % kRows] : nullptr;
  }
  void erase(const Key<Row>& place) {
    const auto number = static_cast<std::uint64_t>(std::get<0>(place));
    Page* page = page_of(number);
    page->rows[number % kRows] = Latest<Row>();
    page->used &= ~(1U << number % kRows);
    --size_;
    if (page->used != 0) return;
    pages_.erase(number / kRows);
    remember(number, nullptr);
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  template <class Visit>
  void in_order(Visit visit) {
    using Number = std::tuple_element_t<0, Key<Row>>;
    std::vector<std::pair<std::uint64_t, Page*>> order;
    order.reserve(pages_.size());
    for (auto& [page_number, page] : pages_) order.emplace_back(page_number, page.get());
    std::ranges::sort(order);
    for (const auto& [page_number, page] : order) {
      for (std::uint64_t i = 0; i < kRows; ++i) {
        if ((page->used >> i & 1) == 0) continue;
        visit(Key<Row>(static_cast<Number>(page_number * kRows + i)), page->rows[i]);
      }
    }
  }
  void clear() { *this = {}; }

 private:
  static constexpr std::uint64_t kRows = 16;
  struct Page {
    std::uint32_t used = 0;  // a bit for each
    std::array<Latest<Row>, kRows> rows;
  };

  [[nodiscard]] Page* page_of(std::uint64_t number) const {
    if (last_number_ == number / kRows) return last_;
    const auto found = pages_.find(number / kRows);
    return remember(number, found == pages_.end() ? nullptr : found->second.get());
  }
  Page* remember(std::uint64_t number, Page* page) const {
    last_number_ = number / kRows;
    return last_ = page;
  }

  boost::unordered_flat_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::size_t size_ = 0;
  mutable std::uint64_t last_number_ = UINT64_MAX;  // of the page that was asked for last
  mutable Page* last_ = nullptr;                    // none: it is not there
};

}  // namespace retsu::embedded
