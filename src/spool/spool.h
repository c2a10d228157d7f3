// A queue in a file, for when there is no network: tasks wait in it, one a line, until a server has
// taken them. Several processes, and programs that know nothing of us, may use one file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "spool/edit.h"
#include "spool/lock.h"

namespace retsu::spool {

struct Limits {
  std::int64_t tasks = 1'000;
  Millis age = std::chrono::hours(168);
  std::int64_t bytes = std::int64_t{10} << 20;
  std::int64_t retries = 5;  // one more is a dead letter
};

// Of a line, when it is added: tries make it longer, and it must stay readable.
inline constexpr std::int64_t kLongestEntry = kLongestLine - (std::int64_t{64} << 10);

// For how long a server knows what it has received.
inline constexpr Millis kKeyAge = std::chrono::hours(72);

// After the n-th failure: 1 s, 2 s, 4 s … 64 s, a quarter more or less. `chance` is from 0 to 1.
Millis delay_after(std::int64_t failures, double chance);

// Every change is durable when the call returns, and done as a whole or not at all, whatever is
// killed in between. Not thread-safe; threads and processes have one each.
class Spool {
 public:
  explicit Spool(std::string path, Limits limits = {}, std::function<TimePoint()> clock = nullptr);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }

  struct Added {
    std::vector<Dropped> dropped = {};        // to keep the limits
    std::optional<Error> limits_failed = {};  // it was added, but they could not be kept
  };
  // At the end of the file. Refused: too_large, storage_full, or what keeps us from writing. With
  // outcome_unknown it may be there or not: the same id once more does no harm.
  Result<Added> add(const Entry& entry);

  // All of them or none, and none of what is there goes for them. Refused: overloaded, if the
  // limits leave too little room.
  Status add_all(const std::vector<Entry>& entries);
  Status add_all(const std::vector<Entry>& entries, const Lock& held);

  // Of the file as it stands; changes nothing.
  [[nodiscard]] Result<Contents> read() const;
  [[nodiscard]] Result<std::optional<Entry>> peek() const;  // what take would give

  struct Taken {
    std::optional<Entry> entry;
    std::vector<Dropped> dropped;
  };
  // The first that is due, marked as tried and hidden for a while.
  Result<Taken> take();
  // It was dealt with. Refused: not_found.
  Status done(const std::string& id);
  // It was tried in vain: again later, or a dead letter. Answers how it stands now, or where it
  // went.
  struct Failed {
    Entry entry;
    bool is_dead = false;
  };
  Result<Failed> fail(const std::string& id, const std::string& error);

  // What is over the limits, too old or doubtful goes to the dead letters; damaged lines are set
  // aside.
  Result<std::vector<Dropped>> tidy();

  // ---- For those who send. The lock of sending is theirs to hold.

  struct Sending {
    Entry entry;         // as it was
    std::string marked;  // its line now
  };
  struct Batch {
    std::vector<Sending> entries;  // in order
    std::vector<Dropped> dropped;
    std::int64_t left = 0;          // that are due as well
    std::optional<TimePoint> next;  // when the first is due of those that are not
  };
  // The first that are due, marked as tried.
  Result<Batch> begin(std::size_t most, std::size_t most_bytes);

  struct Ended {
    enum class How : std::uint8_t {
      kDone,
      kFailed,   // counts as a failure
      kRefused,  // a dead letter at once
      kUntried,  // as it was before
      kWaits,    // again at `not_before`, without counting
    };
    const Sending* sending = nullptr;
    How how = How::kDone;
    std::string error = {};
    std::optional<TimePoint> not_before = {};
    bool may_be_received = false;  // if it waits
  };
  // What became of them. Those that somebody else has changed meanwhile stay as they are.
  Result<std::vector<Dropped>> end(const std::vector<Ended>& ends);

 private:
  class Found;
  struct Known {  // of the file
    File::Mark mark;
    std::int64_t tasks = 0;
    TimePoint oldest = TimePoint::max();
    TimePoint oldest_tried = TimePoint::max();
    bool is_torn = false;

    void add(const Line& line);
  };

  using Change = std::function<Status(Edit&)>;
  Result<std::vector<Dropped>> change(const Change& change, const Contents::Each& each = nullptr);
  Result<std::vector<Dropped>> change_locked(const Change& change, const Contents::Each& each);
  [[nodiscard]] Status check_size(const std::string& text) const;
  Status catch_up();
  Status append(const std::string& text);
  [[nodiscard]] bool is_over_limits(TimePoint now) const;
  // What may be with a server just now goes last, if somebody sends.
  enum class Sends : bool { kNobody, kSomebody };
  void bury_beyond_limits(Edit& edit, TimePoint now, Sends sends = Sends::kNobody) const;
  void count_failure(Entry& entry, const std::string& error, TimePoint now,
                     std::optional<TimePoint> not_before);
  void requeue(Edit& edit, const Line& line, const Entry& entry) const;
  void settle(Edit& edit, const Line& line, const Ended& ended);
  [[nodiscard]] std::optional<Reason> too_old(const Line& line, TimePoint now) const;

  const std::string path_;
  const Limits limits_;
  const std::function<TimePoint()> clock_;
  Asides asides_;
  File file_;    // open for adding
  Known known_;  // as long as the file has this mark
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace retsu::spool
