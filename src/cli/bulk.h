#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "broker/codec.h"
#include "cli/options.h"
#include "cli/session.h"

namespace retsu::cli {

// Something done to all tasks that match.
struct BulkOptions {
  FilterOptions filter;
  std::optional<std::int64_t> expect;
  bool dry_run = false;

  void add_to(Arguments& arguments) {
    filter.add_to(arguments);
    const Argument number =
        arguments
            .option("--expect", expect, "How many match; if another number does, nothing is done")
            .type_name("N");
    arguments.flag("--dry-run", dry_run, "Only tell how many match").excludes(number);
  }
};

// Asks, and shows that it takes its time if it does.
Result<Reply> ask_patiently(Session& session, Command command, const std::string& what);

// `3 of 4 canceled`.
inline void show_bulk(Screen& screen, const BulkReply& reply, std::string_view done) {
  screen.line(screen.json() ? to_json(Reply(reply))
                            : fmt::format("{} of {} {}", reply.changed, reply.matched, done));
}

template <class Op>
Result<int> do_bulk(Session& session, const BulkOptions& options, std::string_view done) {
  if (!options.expect && !options.dry_run) {
    return refuse(ErrorCode::kInvalid,
                  "say how many tasks you expect with --expect N; --dry-run tells the number");
  }
  const auto filter = options.filter.read();
  if (!filter) return tl::unexpected(filter.error());
  Op op;
  op.filter = *filter;
  op.expect = options.expect;
  op.dry_run = options.dry_run;
  const auto answer = ask_patiently(session, std::move(op), "working");
  if (!answer) return tl::unexpected(answer.error());
  const auto& reply = std::get<BulkReply>(*answer);
  Screen& screen = session.screen();
  if (options.dry_run && !screen.json()) {
    screen.line(fmt::format("{} match; to go on: --expect {}", reply.matched, reply.matched));
  } else {
    show_bulk(screen, reply, done);
  }
  return 0;
}

}  // namespace retsu::cli
