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

void FilterOptions::add_to(Arguments& arguments) {
  arguments.option("--state", state, "In this state, such as FAILED").type_name("STATE");
  arguments.option("--queue", queue, "In this queue").type_name("QUEUE");
  arguments.option("--user", user, "Of this user").type_name("USER");
  arguments.option("--type", type, "Of this type").type_name("TYPE");
  arguments.option("--tag", tag, "With this tag").type_name("TAG");
  arguments.option("--unique", unique, "With this unique key").type_name("KEY");
  arguments.option("--waits-for", waits_for, "Waiting for this task").type_name("ID");
  arguments.option("--q", q, "With this text in payload, error, id or a tag").type_name("TEXT");
  arguments.option("--since", since, "Pushed at this time or later, or so long ago at most")
      .type_name("TIME|AGE");
  arguments.option("--until", until, "Pushed before this time, or longer ago than that")
      .type_name("TIME|AGE");
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

void ListOptions::add_to(Arguments& arguments) {
  const Argument most = arguments.option("--limit", limit, "At most so many")
                            .type_name("N")
                            .between(1, 1'000'000'000)
                            .shows_default();
  arguments.flag("--all", all, "All that there are").excludes(most);
}

}  // namespace retsu::cli
