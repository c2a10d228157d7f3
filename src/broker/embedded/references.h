// Whether rows that refer to each other fit together. An engine trusts them blindly.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <string>
#include <vector>

#include "broker/embedded/stored.h"

namespace retsu::embedded {

// Is shown all rows of a store, kind by kind as Loader does, and keeps little of each.
class References {
 public:
  template <class Row>
  void see(const Row&) {}
  void see(const StoredMeta& meta);
  void see(const StoredQueue& queue);
  void see(const engine::TaskRow& task);
  void see(const engine::EdgeRow& edge);
  void see(const engine::ClaimRow& claim);
  void see(const engine::MemberRow& member);
  void see(const engine::ScheduleRow& schedule);

  // What does not fit, each with its place; the first hundred.
  [[nodiscard]] std::vector<std::string> problems() &&;

 private:
  void complain(std::string problem);
  void see_value(const engine::TaskRow& task, const char* column, const Json& value);

  struct SeenTask {
    engine::Sequence sequence = 0;
    State state = State::kQueued;
    std::int64_t fence = 0;
    bool held = false;
  };
  boost::unordered_flat_map<Text, SeenTask, std::hash<Text>> tasks_;
  boost::unordered_flat_set<Text, std::hash<Text>> queues_;
  boost::unordered_flat_set<std::uint64_t> claims_;
  boost::unordered_flat_set<Text, std::hash<Text>> claim_ids_;
  engine::MetaRow meta_;
  std::vector<std::string> problems_;
};

}  // namespace retsu::embedded
