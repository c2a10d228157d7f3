#include "cli/options.h"

#include <algorithm>
#include <cctype>

#include "base/wall_clock.h"
#include "cli/times.h"

namespace retsu::cli {

Result<std::optional<State>> read_state(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  State state{};
  if (auto read = read_word("--state", text, state); !read) return tl::unexpected(read.error());
  return text.empty() ? std::nullopt : std::optional(state);
}

void FilterOptions::add_to(CLI::App& app) {
  app.add_option("--state", state, "In this state, such as FAILED")->type_name("STATE");
  app.add_option("--queue", queue, "In this queue")->type_name("QUEUE");
  app.add_option("--user", user, "Of this user")->type_name("USER");
  app.add_option("--type", type, "Of this type")->type_name("TYPE");
  app.add_option("--tag", tag, "With this tag")->type_name("TAG");
  app.add_option("--unique", unique, "With this unique key")->type_name("KEY");
  app.add_option("--waits-for", waits_for, "Waiting for this task")->type_name("ID");
  app.add_option("--q", q, "With this text in payload, error, id or a tag")->type_name("TEXT");
  app.add_option("--since", since, "Pushed at this time or later, or so long ago at most")
      ->type_name("TIME|AGE");
  app.add_option("--until", until, "Pushed before this time, or longer ago than that")
      ->type_name("TIME|AGE");
}

bool FilterOptions::given() const {
  const std::string* const all[] = {&state,  &queue,     &user, &type,  &tag,
                                    &unique, &waits_for, &q,    &since, &until};
  return std::ranges::any_of(all, [](const std::string* text) { return !text->empty(); });
}

Result<Filter> FilterOptions::read() const {
  Filter filter{.queue = queue,
                .user = user,
                .type = type,
                .tag = tag,
                .unique_key = unique,
                .waits_for = waits_for,
                .q = q};
  const auto in_state = read_state(state);
  if (!in_state) return tl::unexpected(in_state.error());
  filter.state = *in_state;
  const std::pair<const std::string*, std::optional<TimePoint>*> times[] = {
      {&since, &filter.since}, {&until, &filter.until}};
  for (const auto& [text, time] : times) {
    if (text->empty()) continue;
    const auto read = read_moment(text == &since ? "--since" : "--until", *text, wall_clock(),
                                  Direction::kBefore);
    if (!read) return tl::unexpected(read.error());
    *time = *read;
  }
  return filter;
}

void ListOptions::add_to(CLI::App& app) {
  auto* most = app.add_option("--limit", limit, "At most so many")
                   ->type_name("N")
                   ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
                   ->capture_default_str();
  app.add_flag("--all", all, "All that there are")->excludes(most);
}

}  // namespace retsu::cli
