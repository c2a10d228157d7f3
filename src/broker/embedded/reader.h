#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/sqlite.h"
#include "broker/keeper.h"

namespace retsu::embedded {

// The number before which a list goes on. None: it begins.
std::optional<std::int64_t> parsed_cursor(std::string_view cursor);

// Looks for tasks in the tables, on a thread and a read-only connection of its own, so that whoever
// writes does not wait. It looks at a few thousand rows at a time and lets go of them in between:
// a reader that held on would keep SQLite from using its log anew.
class Reader {
 public:
  Reader(std::string path, const char* vfs);
  ~Reader();  // searches that are not over end with kUnavailable
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void search(ListTasks list, Keeper::Done done);

  // While this is there, nobody reads. It comes before those who go on with a search.
  class Pause {
   public:
    explicit Pause(Reader& reader);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Reader& reader_;
  };

 private:
  struct Search {
    ListTasks list;
    Keeper::Done done;
  };

  struct Reading {
    explicit Reading(Reader& of) : reader(of) {}
    ~Reading() { reader.end_reading(); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    Reader& reader;
  };

  void run();
  bool begin_reading();  // false: it is to stop
  void end_reading();
  Result<Keeper::Found> find(const ListTasks& list);
  sqlite::Outcome<Keeper::Found> find_in(sqlite::Database& database, const ListTasks& list);

  const std::string path_;
  const char* const vfs_;
  std::optional<sqlite::Database> database_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Search> searches_;
  bool stopping_ = false;
  bool reading_ = false;
  int pauses_ = 0;  // that are there, or wait for the reader to let go
  std::thread thread_;
};

}  // namespace retsu::embedded
