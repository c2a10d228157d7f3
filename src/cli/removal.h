#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/by_id.h"
#include "cli/commands.h"
#include "cli/session.h"

namespace retsu::cli {

// A command that removes what is named, each by an Op of its own. With --json its lines are those
// of the answer, with the name under `key`.
template <class Op>
Action add_removal(Arguments& arguments, std::string Op::*name, const char* key,
                   const char* operand, const char* help) {
  auto names = std::make_shared<std::vector<std::string>>();
  arguments.option(operand, *names, help).required();
  return [names, name, key](Session& session) {
    Screen& screen = session.screen();
    return for_each_name(screen, *names, [&](const std::string& each) -> Result<std::string> {
      Op op;
      op.*name = each;
      const auto reply = session.ask(std::move(op));
      if (!reply) return tl::unexpected(reply.error());
      if (!screen.json()) return printable(each) + " is removed";
      std::string line;
      JsonWriter to(line);
      to.open_object();
      to.key(key);
      to.string(each);
      to.key("removed");
      to.integer(reply->removed);
      to.close_object();
      return line;
    });
  };
}

}  // namespace retsu::cli
