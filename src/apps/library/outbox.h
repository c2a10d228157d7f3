// What the queue is to be told of books, kept in the transaction that changed them and told after
// it, in the same order.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "apps/database.h"
#include "apps/library/shelf.h"
#include "broker/broker.h"

namespace retsu::library {

inline constexpr const char* kBookQueue = "hardcover";

// A claim of the queue, as clients name it: claims of others cannot be named.
std::string claim_of(const std::string& processing_id);
std::optional<std::string> processing_id_of(const std::string& claim_id);

// The task of a book that was queued by that row.
std::string task_of(const std::string& book_id, std::int64_t row);
struct TaskName {
  std::string book_id;
  std::int64_t row = 0;
};
std::optional<TaskName> task_name(const std::string& task_id);  // none: not one of ours

class Outbox {
 public:
  Outbox(apps::Database& database, Broker& broker) : database_(database), broker_(broker) {}

  // Inside a transaction.
  void push(const BookRow& book);
  void cancel(const BookRow& book);             // if it is in the queue: it is not any more
  void drop(const std::string& processing_id);  // all that this claim holds leaves the queue

  // Tells the queue, up to so many rows. Every row may be told again after a crash: ids are derived
  // from it. `canceled`: tasks that left the queue by it.
  struct Told {
    std::int64_t rows = 0;
    std::int64_t canceled = 0;
  };
  Result<Told> relay(std::int64_t most, TimePoint now);
  std::int64_t unsent();
  std::int64_t unsent_pushes();
  [[nodiscard]] bool is_unsent(std::int64_t row) const { return row > told_; }

  // Removes the rows that were told. By itself this happens with the next transaction.
  void sweep();
  [[nodiscard]] bool has_told() const { return swept_ != told_; }

 private:
  struct Row {
    std::int64_t number;
    std::string deed;
    std::string subject;
    MaybeNumber target;
  };
  std::vector<Row> next(std::int64_t most);
  Status push_all(std::span<const Row> rows);
  Result<std::int64_t> cancel_all(std::span<const Row> rows);
  Status drop_books(const std::string& processing_id, TimePoint now);

  apps::Database& database_;
  Broker& broker_;
  std::int64_t told_ = 0;   // up to this row
  std::int64_t swept_ = 0;  // likewise removed
};

}  // namespace retsu::library
