#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/nodes.h"
#include "model/error.h"
#include "model/operations.h"

namespace retsu {

// The queue as a state machine in memory. Commands and times go in; answers and changes come out.
// It reads no clock, does no I/O, starts no thread and throws no dice, so the same calls give the
// same queue. Commands must have passed validate() and prepare(). Not thread-safe.
class Engine {
 public:
  explicit Engine(Limits limits = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // First everything due by `clock` happens (a clock set back stands still), then the command. A
  // refused command has changed nothing. wait_ms is the broker's business: it is answered at once.
  Result<Reply> apply(const Command& command, TimePoint clock);
  void advance(TimePoint clock);

  // When advance() has something to do next; kNever: not before another command.
  [[nodiscard]] TimePoint next_event() const;
  [[nodiscard]] TimePoint now() const;

  // When a claim of all users would get a task from the queue: now, or when pace lets it; kNever:
  // not before something else happens. Cheap.
  [[nodiscard]] TimePoint claimable_at(std::string_view queue) const;
  // Whether the task, if there is one, has ended.
  [[nodiscard]] bool has_ended(std::string_view id) const;

  [[nodiscard]] std::size_t size() const;  // tasks
  // Those of the named tasks that are there and match, in this order.
  [[nodiscard]] std::vector<Task> view_matching(std::span<const std::string> ids,
                                                const Filter& filter) const;

  // Payloads may be parked, and are then had from the source when they are needed.
  void set_payload_source(std::function<Json(engine::Sequence)> source);
  [[nodiscard]] std::int64_t payload_bytes() const;  // in memory
  void park_payload(std::string_view id, engine::Sequence sequence);

  // What a key was answered, as long as that is remembered.
  [[nodiscard]] const engine::KeyRow* answer_to(std::string_view caller, std::string_view operation,
                                                std::string_view key) const;
  [[nodiscard]] bool can_remember() const;
  void remember(engine::KeyRow row);

  // All that has changed since the last call, in order. Undoing what was taken, the latest first,
  // gives back the queue as it was, to the last detail.
  engine::Changes take_changes();
  void undo(engine::Changes changes);

  // Rows that a store kept, put back in this order of kinds: meta, queues, settings, tasks, edges,
  // lines, claims, members, the rest. An engine that has restored all rows behaves as the one that
  // made them.
  void restore(const engine::Changes& changes);
  void expect(std::size_t tasks);  // about so many are about to be restored
  boost::intrusive_ptr<engine::Queue> queue(std::string_view name);
  boost::intrusive_ptr<engine::Line> line(std::string_view queue, std::string_view user);

  // Everything as text: two engines with the same text behave alike for ever.
  [[nodiscard]] std::string dump() const;

 private:
  std::unique_ptr<engine::Tables> tables_;
};

}  // namespace retsu
