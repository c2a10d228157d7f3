#include "cli/by_id.h"
#include "cli/commands.h"
#include "cli/options.h"

namespace retsu::cli {

Action add_front(Arguments& arguments) {
  auto ids = std::make_shared<std::vector<std::string>>();
  arguments.option("TASK", *ids, "Ids").required();
  return [ids](Session& session) { return for_each_id<FrontTask>(session, *ids); };
}

}  // namespace retsu::cli
