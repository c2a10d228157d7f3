#include <fmt/format.h>

#include "broker/codec.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/removal.h"
#include "cli/task_options.h"
#include "cli/times.h"

namespace retsu::cli {

Action add_xcom_get(Arguments& arguments) {
  auto key = std::make_shared<std::string>();
  arguments.option("KEY", *key, "Its key").required();
  return [key](Session& session) -> Result<int> {
    const auto value = session.ask(GetXcom{.key = *key});
    if (!value) return tl::unexpected(value.error());
    Screen& screen = session.screen();
    if (screen.json()) {
      screen.line(to_json(Reply(*value)));
    } else {  // a script gets it as it is
      screen.line(screen.is_terminal() ? printable(value->value.view()) : value->value.str());
    }
    return 0;
  };
}

Action add_xcom_set(Arguments& arguments) {
  struct Options {
    std::string key;
    std::string value;
    std::string ttl = "1h";
    bool text = false;
  };
  auto options = std::make_shared<Options>();
  arguments.option("KEY", options->key, "Its key; a value that it has is replaced").required();
  arguments.option("VALUE", options->value, "JSON, or with --text any text; - is standard input")
      .required();
  arguments.option("--ttl", options->ttl, "For how long it is kept")
      .type_name("DURATION")
      .shows_default();
  arguments.flag("--text", options->text, "VALUE is a text, not JSON");
  return [options](Session& session) -> Result<int> {
    const auto ttl = read_duration("--ttl", options->ttl);
    if (!ttl) return tl::unexpected(ttl.error());
    auto value = read_value("VALUE", options->value, options->text);
    if (!value) return tl::unexpected(std::move(value.error()));
    const auto stored = session.ask(
        PutXcom{.key = options->key, .value = std::move(*value), .ttl_ms = ttl->count()},
        Session::Missing::kMake);
    if (!stored) return tl::unexpected(stored.error());
    Screen& screen = session.screen();
    screen.line(screen.json() ? to_json(Reply(*stored))
                              : fmt::format("{} is kept until {}", printable(stored->key),
                                            shown_fully(stored->expires_at)));
    return 0;
  };
}

Action add_xcom_rm(Arguments& arguments) {
  return add_removal(arguments, &DeleteXcom::key, "key", "KEY", "Their keys");
}

}  // namespace retsu::cli
