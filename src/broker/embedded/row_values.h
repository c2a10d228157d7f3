// Values of a row as bytes, and the sum of these, which is kept beside the row: what comes back
// from the disk other than it was written is told, not believed. A payload has its own sum, since a
// row may be written without it.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/byte_buffer.h"

namespace retsu::embedded {

inline std::int64_t sum_of(std::string_view bytes) {
  return static_cast<std::int64_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

enum class ValueKind : char { kNull, kInteger, kBytes };

class ValueWriter {
 public:
  explicit ValueWriter(ByteBuffer& to) : to_(to) {}

  void null() { nulls(1); }
  void nulls(std::size_t values) {
    static_assert(static_cast<int>(ValueKind::kNull) == 0);
    std::memset(to_.room(values * kNumberBytes), 0, values * kNumberBytes);
    to_.wrote(values * kNumberBytes);
  }
  void integer(std::int64_t value) { add(ValueKind::kInteger, value); }
  void bytes(std::string_view value) {
    add(ValueKind::kBytes, static_cast<std::int64_t>(value.size()));
    to_.append(value);
  }

 private:
  static constexpr std::size_t kNumberBytes = 1 + sizeof(std::int64_t);

  void add(ValueKind kind, std::int64_t number) {
    char* const to = to_.room(kNumberBytes);
    *to = static_cast<char>(kind);
    std::memcpy(to + 1, &number, sizeof number);
    to_.wrote(kNumberBytes);
  }

  ByteBuffer& to_;
};

// One after the other what a ValueWriter wrote.
class ValueReader {
 public:
  explicit ValueReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] ValueKind kind() const { return static_cast<ValueKind>(rest_.front()); }
  std::int64_t integer() {
    std::int64_t number = 0;
    std::memcpy(&number, rest_.data() + 1, sizeof number);
    rest_.remove_prefix(1 + sizeof number);
    return number;
  }
  std::string_view bytes() {
    if (kind() != ValueKind::kBytes) {
      integer();
      return {};
    }
    const auto size = static_cast<std::size_t>(integer());
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  [[nodiscard]] const char* place() const { return rest_.data(); }

 private:
  std::string_view rest_;
};

}  // namespace retsu::embedded
