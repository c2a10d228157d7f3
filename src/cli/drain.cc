#include <fmt/format.h>

#include "broker/codec.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session.h"

namespace retsu::cli {

Action add_drain(Arguments& arguments) {
  auto off = std::make_shared<bool>(false);
  arguments.flag("--off", *off, "Take and hand out tasks again");
  return [off](Session& session) -> Result<int> {
    const auto reply = *off ? session.ask(EndDrain{}) : session.ask(StartDrain{});
    if (!reply) return tl::unexpected(reply.error());
    Screen& screen = session.screen();
    if (screen.json()) {
      screen.line(to_json(Reply(*reply)));
    } else if (reply->draining) {
      screen.line(
          fmt::format("no tasks are taken or handed out; {} still running", reply->running));
    } else {
      screen.line("tasks are taken and handed out");
    }
    return 0;
  };
}

}  // namespace retsu::cli
