// What the suite tests: a broker, and the clock that it lives by.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/time.h"
#include "broker/broker.h"
#include "deep.h"
#include "model/policy.h"

namespace retsu::conformance {

class Subject {
 public:
  virtual ~Subject() = default;

  virtual Broker& broker() = 0;

  // What the clock shows, which is not the queue's time if the clock was set back.
  virtual TimePoint now() = 0;

  // May go backwards. Returns when everything due by then has happened, but for long work, which
  // goes on with each call.
  virtual void set_clock(TimePoint time) = 0;

  // Does not know for how long no worker has asked: that is not kept.
  virtual bool forgets_workers() { return false; }

  // Asked over a wire: what arrives of a command is what can be written as JSON, and the door knows
  // by itself who calls.
  virtual bool is_remote() { return false; }

  void advance(Millis by) { set_clock(now() + by); }
};

struct SubjectKind {
  std::string name;                                      // letters and digits: part of test names
  std::function<std::unique_ptr<Subject>(Limits)> make;  // empty, its clock before 2030
  bool is_slow = false;                                  // a model: spared the largest tests
};

inline void PrintTo(const SubjectKind& kind, std::ostream* out) { *out << kind.name; }

inline int calls_between_restarts() {
  if (deep()) return 1;
  return kSanitized ? 7 : 3;
}
// What this build can test. One of them ends and begins anew before every so many calls.
std::vector<SubjectKind> subject_kinds(int calls = calls_between_restarts());

}  // namespace retsu::conformance
