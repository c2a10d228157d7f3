#include "ingest/prepare.h"

#include <utility>
#include <variant>

namespace retsu {
namespace {

struct Naming {
  TimePoint now;
  IdSource& ids;

  void name(std::string& id) const {
    if (id.empty()) id = ids.next(now);
  }
  void name(std::vector<NewTask>& tasks) const {
    for (NewTask& task : tasks) {
      if (!task.id.empty()) continue;
      task.id = ids.next(now);
      task.id_generated = true;
    }
  }

  void operator()(Push& push) const { name(push.tasks); }
  void operator()(Claim& claim) const { name(claim.claim_id); }
  void operator()(RunSchedule& run) const { name(run.id); }
  void operator()(Settle& settle) const {
    for (SettleOne& one : settle.results) name(one.children);
  }
  template <class Op>
  void operator()(Op&) const {}
};

}  // namespace

Command prepare(Command command, TimePoint now, IdSource& ids) {
  std::visit(Naming{now, ids}, command);
  return command;
}

}  // namespace retsu
