// The rows of a query, as bytes, read ahead on another thread when there are many.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "base/byte_buffer.h"
#include "base/sqlite.h"

namespace retsu::embedded {

// Until the stream is gone, nobody else uses the statement's connection.
class RowStream {
 public:
  RowStream(sqlite::Statement statement, int columns);
  ~RowStream();
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  // The values of the next row, as a ValueWriter writes them; valid until the next call. None:
  // there are no more, or done() is a failure.
  std::optional<std::string_view> next();
  [[nodiscard]] const sqlite::Done& done() const { return done_; }

 private:
  struct Batch {
    ByteBuffer rows;  // each after its length
    bool last = false;
    sqlite::Done done;
  };

  Batch read();
  void read_ahead();

  sqlite::Statement statement_;
  const int columns_;
  Batch batch_;  // being handed out
  std::size_t place_ = 0;
  sqlite::Done done_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ahead_;
  bool stopping_ = false;
  std::thread reader_;
};

}  // namespace retsu::embedded
