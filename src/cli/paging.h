#pragma once

#include <algorithm>
#include <utility>

#include "cli/options.h"
#include "cli/session.h"

namespace retsu::cli {

// Asks for page after page. show(page) prints one and answers how many were on it.
template <class List, class Show>
Result<int> each_page(Session& session, List list, const ListOptions& options, Show show) {
  constexpr std::int64_t kPage = 1'000;
  for (std::int64_t left = options.limit; options.all || left > 0;) {
    list.limit = options.all ? kPage : std::min(left, kPage);
    auto page = session.ask(list);
    if (!page) return tl::unexpected(std::move(page.error()));
    const std::optional<std::string> next = page->next_cursor;
    left -= show(*page);
    if (!next || session.screen().gone()) return 0;
    list.cursor = *next;
  }
  session.screen().flush();
  session.screen().note("there are more: --all shows them, --limit N as many as you like");
  return 0;
}

}  // namespace retsu::cli
