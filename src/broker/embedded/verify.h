// Whether a store is whole, and where it is not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "broker/embedded/store_files.h"

namespace retsu::embedded {

struct Verdict {
  std::int64_t version = 0;                   // of the tables
  std::map<std::string, std::int64_t> tasks;  // by state
  std::map<std::string, std::int64_t> rows;   // by table, as the journal leaves them
  std::int64_t groups = 0;                    // in the journal
  std::int64_t journal_bytes = 0;
  std::int64_t bytes = 0;  // of the database, its journal and their logs
  // Each with its place: a page, a row and its column, a group, or a reference that leads nowhere.
  std::vector<std::string> problems;
};
constexpr auto fields_of(std::type_identity<Verdict>) {
  return List{Field{"version", &Verdict::version},
              Field{"tasks", &Verdict::tasks, kAlwaysShown},
              Field{"rows", &Verdict::rows, kAlwaysShown},
              Field{"groups", &Verdict::groups},
              Field{"journal_bytes", &Verdict::journal_bytes},
              Field{"bytes", &Verdict::bytes},
              Field{"problems", &Verdict::problems, kAlwaysShown}};
}

// Looks at every page, every group and every row of a database file, and loads it into an engine if
// nothing was found before. Writes nothing, and works while another process has the store open: it
// sees one moment. Refused: there is no such file, or it is not a store, or one of a later version.
Result<Verdict> verify(const std::string& database_file, const OnProgress& on_progress = nullptr);

}  // namespace retsu::embedded
