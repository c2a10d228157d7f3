// The library: books that lack a Hardcover id, and many clients that look them up.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apps/keyed_answers.h"
#include "apps/library/hardcover_queue.h"
#include "broker/application.h"

namespace retsu::library {

class Library final : public Application {
 public:
  // In `directory`/library.db. The broker outlives it.
  static Result<std::unique_ptr<Library>> open(const std::string& directory, Broker& broker,
                                               HardcoverQueue::Clock clock,
                                               const char* vfs = nullptr);

  [[nodiscard]] std::span<const Operation> operations() const override {
    return kLibraryOperations;
  }
  Result<AppResponse> serve(const Operation& operation, const AppRequest& request) override;
  void tick() override;

 private:
  Library(std::unique_ptr<apps::Database> database, Broker& broker, HardcoverQueue::Clock clock)
      : database_(std::move(database)),
        clock_(std::move(clock)),
        shelf_(*database_),
        keys_(*database_),
        queue_(*database_, shelf_, broker, clock_) {}

  template <class Op>
  Result<AppResponse> serve_as(const Operation& operation, const AppRequest& request);

  Result<MissingBooks> answer(const ClaimMissing& asked) { return queue_.claim(asked); }
  Result<WrittenBack> answer(const WriteBack& asked);
  Result<SettledBooks> answer(const SettleBooks& asked);
  Result<Pace> answer(const SetPace& asked) { return queue_.set_pace(asked); }
  Result<ResetCount> answer(const ResetOld& asked) { return queue_.reset_old(asked); }
  Result<ResetCount> answer(const ResetClaim& asked) { return queue_.reset(asked.processing_id); }
  Result<RemovedCount> answer(const Cleanup&) { return queue_.cleanup(); }
  Result<QueuedCount> answer(const Requeue& asked) { return queue_.requeue(asked); }
  Result<LibraryStatus> answer(const GetStatus&) { return queue_.status(); }
  Result<BookPage> answer(ListBooks asked);
  Result<Book> answer(const GetBook& asked);
  Result<Book> answer(const PatchBook& asked);
  Result<DeletedBook> answer(const DeleteBook& asked);
  // Inside a transaction, with a key beside them.
  Result<CreatedBooks> answer(CreateBooks asked);
  Result<Book> answer(const AddEdition& asked);

  Result<BookRow> find(const std::string& id);
  Created create(const BookFields& fields);

  const std::unique_ptr<apps::Database> database_;
  const HardcoverQueue::Clock clock_;
  Shelf shelf_;
  apps::KeyedAnswers keys_;
  HardcoverQueue queue_;
};

// A library that is made when somebody first asks for it: a server whose users have no books has no
// file and no queues for them.
class LazyLibrary final : public Application {
 public:
  LazyLibrary(std::string directory, Broker& broker, HardcoverQueue::Clock clock)
      : directory_(std::move(directory)), broker_(broker), clock_(std::move(clock)) {}

  Status open_if_there();

  [[nodiscard]] std::span<const Operation> operations() const override {
    return kLibraryOperations;
  }
  Result<AppResponse> serve(const Operation& operation, const AppRequest& request) override;
  void tick() override {
    if (library_) library_->tick();
  }

 private:
  Status open();

  const std::string directory_;
  Broker& broker_;
  const HardcoverQueue::Clock clock_;
  std::unique_ptr<Library> library_;
};

}  // namespace retsu::library
