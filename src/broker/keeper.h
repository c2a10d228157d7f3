#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace retsu {

// Makes what the engine did last, group by group: commit, and, if that went well, kept and note.
// All calls come from the broker's owner thread but commit(), which may run beside it while it goes
// on with the engine; meanwhile the keeper is only to note the group before, and to say whether
// payloads were lost. commit() may read the group, not copy or drop pointers to queues and lines:
// these are counted for one thread.
class Keeper {
 public:
  virtual ~Keeper() = default;

  enum class Kept : std::uint8_t {
    kYes,
    kFull,     // nothing was kept, for want of room
    kUnknown,  // nobody can say: only what reopen() finds is true
  };
  // May be called on the owner's thread for a group that is to be committed next: what can be done
  // for it there, while its rows are in that processor's caches.
  virtual void prepare(const engine::Changes& /*group*/) {}
  virtual Kept commit(const engine::Changes& group) = 0;
  virtual void kept(Engine& engine) = 0;
  virtual void note(engine::Changes group) = 0;

  // Finds the tasks of a list without the engine, whose own way is to look at every task. False: it
  // cannot, or not better. Else `done` is called once, later, on any thread.
  struct Found {
    std::vector<std::string> ids;
    std::optional<std::string> next_cursor;
  };
  using Done = std::function<void(Result<Found>)>;
  virtual bool search(const ListTasks& /*list*/, std::size_t /*tasks*/, Done /*done*/) {
    return false;
  }

  // All that was ever kept, into an empty engine. Called once at the beginning, and after kUnknown.
  virtual Status reopen(Engine& engine) = 0;

  // Whether there is room again after kFull. Asked now and then.
  virtual bool has_room() = 0;

  // A payload that was parked could not be had: what the engine made of it is not to be trusted,
  // and works() is false.
  [[nodiscard]] virtual bool lost_payload() const { return false; }

  // False: only reopen() helps.
  [[nodiscard]] virtual bool works() const = 0;

  // A slice of work that can wait. When to come again; kNoWork: not before the next group.
  static constexpr std::chrono::milliseconds kNoWork = std::chrono::milliseconds::max();
  virtual std::chrono::milliseconds tidy(Engine& engine) = 0;
  [[nodiscard]] virtual bool is_awaited() const { return false; }  // that work
};

}  // namespace retsu
