#include <fmt/format.h>

#include "broker/codec.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/times.h"

namespace retsu::cli {

Action add_why(Arguments& arguments) {
  auto id = std::make_shared<std::string>();
  arguments.option("TASK", *id, "Its id").required();
  return [id](Session& session) -> Result<int> {
    Screen& screen = session.screen();
    const auto why = session.ask(Why{.id = *id});
    if (!why) return tl::unexpected(why.error());
    if (screen.json()) {
      screen.line(to_json(Reply(*why)));
      return 0;
    }
    screen.line(fmt::format("{} is {}{}", printable(*id),
                            screen.styled(style_of(why->state), name_of(why->state)),
                            !why->causes.empty()            ? ":"
                            : why->state == State::kStarted ? ": a worker has it"
                                                            : ": nothing keeps it"));
    Table table(screen, {"CAUSE", "UNTIL", "DETAIL"});
    for (const WhyCause& cause : why->causes) {
      table.add({std::string(name_of(cause.cause)), shown(screen, cause.until), cause.detail});
    }
    table.print();
    return 0;
  };
}

}  // namespace retsu::cli
