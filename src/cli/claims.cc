#include <fmt/format.h>

#include "broker/codec.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/paging.h"
#include "cli/table.h"
#include "cli/times.h"

namespace retsu::cli {

Action add_claims(Arguments& arguments) {
  auto options = std::make_shared<ListOptions>();
  options->add_to(arguments);
  return [options](Session& session) -> Result<int> {
    Screen& screen = session.screen();
    Table table(screen, {"CLAIM", "WORKER", "CLAIMED", "LEASE UNTIL", ">TASKS", "FIRST"});
    return each_page(session, ListClaims{}, *options, [&](const ClaimPage& page) {
      for (const ClaimInfo& claim : page.claims) {
        if (screen.json()) {
          screen.line(json_of(claim));
          continue;
        }
        table.add({claim.claim_id, claim.worker, shown(screen, claim.claimed_at),
                   claim.lease_until ? shown(screen, claim.lease_until) : "released",
                   std::to_string(claim.tasks.size()),
                   claim.tasks.empty() ? std::string() : claim.tasks.front()});
      }
      table.print();
      return std::ssize(page.claims);
    });
  };
}

Action add_release(Arguments& arguments) {
  struct Options {
    std::vector<std::string> claims;
    std::string older_than;
  };
  auto options = std::make_shared<Options>();
  const Argument claims = arguments.option("CLAIM", options->claims, "Their ids");
  arguments
      .option("--older-than", options->older_than, "All that were taken so long ago, or longer")
      .type_name("AGE")
      .excludes(claims);
  return [options](Session& session) -> Result<int> {
    Released sum;
    if (!options->older_than.empty()) {
      const auto age = read_duration("--older-than", options->older_than);
      if (!age) return tl::unexpected(age.error());
      const auto reply = session.ask(ReleaseOlder{.older_than_ms = age->count()});
      if (!reply) return tl::unexpected(reply.error());
      sum = *reply;
    } else if (options->claims.empty()) {
      return refuse(ErrorCode::kInvalid, "which claims? Name them, or say --older-than AGE");
    }
    for (const std::string& claim : options->claims) {
      const auto reply = session.ask(ReleaseClaim{.claim_id = claim});
      if (!reply) return tl::unexpected(reply.error());
      sum.released += reply->released;
    }
    session.screen().line(session.screen().json() ? to_json(Reply(sum))
                                                  : fmt::format("{} put back", sum.released));
    return 0;
  };
}

}  // namespace retsu::cli
