#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spool/aside.h"
#include "spool/contents.h"

namespace retsu::spool {

// An entry that went to the dead letters.
struct Dropped {
  std::string id;
  Reason reason = Reason::kMaxAge;
  std::string error = {};  // its last
};

// The files beside the spool's.
struct Asides {
  explicit Asides(const std::string& spool);
  Aside dead;
  Aside corrupt;
};

// A change of the spool's file, made while its lock is held. What was said about lines becomes true
// at once and as a whole, when the new file takes the place of the old one; lines that nobody spoke
// of stay as they are written, but damaged ones are set aside.
class Edit {
 public:
  Edit(const std::string& spool, Asides& asides) : path_(spool), asides_(asides) {}

  Status open(const Contents::Each& each = nullptr);
  [[nodiscard]] const Contents& contents() const { return contents_; }

  [[nodiscard]] bool is_changed(const Line& line) const { return changes_.contains(line.offset); }
  void remove(const Line& line) { changes_[line.offset] = {}; }
  void replace(const Line& line, const Entry& entry) {
    changes_[line.offset] = {.line = line_of(entry)};
  }
  // To the dead letters, as it is or as it has become.
  void bury(const Line& line, Reason reason, std::optional<Entry> entry = {}) {
    changes_[line.offset] = {{}, Burial{reason, std::move(entry)}};
  }

  // Durable when it returns. A failure changes nothing that counts: entries may be among the dead
  // letters already, and go there when this is tried again.
  Result<std::vector<Dropped>> commit(TimePoint now);

 private:
  struct Burial {
    Reason reason = Reason::kMaxAge;
    std::optional<Entry> entry;
  };
  struct Change {
    std::optional<std::string> line = {};  // instead of the old one; none: it goes
    std::optional<Burial> burial = {};
  };

  Result<std::vector<Dropped>> move_dead(TimePoint now);
  Status move_corrupt();
  Status write_rest() const;
  Status write_lines(Writer& to) const;

  const std::string path_;
  Asides& asides_;
  Contents contents_;
  std::map<std::int64_t, Change> changes_;  // by the place of the line
};

}  // namespace retsu::spool
