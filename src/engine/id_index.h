#pragma once

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/nodes.h"

namespace retsu::engine {

// Finds a task by its id. Split into shards, so that growing pauses for a shard and not for all.
//
// With a million tasks nothing here is in a cache, so what counts is how much memory a look
// touches: a slot is one word that has the task's address and the beginning of its id's hash, and
// tasks that want the same slot stand behind each other. Of a task that is not there, no other is
// looked at; neither is one when a shard grows, or closes the gap that an erased one leaves.
class IdIndex {
 public:
  [[nodiscard]] TaskNode* find(std::string_view id) const {
    const std::uint64_t hash = hash_of(id);
    const Shard& shard = shard_of(hash);
    for (std::size_t i = shard.home(hash); shard.has(i); i = shard.next(i)) {
      if (!same_beginning(shard.slots[i], hash)) continue;
      TaskNode* task = task_of(shard.slots[i]);
      if (task->row.id.view() == id) return task;
    }
    return nullptr;
  }
  // It is looked for soon.
  void expect(std::string_view id) const {
    const std::uint64_t hash = hash_of(id);
    const Shard& shard = shard_of(hash);
    if (!shard.slots.empty()) __builtin_prefetch(&shard.slots[shard.home(hash)], 1);
  }

  // One whose id is not there yet.
  void insert(TaskNode* task) {
    const std::uint64_t hash = hash_of(task->row.id);
    shard_of(hash).insert(slot_of(task, hash));
    ++size_;
  }
  void erase(TaskNode* task) {
    const std::uint64_t hash = hash_of(task->row.id);
    shard_of(hash).erase(slot_of(task, hash));
    --size_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  void reserve(std::size_t tasks) {
    for (Shard& shard : shards_) shard.reserve(tasks / kShards + tasks / kShards / 8);
  }

  // In no particular order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Shard& shard : shards_) {
      for (const Slot slot : shard.slots) {
        if (slot != kNone) visit(*task_of(slot));
      }
    }
  }

 private:
  static constexpr std::size_t kShards = 256;
  static constexpr int kAddressBits = 48;
  static constexpr int kAlignmentBits = std::countr_zero(alignof(TaskNode));
  static constexpr int kTaskBits = kAddressBits - kAlignmentBits;
  static constexpr int kHashBits = 64 - kTaskBits;  // the highest

  using Slot = std::uint64_t;
  static constexpr Slot kNone = 0;

  struct Shard {
    std::vector<Slot> slots;  // a power of two, at most 4/5 of them used
    std::size_t used = 0;

    [[nodiscard]] bool has(std::size_t i) const { return !slots.empty() && slots[i] != kNone; }
    [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & (slots.size() - 1); }
    // Where it would stand if it were alone, by what a slot has of its hash.
    [[nodiscard]] std::size_t home(std::uint64_t slot_or_hash) const {
      return (slot_or_hash >> kTaskBits) * slots.size() >> kHashBits;
    }

    void insert(Slot slot) {
      if (5 * (used + 1) > 4 * slots.size()) grow(2 * slots.size());
      std::size_t i = home(slot);
      while (has(i)) i = next(i);
      slots[i] = slot;
      ++used;
    }
    void erase(Slot slot) {
      std::size_t gap = home(slot);
      while (slots[gap] != slot) {
        RETSU_CHECK(has(gap));
        gap = next(gap);
      }
      // Those behind it move up, as far as each may.
      const std::size_t most = slots.size() - 1;
      for (std::size_t i = next(gap); has(i); i = next(i)) {
        if (((i - home(slots[i])) & most) < ((i - gap) & most)) continue;
        slots[gap] = slots[i];
        gap = i;
      }
      slots[gap] = kNone;
      --used;
    }
    void reserve(std::size_t tasks) {
      const std::size_t wanted = std::bit_ceil(tasks + tasks / 4);
      if (wanted > slots.size()) grow(wanted);
    }
    void grow(std::size_t to) {
      constexpr std::size_t kLeast = 8;
      const std::vector<Slot> before =
          std::exchange(slots, std::vector<Slot>(std::max(to, kLeast), kNone));
      used = 0;
      for (const Slot slot : before) {
        if (slot != kNone) insert(slot);
      }
    }
  };

  static std::uint64_t hash_of(std::string_view id) { return XXH3_64bits(id.data(), id.size()); }
  // By the lowest bits: slots have the highest.
  static std::size_t shard_number(std::uint64_t hash) { return hash & (kShards - 1); }
  [[nodiscard]] const Shard& shard_of(std::uint64_t hash) const {
    return shards_[shard_number(hash)];
  }
  Shard& shard_of(std::uint64_t hash) { return shards_[shard_number(hash)]; }

  static Slot slot_of(const TaskNode* task, std::uint64_t hash) {
    const auto address = reinterpret_cast<std::uintptr_t>(task);
    RETSU_CHECK(address >> kAddressBits == 0);
    return hash >> kTaskBits << kTaskBits | address >> kAlignmentBits;
  }
  static TaskNode* task_of(Slot slot) {
    constexpr Slot kTask = (Slot{1} << kTaskBits) - 1;
    return reinterpret_cast<TaskNode*>((slot & kTask) << kAlignmentBits);  // NOLINT
  }
  static bool same_beginning(Slot slot, std::uint64_t hash) {
    return (slot ^ hash) >> kTaskBits == 0;
  }

  std::array<Shard, kShards> shards_;
  std::size_t size_ = 0;
};

}  // namespace retsu::engine
