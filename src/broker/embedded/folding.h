// Writes rows into the tables, slice by slice, beside the journal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/background.h"
#include "base/sqlite.h"
#include "broker/embedded/fold.h"
#include "broker/embedded/reader.h"

namespace retsu::embedded {

// What the journal has is written into the tables one generation after the other: all that it had
// at a moment, while it grows by the next. What is written was synced in the journal before, and
// stays there until the last slice of its generation is synced too; so slices need no sync.
//
// All calls come from one thread, but for folded_until() while a group is committed; slices are
// written on another.
class Folding {
 public:
  // A generation is as much as a file of the journal has, about so many bytes; the log is carried
  // over when it has so many pages.
  Folding(sqlite::Database database, std::size_t generation_bytes, int log_pages, Reader& reader);
  ~Folding() { wait(); }
  Folding(const Folding&) = delete;
  Folding& operator=(const Folding&) = delete;

  sqlite::Done prepare();

  // A store was loaded, whose tables have all up to one group: of those up to the last, rows() has
  // what differs from the tables. For the third see kept().
  void loaded(std::uint64_t folded_until, std::uint64_t last_group, std::uint64_t finished_until);
  Fold& rows() { return fold_; }

  // Of a group in the journal: its bytes, and up to which one it waits for the tables, to write
  // over its file. And what it changed:
  void kept(std::size_t bytes, std::uint64_t finished_until);
  void note(engine::Changes group, std::uint64_t number);

  // When it is time, begins with the next slice. In a hurry: somebody waits for it.
  void begin_slice(bool hurry);
  // visit(task) for each that a slice has brought into the tables as it is. Nothing: none was
  // begun, or it goes on, but if it is far behind: then it is waited for.
  using Visit = std::function<void(const engine::TaskRow&)>;
  std::optional<sqlite::Done> end_slice(const Visit& visit, bool wait = false);
  // One that is begun now and ended, if there is anything left. None may be under way.
  std::optional<sqlite::Done> slice(const Visit& visit);

  void wait() { background_.wait(); }  // until no slice is being written

  // The last group of which the tables have all, synced.
  [[nodiscard]] std::uint64_t folded_until() const { return folded_until_; }
  [[nodiscard]] bool has_all() const;  // the tables, of what was noted

  [[nodiscard]] sqlite::Database& database() { return database_; }

 private:
  void turn();
  sqlite::Done write();
  sqlite::Done end(sqlite::Done done, const Visit& visit);
  sqlite::Done carry_over_log();

  sqlite::Database database_;
  const std::size_t generation_bytes_;
  const int log_pages_;
  Reader& reader_;
  sqlite::Statement begin_;
  sqlite::Statement commit_;
  sqlite::Statement set_folded_;
  Fold fold_;
  std::uint64_t noted_until_ = 0;    // the last group that the fold knows of
  std::uint64_t folding_until_ = 0;  // the last one that the old generation covers
  std::uint64_t folded_until_ = 0;
  std::uint64_t finished_until_ = 0;
  std::size_t unfolded_bytes_ = 0;  // since rows were last chosen
  std::size_t turned_rows_ = 0;     // that the old generation had at first

  bool is_writing_ = false;
  bool is_last_ = false;  // the slice that is written, of its generation: rows may leave that later
  sqlite::Done written_;  // what came of it
  Background background_;
};

}  // namespace retsu::embedded
