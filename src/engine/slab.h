#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace retsu::engine {

// Objects at fixed addresses, allocated by the thousand and reused. Whoever makes them drops them.
template <class T>
class Slab {
 public:
  T* make() {
    if (free_ == nullptr) grow();
    Cell* cell = free_;
    free_ = cell->next;
    return new (cell->bytes) T();
  }

  void drop(T* object) {
    object->~T();
    auto* cell = reinterpret_cast<Cell*>(object);
    cell->next = free_;
    free_ = cell;
  }

 private:
  static constexpr std::size_t kChunk = 1024;
  union Cell {
    alignas(T) std::byte bytes[sizeof(T)];
    Cell* next;
  };

  void grow() {
    chunks_.push_back(std::unique_ptr<Cell[]>(new Cell[kChunk]));
    for (std::size_t i = kChunk; i-- > 0;) {
      chunks_.back()[i].next = free_;
      free_ = &chunks_.back()[i];
    }
  }

  std::vector<std::unique_ptr<Cell[]>> chunks_;
  Cell* free_ = nullptr;
};

}  // namespace retsu::engine
