// What is in a spool's file, as far as is needed to choose from it.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "spool/entry.h"
#include "spool/files.h"

namespace retsu::spool {

// The names of the files beside a spool.
std::string dead_file_of(const std::string& spool);     // queue.dead.jsonl
std::string corrupt_file_of(const std::string& spool);  // queue.jsonl.corrupt

// A line of the file, small enough to have many; damaged ones that follow each other are one.
struct Line {
  std::int64_t offset = 0;
  std::int64_t length = 0;  // without its end
  TimePoint created{};
  TimePoint due = TimePoint::min();
  Urgency urgency = Urgency::kNormal;
  bool is_sound = false;  // else nothing more than its place is known
  bool was_tried = false;
};

// The order in which they are sent: urgent ones first, of those the oldest; of equals the one that
// stands first.
bool goes_before(const Line& a, const Line& b);

struct Damage {
  std::int64_t number = 0;  // of the line, from 1
  std::string problem;
};

// The file as it was at one moment: later changes replace it, or add to its end, which is not
// looked at.
class Contents {
 public:
  // Empty, if there is no file. Takes the lock for a moment, unless it is held already.
  enum class Locked : bool { kNo, kYes };
  static Result<Contents> open(const std::string& spool, Locked locked);

  // All lines but empty ones, as they stand from this place on. `each` is called as they are read;
  // the entry is none for a damaged line.
  using Each = std::function<void(const Line&, std::string_view text, const Entry*)>;
  Status read_lines(const Each& each = nullptr, std::int64_t from = 0);

  [[nodiscard]] const std::deque<Line>& lines() const { return lines_; }
  // Those that are sound.
  [[nodiscard]] std::vector<std::reference_wrapper<const Line>> in_order() const;
  [[nodiscard]] const std::vector<Damage>& damage() const { return damage_; }  // the first hundred
  [[nodiscard]] std::int64_t damaged() const { return damaged_; }
  [[nodiscard]] bool exists() const { return static_cast<bool>(file_); }
  [[nodiscard]] bool ends_torn() const { return torn_; }  // its last line has no end
  [[nodiscard]] const File& file() const { return file_; }
  [[nodiscard]] const File::Mark& mark() const { return mark_; }

  [[nodiscard]] Result<std::string> text_of(const Line& line) const;
  [[nodiscard]] Result<Entry> entry_of(const Line& line) const;

 private:
  void add(const RawLine& raw, const Each& each);

  File file_;
  File::Mark mark_;
  std::int64_t number_ = 0;
  std::deque<Line> lines_;  // never two of it at once, as when a vector grows
  std::vector<Damage> damage_;
  std::int64_t damaged_ = 0;
  bool torn_ = false;
};

}  // namespace retsu::spool
