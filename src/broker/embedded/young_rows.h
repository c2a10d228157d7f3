// What rows have become, found by their place in a table.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

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

  // visit(place, latest) for each, in no particular order; then there are none.
  template <class Visit>
  void take(Visit visit) {
    for (auto& [place, latest] : rows_) visit(place, std::move(latest));
    rows_.clear();
  }

 private:
  boost::unordered_flat_map<Key<Row>, Latest<Row>, KeyHash> rows_;
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
      page = remember(number / kRows, made.get());
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
    last_ = nullptr;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  template <class Visit>
  void take(Visit visit) {
    using Number = std::tuple_element_t<0, Key<Row>>;
    for (auto& [page_number, page] : pages_) {
      for (std::uint64_t i = 0; i < kRows; ++i) {
        if ((page->used >> i & 1) == 0) continue;
        visit(Key<Row>(static_cast<Number>(page_number * kRows + i)), std::move(page->rows[i]));
      }
      page.reset();
    }
    pages_.clear();
    last_ = nullptr;
    size_ = 0;
  }

 private:
  static constexpr std::uint64_t kRows = 16;
  struct Page {
    std::uint32_t used = 0;  // a bit for each
    std::array<Latest<Row>, kRows> rows;
  };

  [[nodiscard]] Page* page_of(std::uint64_t number) const {
    if (last_ != nullptr && last_number_ == number / kRows) return last_;
    const auto found = pages_.find(number / kRows);
    return found == pages_.end() ? nullptr : remember(found->first, found->second.get());
  }
  Page* remember(std::uint64_t number, Page* page) const {
    last_number_ = number;
    return last_ = page;
  }

  boost::unordered_flat_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::size_t size_ = 0;
  mutable std::uint64_t last_number_ = 0;  // of the page that was asked for last
  mutable Page* last_ = nullptr;
};

}  // namespace retsu::embedded
