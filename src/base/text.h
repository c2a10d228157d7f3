#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace retsu {

// An immutable string shared by reference count. A handle is 8 bytes and the bytes are one
// allocation, so a payload travels from the socket through the engine to a worker without being
// copied. Handles may be copied and dropped on any thread. At most 2 GiB.
//
// A parked text knows its size and a key under which its bytes are kept elsewhere; it has none
// itself.
class Text {
 public:
  Text() = default;
  Text(std::string_view bytes)
      : block_(bytes.empty() ? nullptr : make(bytes)) {}             // NOLINT: a string is a Text
  Text(const char* bytes) : Text(std::string_view(bytes)) {}         // NOLINT
  Text(const std::string& bytes) : Text(std::string_view(bytes)) {}  // NOLINT
  Text(const Text& other) noexcept : block_(other.block_) {
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Text(Text&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Text& operator=(Text other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Text() {
    if (block_ && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      block_->~Block();
      ::operator delete(block_);
    }
  }

  static Text parked(std::size_t size, std::uint64_t key) {
    Text made(std::string_view(reinterpret_cast<const char*>(&key), sizeof key));
    made.block_->size = static_cast<std::uint32_t>(size) | kParked;
    return made;
  }
  [[nodiscard]] bool is_parked() const noexcept { return block_ && (block_->size & kParked) != 0; }
  [[nodiscard]] std::uint64_t key() const noexcept {  // of a parked one
    std::uint64_t key = 0;
    std::memcpy(&key, block_ + 1, sizeof key);
    return key;
  }

  [[nodiscard]] std::string_view view() const noexcept {
    return block_ && !is_parked()
               ? std::string_view(reinterpret_cast<const char*>(block_ + 1), block_->size)
               : std::string_view();
  }
  operator std::string_view() const noexcept { return view(); }  // NOLINT
  [[nodiscard]] std::string str() const { return std::string(view()); }
  [[nodiscard]] std::size_t size() const noexcept { return block_ ? block_->size & ~kParked : 0; }
  [[nodiscard]] bool empty() const noexcept { return block_ == nullptr; }
  void prefetch() const noexcept { __builtin_prefetch(block_, 1); }  // it is needed soon

  friend bool operator==(const Text& a, const Text& b) noexcept {
    if (a.block_ == b.block_) return true;
    if (a.size() != b.size() || a.is_parked() != b.is_parked()) return false;
    return a.is_parked() ? a.key() == b.key() : a.view() == b.view();
  }
  friend std::strong_ordering operator<=>(const Text& a, const Text& b) noexcept {
    return a.view() <=> b.view();
  }

 private:
  static constexpr std::uint32_t kParked = std::uint32_t{1} << 31;

  struct Block {
    std::atomic<std::uint32_t> references{1};
    std::uint32_t size = 0;
  };

  static Block* make(std::string_view bytes) {
    void* memory = ::operator new(sizeof(Block) + bytes.size());
    auto* block = new (memory) Block;
    block->size = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(static_cast<char*>(memory) + sizeof(Block), bytes.data(), bytes.size());
    return block;
  }

  Block* block_ = nullptr;
};

// A JSON value as text. Empty: none at all, which is not the same as null.
struct Json : Text {
  using Text::Text;
  static Json parked(std::size_t size, std::uint64_t key) {
    Json made;
    static_cast<Text&>(made) = Text::parked(size, key);
    return made;
  }
};

}  // namespace retsu

template <>
struct std::hash<retsu::Text> {
  std::size_t operator()(const retsu::Text& text) const noexcept {
    return std::hash<std::string_view>()(text.view());
  }
};
