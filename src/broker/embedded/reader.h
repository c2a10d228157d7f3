#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/sqlite.h"
#include "broker/keeper.h"

namespace retsu::embedded {

// Looks for tasks in the tables, on a thread and a read-only connection of its own, so that whoever
// writes does not wait. It looks at a few thousand rows at a time and lets go of them in between:
// a reader that held on would keep SQLite from using its log anew.
class Reader {
 public:
  Reader(std::string path, const char* vfs);
  ~Reader();  // searches that were not begun end with kShutdown
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void search(ListTasks list, Keeper::Done done);

  // While this is held, nobody reads.
  std::unique_lock<std::mutex> pause() { return std::unique_lock(reading_); }

 private:
  struct Search {
    ListTasks list;
    Keeper::Done done;
  };

  void run();
  Result<Keeper::Found> find(const ListTasks& list);
  sqlite::Outcome<Keeper::Found> find_in(sqlite::Database& database, const ListTasks& list);

  const std::string path_;
  const char* const vfs_;
  std::optional<sqlite::Database> database_;
  std::mutex reading_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Search> searches_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace retsu::embedded
