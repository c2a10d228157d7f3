#pragma once

#include <xxhash.h>

#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <string_view>

#include "engine/nodes.h"

namespace retsu::engine {

// Finds a task by its id. Split into shards, so that growing pauses for a shard and not for all.
class IdIndex {
 public:
  [[nodiscard]] TaskNode* find(std::string_view id) const {
    const Hashed key{id, hash_of(id)};
    const Shard& shard = shards_[shard_of(key.hash)];
    const auto found = shard.find(key);
    return found == shard.end() ? nullptr : *found;
  }
  void insert(TaskNode* task) {
    shards_[shard_of(hash_of(task->row.id))].insert(task);
    ++size_;
  }
  void erase(TaskNode* task) {
    shards_[shard_of(hash_of(task->row.id))].erase(task);
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
      for (TaskNode* task : shard) visit(*task);
    }
  }

 private:
  static constexpr std::size_t kShards = 256;

  static std::uint64_t hash_of(std::string_view id) { return XXH3_64bits(id.data(), id.size()); }
  // The set itself takes the highest and the lowest bits: those of a shard must differ there.
  static std::size_t shard_of(std::uint64_t hash) { return hash >> 24 & (kShards - 1); }

  struct Hashed {
    std::string_view id;
    std::uint64_t hash;
  };

  struct Hash {
    using is_transparent = void;
    using is_avalanching = void;
    std::size_t operator()(const TaskNode* task) const { return hash_of(task->row.id); }
    std::size_t operator()(const Hashed& key) const { return key.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const TaskNode* a, const TaskNode* b) const { return a == b; }
    bool operator()(const TaskNode* a, const Hashed& key) const {
      return a->row.id.view() == key.id;
    }
    bool operator()(const Hashed& key, const TaskNode* a) const {
      return a->row.id.view() == key.id;
    }
  };
  using Shard = boost::unordered_flat_set<TaskNode*, Hash, Equal>;

  std::array<Shard, kShards> shards_;
  std::size_t size_ = 0;
};

}  // namespace retsu::engine
