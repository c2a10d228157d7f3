// Whether rows that refer to each other fit together. An engine trusts them blindly.
#pragma once

#include <xxhash.h>

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/embedded/stored.h"

namespace retsu::embedded {

// Is shown all rows of a store, kind by kind as Loader does, and keeps little of each.
class References {
 public:
  // Whether values that nothing depends on are looked at too: JSON, and what is waited for.
  enum class Care : std::uint8_t { kEnough, kAll };
  explicit References(Care care) : care_(care) {}
  void expect(std::size_t tasks) { tasks_.reserve(tasks); }

  template <class Row>
  void see(const Row&) {}
  void see(const StoredMeta& meta);
  void see(const StoredQueue& queue);
  void see(const engine::TaskRow& task);
  void see(const engine::EdgeRow& edge);
  void see(const engine::ClaimRow& claim);
  void see(const engine::MemberRow& member);
  void see(const engine::ScheduleRow& schedule);
  void see(const engine::CascadeRow& cascade);

  [[nodiscard]] bool fit() const { return problems_.empty(); }  // all rows seen so far
  // What does not fit, each with its place; the first hundred. When all rows have been seen.
  [[nodiscard]] std::vector<std::string> problems() &&;

 private:
  void complain(std::string problem);
  void see_value(const engine::TaskRow& task, const char* column, const Json& value);

  // An id, told apart from all others by 128 bits of a hash.
  struct Id {
    explicit Id(std::string_view id) {
      const XXH128_hash_t hash = XXH3_128bits(id.data(), id.size());
      bits = {hash.high64, hash.low64};
    }
    auto operator<=>(const Id&) const = default;
    std::array<std::uint64_t, 2> bits;
  };
  struct IdHash {
    using is_avalanching = void;
    std::size_t operator()(const Id& id) const { return id.bits[0]; }
  };
  struct Seen {
    Id id;
    engine::Sequence sequence;
  };
  // The sequence of a task; none: there is no such task. When all tasks have been seen.
  std::optional<engine::Sequence> find(std::string_view task);
  void sort_tasks();

  struct Started {
    engine::Sequence sequence = 0;
    std::int64_t fence = 0;
    Text claim_id;
    bool held = false;
  };
  const Care care_;
  std::vector<Seen> tasks_;  // by id, once they are sorted
  bool sorted_ = false;
  boost::unordered_flat_map<Id, Started, IdHash> started_;
  const engine::Queue* last_queue_ = nullptr;  // of a task, and it is there
  boost::unordered_flat_set<Text, std::hash<Text>> queues_;
  boost::unordered_flat_map<std::uint64_t, Text> claims_;  // their ids
  engine::MetaRow meta_;
  // Open references by the task that is not there: its dependents may be about to be told.
  boost::unordered_flat_map<Text, std::string, std::hash<Text>> unmet_;
  std::vector<std::string> problems_;
};

}  // namespace retsu::embedded
