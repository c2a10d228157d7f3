#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/library.h"
#include "cli/options.h"
#include "cli/table.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

using namespace retsu::library;

Result<std::int64_t> minutes_of(std::string_view option, const std::string& text) {
  const auto age = read_duration(option, text);
  if (!age) return tl::unexpected(age.error());
  return std::chrono::ceil<std::chrono::minutes>(*age).count();
}

}  // namespace

Action add_library_status(Arguments&) {
  return [](Session& session) {
    return ask_library(session, GetStatus{}, [&](const LibraryStatus& status) {
      Card card(session.screen());
      card.add("books", std::to_string(status.books));
      card.add("with a Hardcover id", std::to_string(status.with_id));
      card.add("waiting", std::to_string(status.unclaimed));
      card.add("with clients", std::to_string(status.claimed));
      card.add("to be tried again", std::to_string(status.retrying));
      card.add("without a match", std::to_string(status.without_match));
      if (status.unsent > 0) card.add("not in the queue yet", std::to_string(status.unsent));
      card.print();
    });
  };
}

Action add_library_reset(Arguments& arguments) {
  struct Options {
    std::string claim;
    std::string older_than = "30m";
  };
  auto options = std::make_shared<Options>();
  const Argument claim =
      arguments.option("CLAIM", options->claim, "This one, by its processing id");
  arguments
      .option("--older-than", options->older_than, "All that were claimed so long ago, or longer")
      .type_name("AGE")
      .shows_default()
      .excludes(claim);
  return [options](Session& session) -> Result<int> {
    const auto show = [&](const ResetCount& reset) {
      session.screen().line(fmt::format("{} books wait again", reset.reset_count));
    };
    if (!options->claim.empty()) return ask_library(session, ResetClaim{options->claim}, show);
    const auto minutes = minutes_of("--older-than", options->older_than);
    if (!minutes) return tl::unexpected(minutes.error());
    return ask_library(session, ResetOld{*minutes}, show);
  };
}

Action add_library_cleanup(Arguments&) {
  return [](Session& session) {
    return ask_library(session, Cleanup{}, [&](const RemovedCount& removed) {
      session.screen().line(fmt::format("{} books left the queue", removed.removed_count));
    });
  };
}

Action add_library_requeue(Arguments& arguments) {
  auto age = std::make_shared<std::string>("0");
  arguments.option("--older-than", *age, "Only those that were looked up so long ago, or longer")
      .type_name("AGE")
      .shows_default();
  return [age](Session& session) -> Result<int> {
    const auto minutes = minutes_of("--older-than", *age);
    if (!minutes) return tl::unexpected(minutes.error());
    return ask_library(session, Requeue{*minutes}, [&](const QueuedCount& queued) {
      session.screen().line(fmt::format("{} books wait again", queued.queued_count));
    });
  };
}

}  // namespace retsu::cli
