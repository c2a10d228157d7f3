#include <fmt/format.h>

#include "broker/codec.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

struct Options {
  Claim claim;
  std::vector<std::string> queues;
  std::string lease;
  std::string wait;
};

void show_claim(Screen& screen, const ClaimReply& reply) {
  if (reply.tasks.empty()) {
    screen.line(reply.next_at
                    ? fmt::format("nothing to claim before {}", shown_fully(reply.next_at))
                    : std::string("nothing to claim"));
    return;
  }
  Card card(screen);
  card.add("claim", {reply.claim_id, Style::kBold});
  card.add("lease until", reply.lease_until ? shown_fully(reply.lease_until) : "released");
  card.add("remaining", std::to_string(reply.remaining));
  card.print();
  screen.line("");
  Table table(screen, {"ID", "QUEUE", "USER", "TYPE", ">FENCE", ">TRY", "PAYLOAD"});
  for (const ClaimedTask& task : reply.tasks) {
    table.add({task.id, task.queue, task.user, task.type, std::to_string(task.fence),
               fmt::format("{}/{}", task.attempt, task.max_attempts), task.payload.str()});
  }
  table.print();
}

}  // namespace

Action add_claim(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  Claim& claim = options->claim;
  arguments.list("--queue", options->queues, "From these queues [default]").type_name("QUEUE");
  arguments.list("--user", claim.users, "Of these users only").type_name("USER");
  arguments.list("--steal", claim.steal, "And of these, when none of those has a task")
      .type_name("USER");
  arguments.option("--max", claim.max, "At most so many").type_name("N").shows_default();
  arguments
      .option("--lease", options->lease,
              "For so long they are ours, 0: until released [the queue's]")
      .type_name("DURATION");
  arguments.option("--wait", options->wait, "Wait so long for work, 5m at most")
      .type_name("DURATION");
  arguments.option("--worker", claim.worker, "Who works, for people who look").type_name("NAME");
  arguments
      .option("--claim-id", claim.claim_id,
              "A name for the claim; asking again with it gives the same tasks")
      .type_name("ID");
  return [options](Session& session) -> Result<int> {
    Claim asked = options->claim;
    if (!options->queues.empty()) asked.queues = options->queues;
    if (!options->lease.empty()) {
      const auto lease = read_duration("--lease", options->lease);
      if (!lease) return tl::unexpected(lease.error());
      asked.lease_ms = lease->count();
    }
    if (!options->wait.empty()) {
      const auto wait = read_duration("--wait", options->wait);
      if (!wait) return tl::unexpected(wait.error());
      asked.wait_ms = wait->count();
    }
    const auto reply = session.ask(std::move(asked));
    if (!reply) return tl::unexpected(reply.error());
    if (session.screen().json()) {
      session.screen().line(to_json(Reply(*reply)));
    } else {
      show_claim(session.screen(), *reply);
    }
    return 0;
  };
}

}  // namespace retsu::cli
