// Rows as bytes, for the journal: of a change, only the fields that it changed.
#pragma once

#include <algorithm>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/byte_buffer.h"
#include "base/json.h"
#include "engine/engine.h"
#include "engine/row_fields.h"
#include "model/json.h"

namespace retsu::embedded {

// Numbers are written seven bits a byte, the lowest first; what has a length, after it.
class Packer {
 public:
  void number(std::uint64_t value) {
    char* const to = bytes_.room(kNumberBytes);
    *to = static_cast<char>(value);
    bytes_.wrote(value < 0x80 ? 1 : put(value, to));
  }
  void bytes(std::string_view value) {
    number(value.size());
    raw(value);
  }
  void raw(std::string_view value) { bytes_.append(value); }
  // What `write` writes, with its length before it. That takes one byte, nearly always.
  template <class Write>
  void with_length(const Write& write) {
    const std::size_t start = bytes_.size();
    bytes_.room(1);
    bytes_.wrote(1);
    write();
    const std::size_t length = bytes_.size() - start - 1;
    char number[kNumberBytes];
    const std::size_t taken = put(length, number);
    char* const place = bytes_.room(taken - 1) - length - 1;
    if (taken > 1) std::memmove(place + taken, place + 1, length);
    std::memcpy(place, number, taken);
    bytes_.wrote(taken - 1);
  }

  [[nodiscard]] std::string_view view() const { return bytes_.view(); }
  // The memory stays, if it is as much as most need.
  void clear() {
    if (bytes_.capacity() > kKeptBytes) bytes_ = ByteBuffer();
    bytes_.clear();
  }

 private:
  static constexpr std::size_t kNumberBytes = 10;  // at most
  static constexpr std::size_t kKeptBytes = std::size_t{4} << 20;

  static std::size_t put(std::uint64_t value, char* to) {
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) to[size++] = static_cast<char>(value | 0x80);
    to[size++] = static_cast<char>(value);
    return size;
  }

  ByteBuffer bytes_;
};

// Reads what a Packer wrote. After damage everything is 0 or empty, and failed() says so.
class Unpacker {
 public:
  // Queues and lines that rows refer to are those of the engine.
  Unpacker(std::string_view bytes, Engine& engine) : rest_(bytes), engine_(engine) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  std::string_view bytes() {
    const std::uint64_t size = number();
    if (size > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }
  Engine& engine() { return engine_; }

  void fail() {
    failed_ = true;
    rest_ = {};
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  Engine& engine_;
  bool failed_ = false;
};

// Engine structs go field by field; the model's structs, which are rare and small, as JSON.
template <class T>
inline constexpr bool kByFields = false;
template <>
inline constexpr bool kByFields<engine::Options> = true;
template <>
inline constexpr bool kByFields<engine::Run> = true;
template <>
inline constexpr bool kByFields<engine::Waits> = true;

template <class T>
inline constexpr bool kIsPointer = false;
template <class T>
inline constexpr bool kIsPointer<boost::intrusive_ptr<T>> = true;
template <class T>
inline constexpr bool kIsPointer<std::shared_ptr<T>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t size>
inline constexpr bool kIsArray<std::array<T, size>> = true;

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

template <class T>
void pack_fields(Packer& out, const T& before, const T& after, unsigned but = 0);
template <class T>
void unpack_fields(Unpacker& in, T& value);

template <class T>
void pack(Packer& out, const T& before, const T& after) {
  if constexpr (std::is_same_v<T, boost::intrusive_ptr<engine::Line>>) {
    out.bytes(after->queue->name);
    out.bytes(after->user);
  } else if constexpr (kIsPointer<T>) {
    out.number(after ? 1 : 0);
    using Pointed = std::remove_const_t<typename T::element_type>;
    static const auto kBlank = Pointed();
    if (after) pack(out, before ? *before : kBlank, *after);
  } else if constexpr (kIsOptional<T>) {
    out.number(after ? 1 : 0);
    if (after) pack(out, typename T::value_type{}, *after);
  } else if constexpr (kIsArray<T>) {
    std::size_t changed = 0;
    for (std::size_t i = 0; i < after.size(); ++i) changed += before[i] != after[i] ? 1 : 0;
    out.number(changed);
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (before[i] == after[i]) continue;
      out.number(i);
      pack(out, before[i], after[i]);
    }
  } else if constexpr (std::is_same_v<T, TimePoint>) {
    out.number(zigzag(after.time_since_epoch().count()));
  } else if constexpr (std::is_enum_v<T>) {
    out.number(static_cast<std::uint64_t>(after));
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    out.number(zigzag(after));
  } else if constexpr (std::is_integral_v<T>) {
    out.number(after);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out.bytes(after);
  } else if constexpr (kByFields<T>) {
    pack_fields(out, before, after);
  } else {
    std::string text;
    append_json(text, after);
    out.bytes(text);
  }
}

template <class T>
void unpack(Unpacker& in, T& value) {
  if constexpr (std::is_same_v<T, boost::intrusive_ptr<engine::Line>>) {
    const std::string_view queue = in.bytes();
    value = in.engine().line(queue, in.bytes());
  } else if constexpr (kIsPointer<T>) {
    using Pointed = std::remove_const_t<typename T::element_type>;
    if (in.number() == 0) {
      value = nullptr;
      return;
    }
    // What is shared is never changed in place.
    auto* made = value ? new Pointed(*value) : new Pointed();
    value = T(made);
    unpack(in, *made);
  } else if constexpr (kIsOptional<T>) {
    if (in.number() == 0) {
      value.reset();
    } else {
      unpack(in, value.emplace());
    }
  } else if constexpr (kIsArray<T>) {
    for (std::uint64_t changed = in.number(); changed > 0 && !in.failed(); --changed) {
      const std::uint64_t at = in.number();
      if (at >= value.size()) return in.fail();
      unpack(in, value[at]);
    }
  } else if constexpr (std::is_same_v<T, TimePoint>) {
    value = TimePoint(Millis(unzigzag(in.number())));
  } else if constexpr (std::is_enum_v<T>) {
    const std::uint64_t number = in.number();
    value = static_cast<T>(number);
    if (number >= names_of(std::type_identity<T>{}).size()) in.fail();
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    value = static_cast<T>(unzigzag(in.number()));
  } else if constexpr (std::is_integral_v<T>) {
    value = static_cast<T>(in.number());
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    value = T(in.bytes());
  } else if constexpr (kByFields<T>) {
    unpack_fields(in, value);
  } else {
    auto read = from_json<T>(in.bytes());
    if (!read) return in.fail();
    value = std::move(*read);
  }
}

// A bit for each field that differs, but for those of some use, then those fields.
template <class T>
void pack_fields(Packer& out, const T& before, const T& after, unsigned but) {
  std::uint64_t changed = 0;
  std::uint64_t bit = 1;
  for_each_field<T>([&](const auto& field) {
    if ((field.use & but) == 0 && before.*field.member != after.*field.member) changed |= bit;
    bit <<= 1;
  });
  out.number(changed);
  bit = 1;
  for_each_field<T>([&](const auto& field) {
    if (changed & bit) pack(out, before.*field.member, after.*field.member);
    bit <<= 1;
  });
}

template <class T>
void unpack_fields(Unpacker& in, T& value) {
  const std::uint64_t changed = in.number();
  std::uint64_t bit = 1;
  for_each_field<T>([&](const auto& field) {
    if (changed & bit) unpack(in, value.*field.member);
    bit <<= 1;
  });
  if (changed >= bit) in.fail();  // fields of a later version
}

}  // namespace retsu::embedded
