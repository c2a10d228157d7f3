#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spool/files.h"

namespace retsu::spool {

// A file to whose end lines are moved from another one: they are written here first, and then taken
// away there. Whoever dies in between leaves them in both, and moves them again: so what stands at
// the end already is not written a second time.
class Aside {
 public:
  // What makes two lines the same. None: a line of others.
  using Key = std::function<std::optional<std::size_t>(const RawLine&)>;

  Aside(std::string path, Key key) : path_(std::move(path)), key_(std::move(key)) {}

  struct Moved {
    std::size_t key;
    std::function<Status(Writer&)> write;  // its text, without an end
  };
  // Durable when it returns. A failure leaves the file as it was, if the disk allows that.
  Status add(const std::vector<Moved>& lines);

 private:
  Status drop_known(const File& file, std::int64_t size, std::vector<bool>& is_known,
                    const std::vector<Moved>& lines) const;

  std::string path_;
  Key key_;
  File::Mark own_;  // the file as we left it: nobody else can have died since
};

}  // namespace retsu::spool
