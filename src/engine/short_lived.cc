#include "engine/short_lived.h"

#include <atomic>
#include <cstdint>
#include <new>

#include "base/check.h"

namespace retsu::engine {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
constexpr std::size_t kAlignment = alignof(std::max_align_t);
constexpr std::align_val_t kChunkAlignment{kChunkBytes};  // so an object knows its chunk

// While objects are being made in a chunk it counts as many too many, so that only dropping them
// costs an atomic operation.
constexpr std::int64_t kOpen = std::int64_t{1} << 40;

struct alignas(kAlignment) Chunk {
  std::atomic<std::int64_t> objects = kOpen;
};

void drop(Chunk* chunk, std::int64_t objects) {
  if (chunk->objects.fetch_sub(objects, std::memory_order_acq_rel) != objects) return;
  chunk->~Chunk();
  ::operator delete(chunk, kChunkAlignment);
}

// In which a thread makes objects.
class OpenChunk {
 public:
  ~OpenChunk() { close(); }

  void* take(std::size_t bytes) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (chunk_ == nullptr || used_ + bytes > kChunkBytes) open();
    RETSU_CHECK(used_ + bytes <= kChunkBytes);
    void* place = reinterpret_cast<std::byte*>(chunk_) + used_;
    used_ += bytes;
    ++made_;
    return place;
  }

 private:
  void open() {
    close();
    chunk_ = new (::operator new(kChunkBytes, kChunkAlignment)) Chunk;
    used_ = sizeof(Chunk);
    made_ = 0;
  }
  void close() {
    if (chunk_ != nullptr) drop(chunk_, kOpen - made_);
    chunk_ = nullptr;
  }

  Chunk* chunk_ = nullptr;
  std::size_t used_ = 0;
  std::int64_t made_ = 0;
};

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// So that the sanitizer sees each object by itself.
void* take_short_lived(std::size_t bytes) { return ::operator new(bytes); }
void give_back_short_lived(void* object) noexcept { ::operator delete(object); }
#else
void* take_short_lived(std::size_t bytes) {
  thread_local OpenChunk open;
  return open.take(bytes);
}
void give_back_short_lived(void* object) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  drop(reinterpret_cast<Chunk*>(address & ~(kChunkBytes - 1)), 1);  // NOLINT
}
#endif

}  // namespace retsu::engine
