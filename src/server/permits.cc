#include "server/permits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/uuid.h"
#include "base/wall_clock.h"

namespace retsu::server {
namespace {

const std::string kNobody = NewTask().user;  // a task whose pusher named no user

tl::unexpected<Error> forbidden(std::string_view what) {
  return refuse(ErrorCode::kForbidden, fmt::format("this token may not {}", what));
}

class Narrowing {
 public:
  explicit Narrowing(const Caller& caller) : caller_(caller) {}

  // -- tasks

  Result<Permit> operator()(Push& push) const { return own(push.tasks); }
  Result<Permit> operator()(GetTask& op) const { return by_task(op.id); }
  Result<Permit> operator()(Why& op) const { return by_task(op.id); }
  Result<Permit> operator()(Graph& op) const { return by_task(op.id); }
  Result<Permit> operator()(CancelTask& op) const { return by_task(op.id); }
  Result<Permit> operator()(RetryTask& op) const { return by_task(op.id); }
  Result<Permit> operator()(FrontTask& op) const { return by_task(op.id); }
  Result<Permit> operator()(RemoveTask& op) const { return by_task(op.id); }
  Result<Permit> operator()(ListTasks& op) const { return by_filter(op.filter); }
  Result<Permit> operator()(ListDead& op) const { return by_filter(op.filter); }
  Result<Permit> operator()(CancelTasks& op) const { return by_filter(op.filter); }
  Result<Permit> operator()(RetryTasks& op) const { return by_filter(op.filter); }
  Result<Permit> operator()(RedriveDead& op) const { return by_filter(op.filter); }
  Result<Permit> operator()(PurgeDead& op) const { return by_filter(op.filter); }

  // -- claims

  Result<Permit> operator()(Claim& claim) const {
    for (const std::string& queue : claim.queues) {
      if (!caller_.may_use(queue)) return forbidden(fmt::format("claim from {}", queue));
    }
    if (!caller_.user.empty()) {
      if (claim.users.empty()) claim.users = {caller_.user};
      for (const auto* names : {&claim.users, &claim.steal}) {
        const bool all_own = std::ranges::all_of(
            *names, [&](const std::string& user) { return user == caller_.user; });
        if (!all_own) return forbidden("claim tasks of other users");
      }
    }
    if (!claim.claim_id.empty()) make_own(claim.claim_id);
    return Permit{};
  }
  Result<Permit> operator()(Settle& settle) const {
    make_own(settle.claim_id);
    Permit all{.hidden = ErrorCode::kUnknownDependency};
    for (SettleOne& each : settle.results) {
      auto fine = own(each.children);
      if (!fine) return fine;
      std::ranges::move(fine->tasks, std::back_inserter(all.tasks));
    }
    return all;
  }
  Result<Permit> operator()(Extend& op) const { return by_claim(op.claim_id); }
  Result<Permit> operator()(ReleaseClaim& op) const { return by_claim(op.claim_id); }

  // -- queues, values

