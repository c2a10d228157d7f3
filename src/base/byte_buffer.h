#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace retsu {

// Bytes that are written one small piece after the other: a string looks at itself for each of
// them, and fills with zeros what is to be written over.
class ByteBuffer {
 public:
  // Where so many bytes, or fewer, may be written; wrote() says how many were.
  char* room(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
    return bytes_.get() + size_;
  }
  void wrote(std::size_t bytes) { size_ += bytes; }
  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
    wrote(bytes.size());
  }

  [[nodiscard]] std::string_view view() const { return {bytes_.get(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] char* data() { return bytes_.get(); }
  void clear() { size_ = 0; }  // the memory stays

 private:
  void grow(std::size_t bytes) {
    capacity_ = std::max<std::size_t>({2 * capacity_, size_ + bytes, 64});
    auto grown = std::make_unique_for_overwrite<char[]>(capacity_);
    if (size_ > 0) std::memcpy(grown.get(), bytes_.get(), size_);
    bytes_ = std::move(grown);
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace retsu
