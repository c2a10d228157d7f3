#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/paging.h"
#include "cli/table.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

std::string duration_of(const std::optional<std::int64_t>& ms) {
  return ms ? rough(Millis(*ms)) : std::string();
}

std::string caps_of(const UserInfo& user) {
  std::string text;
  const auto add = [&](const std::optional<std::int64_t>& cap, std::string_view of) {
    if (cap) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", *cap, of);
  };
  add(user.max_running, "running");
  add(user.max_waiting, "waiting");
  add(user.max_waiting_bytes, "bytes waiting");
  return text;
}

}  // namespace

Action add_users(Arguments& arguments) {
  struct Options {
    std::string queue;
    ListOptions list;
  };
  auto options = std::make_shared<Options>();
  arguments.option("--queue", options->queue, "In this queue only").type_name("QUEUE");
  options->list.add_to(arguments);
  return [options](Session& session) -> Result<int> {
    Screen& screen = session.screen();
    Table table(screen, {"USER", "QUEUE", ">WEIGHT", ">WAITING", ">QUEUED", ">RUNNING", ">STARTED",
                         ">SHARE", ">DUE", ">WAIT P50", ">P95", "AT MOST"});
    return each_page(
        session, ListUsers{.queue = options->queue}, options->list, [&](const UserList& page) {
          for (const UserInfo& user : page.users) {
            if (screen.json()) {
              screen.line(json_of(user));
              continue;
            }
            table.add({user.user, user.queue, std::to_string(user.weight),
                       std::to_string(user.waiting), std::to_string(user.queued),
                       std::to_string(user.running), std::to_string(user.started),
                       fmt::format("{:.0f} %", 100 * user.share_got),
                       fmt::format("{:.0f} %", 100 * user.share_due), duration_of(user.wait_p50_ms),
                       duration_of(user.wait_p95_ms), caps_of(user)});
          }
          table.print();
          return std::ssize(page.users);
        });
  };
}

}  // namespace retsu::cli
