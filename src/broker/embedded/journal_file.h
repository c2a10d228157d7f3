// The journal's files, apart from that of the tables: a group waits for nothing but its own bytes,
// and rows of tables are written beside it.
//
// There are two, `journal.1` and `journal.2`. Groups go into one of them; when that is long enough,
// and the tables have all that the other one says, they go into the other, from its beginning. So
// both stay as long as they are, and a sync has nothing to bring to the disk but the group.
//
//   file:   header · frames, each from a multiple of 512 bytes on
//   header: "retsu journal 1\n" · mark (8 bytes) · sum of both (8 bytes)
//   frame:  "RTSUGRP\n" · length of the group (8) · its number (8) · sum of all the rest (8) ·
//   group
//
// Numbers have their lowest byte first. Sums are xxh3 with the mark as its seed: neither what an
// earlier journal has left in a file nor a payload that looks like a frame is taken for one. The
// frames from the first on, each with the next number, are what a file says. A frame that is not
// whole ends it, because the power went while it was written; unless a later one is whole, which
// is written only when those before it are synced: then it is damage.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/sqlite.h"
#include "base/vfs_file.h"
#include "broker/embedded/store_files.h"

namespace retsu::embedded {

// What the tables say about their journal.
struct JournalMark {
  std::int64_t mark = 0;    // of the files; 0: it is a table beside them
  std::int64_t folded = 0;  // they have all groups up to this one
};
sqlite::Outcome<JournalMark> mark_of(sqlite::Database& tables);

// Groups, the first first.
struct JournalContent {
  struct Group {
    std::uint64_t number = 0;
    std::string_view bytes;
  };
  std::vector<Group> groups;
  std::uint64_t newest = 0;  // of all that are whole: above the last of groups, some are damaged
  std::deque<std::string> memory;

  [[nodiscard]] std::uint64_t last() const { return groups.empty() ? 0 : groups.back().number; }
};

// Of a table: copies of a store have one, and so have stores of earlier versions.
sqlite::Outcome<JournalContent> read_journal_table(sqlite::Database& database);
// Of the database journal.db, which version 5 had for it.
sqlite::Outcome<JournalContent> read_old_journal(sqlite::Database& database, std::int64_t mark);
// Of the files in a directory, also while another process writes them. Refused: one is missing, or
// is another journal's.
sqlite::Outcome<JournalContent> read_journal(const std::string& directory, const char* vfs,
                                             std::int64_t mark);

// Of tables whose journal has no files: those that are there all the same do not count, unless they
// have groups that are nowhere else. Then it is the mark that was lost.
sqlite::Done check_left_over(sqlite::Database& tables, const JournalMark& mark,
                             const std::string& directory, const char* vfs);

bool has_journal(const std::string& directory, const char* vfs = nullptr);
// Whether the journal of this mark is still the database of version 5: files that are there were
// being made of it.
bool has_old_journal(const std::string& directory, const char* vfs, std::int64_t mark);
void remove_journal(const std::string& directory, const char* vfs);

// Groups by number, synced when add() returns. One thread at a time.
class Journal {
 public:
  // A file is long enough when it has so many bytes.
  static sqlite::Outcome<Journal> make(const std::string& directory, const char* vfs,
                                       std::int64_t mark, const JournalContent& content,
                                       std::size_t file_bytes);
  // Refused: as by read_journal, whose answer is put into `content`. What was read is on the disk
  // then, whatever a sync may have failed to do before.
  static sqlite::Outcome<Journal> open(const std::string& directory, const char* vfs,
                                       std::int64_t mark, OldLog old_log, std::size_t file_bytes,
                                       JournalContent& content);

  // `folded`: the tables have all groups up to this one. A failure that is_full() has kept nothing;
  // after any other nobody knows.
  sqlite::Done add(std::uint64_t number, std::string_view group, std::uint64_t folded);

  // The last group of the file that is to be written next: when the tables have it.
  [[nodiscard]] std::uint64_t finished_until() const { return files_[1 - current_].last; }

 private:
  struct Written {
    sqlite::File file;
    std::int64_t size = 0;   // of the file
    std::int64_t end = 0;    // of the frames
    std::uint64_t last = 0;  // of the groups
  };
  // open(i), an Outcome<Written>, for each file.
  template <class Open>
  static sqlite::Outcome<std::array<Written, 2>> both(const Open& open);

  Journal(std::array<Written, 2> files, std::size_t current, std::int64_t mark,
          std::size_t file_bytes)
      : files_(std::move(files)),
        current_(current),
        mark_(mark),
        file_bytes_(static_cast<std::int64_t>(file_bytes)) {}

  sqlite::Done write(std::uint64_t number, std::string_view group);
  sqlite::Done grow();
  void turn();

  std::array<Written, 2> files_;
  std::size_t current_;
  std::int64_t mark_;
  std::int64_t file_bytes_;
  std::string frame_;  // memory that is used again
};

}  // namespace retsu::embedded
