#include "broker/codec.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/settings.h"
#include "cli/table.h"

namespace retsu::cli {
namespace {

void show_settings(Screen& screen, const PutUserReply& user) {
  if (screen.json()) return screen.line(to_json(Reply(user)));
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : std::string();
  };
  Card card(screen);
  card.add("user", {user.user, Style::kBold});
  card.add("queue", user.queue.empty() ? "all" : user.queue);
  card.add("weight", number(user.settings.weight));
  card.add("max running", number(user.settings.max_running));
  card.add("max waiting", number(user.settings.max_waiting));
  card.add("max waiting bytes", number(user.settings.max_waiting_bytes));
  card.print();
}

}  // namespace

Action add_user_set(Arguments& arguments) {
  struct Options {
    PutUser user;
    std::vector<std::string> settings;
  };
  auto options = std::make_shared<Options>();
  arguments.option("USER", options->user.user, "The user").required();
  arguments
      .option("KEY=VALUE", options->settings,
              "Settings: weight, max_running, max_waiting, max_waiting_bytes. One that is not "
              "named, or is null, is not set any more")
      .required();
  arguments
      .option("--queue", options->user.queue, "In this queue, before what is set for all [all]")
      .type_name("QUEUE");
  return [options](Session& session) -> Result<int> {
    const auto patch = patch_of(options->settings);
    if (!patch) return tl::unexpected(patch.error());
    PutUser user = options->user;
    if (auto read = read_into(patch->view(), user.settings); !read) {
      return tl::unexpected(to_error(std::move(read.error())));
    }
    const auto set = session.ask(std::move(user), Session::Missing::kMake);
    if (!set) return tl::unexpected(set.error());
    show_settings(session.screen(), *set);
    return 0;
  };
}

}  // namespace retsu::cli
