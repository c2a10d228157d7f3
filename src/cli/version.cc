#include "cli/version.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/json_writer.h"
#include "broker/embedded/schema.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session.h"

namespace retsu::cli {

Action add_version(Arguments&) {
  return [](Session& session) -> Result<int> {
    if (!session.screen().json()) {
      session.screen().line(fmt::format("retsu {} (stores of version {}, SQLite {})", kVersion,
                                        embedded::kSchemaVersion, sqlite3_libversion()));
      return 0;
    }
    std::string text;
    JsonWriter to(text);
    to.open_object();
    to.key("version");
    to.string(kVersion);
    to.key("store_version");
    to.integer(embedded::kSchemaVersion);
    to.key("sqlite");
    to.string(sqlite3_libversion());
    to.close_object();
    session.screen().line(text);
    return 0;
  };
}

}  // namespace retsu::cli