  // All at once: where a page ends would tell of the queues of others.
  Result<Permit> operator()(ListQueues& list) const {
    if (!caller_.user.empty()) return forbidden("see other users' work");
    list = {.limit = 1'000};
    return Permit{};
  }
  Result<Permit> operator()(GetQueue& op) const { return by_queue(op.queue); }
  Result<Permit> operator()(PutQueue& op) const { return by_queue(op.queue); }
  Result<Permit> operator()(PatchQueue& op) const { return by_queue(op.queue); }
  Result<Permit> operator()(DeleteQueue& op) const { return by_queue(op.queue); }
  Result<Permit> operator()(PauseQueue& op) const { return by_queue(op.queue); }
  Result<Permit> operator()(ResumeQueue& op) const { return by_queue(op.queue); }
  Result<Permit> operator()(PurgeQueue& op) const { return by_queue(op.queue); }
  Result<Permit> operator()(ListUsers& op) const { return by_queue(op.queue); }
  Result<Permit> operator()(PutUser& op) const { return by_queue(op.queue); }

  Result<Permit> operator()(GetXcom& op) const { return by_key(op.key); }
  Result<Permit> operator()(PutXcom& op) const { return by_key(op.key); }
  Result<Permit> operator()(DeleteXcom& op) const { return by_key(op.key); }

  // What concerns everybody: claims of all, schedules, statistics, draining.
  template <class Op>
  Result<Permit> operator()(Op&) const {
    return forbidden("ask for what concerns all queues and users");
  }

 private:
  // What a task waits for is told to whoever runs it, so it must be there to be seen already.
  Result<Permit> own(std::vector<NewTask>& tasks) const {
    Permit permit{.hidden = ErrorCode::kUnknownDependency};
    for (NewTask& task : tasks) {
      if (!caller_.may_use(task.queue)) return forbidden(fmt::format("push to {}", task.queue));
      if (!caller_.user.empty()) {
        if (task.user == kNobody) task.user = caller_.user;
        if (task.user != caller_.user) return forbidden("push for other users");
        // Another user's task of the same key would stand for this one.
        if (!task.unique_key.empty()) task.unique_key = caller_.user + "/" + task.unique_key;
      }
      for (const Dependency& dependency : task.depends_on) {
        const bool is_in_batch = std::ranges::any_of(
            tasks, [&](const NewTask& other) { return other.id == dependency.id; });
        if (!is_in_batch) permit.tasks.push_back(dependency.id);
      }
    }
    return permit;
  }

  static Result<Permit> by_task(const std::string& id) { return Permit{.tasks = {id}}; }

  Result<Permit> by_filter(Filter& filter) const {
    if (auto fine = permit(caller_, filter.queue, filter.user); !fine) {
      return tl::unexpected(fine.error());
    }
    return Permit{};
  }

  // Those of queues are told and changed by whoever may see all of the queue.
  Result<Permit> by_queue(const std::string& queue) const {
    if (!caller_.user.empty()) return forbidden("see other users' work");
    if (queue.empty() || !caller_.may_use(queue)) {
      return forbidden(fmt::format("use queues other than {}", fmt::join(caller_.queues, ", ")));
    }
    return Permit{};
  }

  // Ids that others gave cannot be named, so they need not be looked up.
  void make_own(std::string& claim_id) const {
    const std::string mine = caller_.name + ".";
    if (!claim_id.starts_with(mine)) claim_id = mine + claim_id;
  }
  Result<Permit> by_claim(std::string& claim_id) const {
    make_own(claim_id);
    return Permit{};
  }

  // A user with a colon in its name could be taken for another one's key.
  Result<Permit> by_key(const std::string& key) const {
    const auto is_of = [&](std::string_view kind, const std::string& name) {
      return key.starts_with(fmt::format("{}:{}:", kind, name));
    };
    const bool is_own =
        caller_.user.empty()
            ? std::ranges::any_of(caller_.queues,
                                  [&](const auto& queue) { return is_of("queue", queue); })
            : caller_.user.find(':') == std::string::npos && is_of("user", caller_.user);
    if (is_own) return Permit{};
    return forbidden("use keys that do not begin with user:USER: (queue:QUEUE: if it has no user)");
  }

  const Caller& caller_;
};

}  // namespace

Status permit(const Caller& caller, std::string& queue, std::string& user) {
  if (queue.empty() && caller.queues.size() == 1) queue = caller.queues.front();
  if (!caller.may_use(queue)) {
    return forbidden(fmt::format("see queues other than {}", fmt::join(caller.queues, ", ")));
  }
  if (user.empty()) user = caller.user;
  if (!caller.user.empty() && user != caller.user) return forbidden("see other users' work");
  return {};
}

Result<Permit> permit(const Caller& caller, Command& command) {
  if (!caller.is_limited()) return Permit{};
  // The broker would choose an id that is not the caller's own.
  if (auto* claim = std::get_if<Claim>(&command); claim != nullptr && claim->claim_id.empty()) {
    static UuidSource ids;
    claim->claim_id = ids.next(wall_clock());
  }
  return std::visit(Narrowing(caller), command);
}

void conceal(const Caller& caller, Reply& reply) {
  if (!caller.is_limited()) return;
  if (auto* list = std::get_if<QueueList>(&reply)) {
    std::erase_if(list->queues, [&](const QueueInfo& info) { return !caller.may_use(info.queue); });
    list->next_cursor.reset();
  } else if (auto* graph = std::get_if<GraphReply>(&reply)) {
    const auto hidden = [&](const GraphNode& node) {
      return !caller.may_see(node.queue, node.user);
    };
    std::vector<std::string> gone;
    for (const GraphNode& node : graph->nodes) {
      if (hidden(node)) gone.push_back(node.id);
    }
    const auto is_gone = [&](const std::string& id) {
      return std::ranges::find(gone, id) != gone.end();
    };
    std::erase_if(graph->nodes, hidden);
    std::erase_if(graph->edges,
                  [&](const GraphEdge& edge) { return is_gone(edge.from) || is_gone(edge.to); });
  }
}

}  // namespace retsu::server
