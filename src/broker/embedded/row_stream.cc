#include "broker/embedded/row_stream.h"

#include <cstring>
#include <utility>

#include "broker/embedded/row_values.h"

namespace retsu::embedded {
namespace {

constexpr std::size_t kBatchBytes = std::size_t{256} << 10;
constexpr std::size_t kBatchesAhead = 4;

}  // namespace

RowStream::RowStream(sqlite::Statement statement, int columns)
    : statement_(std::move(statement)), columns_(columns), batch_(read()) {
  if (!batch_.last) reader_ = std::thread([this] { read_ahead(); });
}

RowStream::~RowStream() {
  if (!reader_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  reader_.join();
}

std::optional<std::string_view> RowStream::next() {
  while (place_ == batch_.rows.size()) {
    if (batch_.last) {
      done_ = batch_.done;
      return std::nullopt;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ahead_.empty(); });
    batch_ = std::move(ahead_.front());
    ahead_.pop_front();
    place_ = 0;
    lock.unlock();
    changed_.notify_all();
  }
  std::size_t size = 0;
  std::memcpy(&size, batch_.rows.data() + place_, sizeof size);
  const auto row = batch_.rows.view().substr(place_ + sizeof size, size);
  place_ += sizeof size + size;
  return row;
}

RowStream::Batch RowStream::read() {
  Batch batch;
  while (batch.rows.size() < kBatchBytes) {
    const auto more = statement_.step();
    if (!more) batch.done = tl::unexpected(more.error());
    batch.last = !more || !*more;
    if (batch.last) break;
    const std::size_t start = batch.rows.size();
    batch.rows.room(sizeof start);
    batch.rows.wrote(sizeof start);
    ValueWriter out(batch.rows);
    for (int column = 0; column < columns_; ++column) {
      switch (statement_.type(column)) {
        case SQLITE_NULL:
          out.null();
          break;
        case SQLITE_INTEGER:
          out.integer(statement_.integer(column));
          break;
        default:
          out.bytes(statement_.text(column));
      }
    }
    const std::size_t size = batch.rows.size() - start - sizeof start;
    std::memcpy(batch.rows.data() + start, &size, sizeof size);
  }
  return batch;
}

void RowStream::read_ahead() {
  for (bool last = false; !last;) {
    Batch batch = read();
    last = batch.last;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ahead_.size() < kBatchesAhead || stopping_; });
    if (stopping_) return;
    ahead_.push_back(std::move(batch));
    lock.unlock();
    changed_.notify_all();
  }
}

}  // namespace retsu::embedded
