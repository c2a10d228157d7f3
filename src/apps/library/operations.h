// What can be asked of the library. Each struct is a request, whose fields stand in the path, the
// query or the body; its Reply is the answer.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apps/library/book.h"
#include "model/json.h"
#include "model/operations.h"

namespace retsu::library {

inline constexpr std::int64_t kClaimSize = 100;
inline constexpr std::int64_t kBatch = 1'000;  // books or results in one request

// -- the seed's endpoints, to the letter

struct MissingBooks {
  std::vector<MissingBook> books;
  std::string processing_id;
  std::int64_t remaining_unclaimed = 0;
};
// What becomes of the books of the previous claim that nobody has settled.
enum class Unfinished : std::uint8_t { kDrop, kRelease };
constexpr auto names_of(std::type_identity<Unfinished>) {
  return std::to_array<Named<Unfinished>>(
      {{"drop", Unfinished::kDrop}, {"release", Unfinished::kRelease}});
}
struct ClaimMissing {
  using Reply = MissingBooks;
  std::string previous_processing_id;
  Unfinished unfinished = Unfinished::kDrop;
  std::string processing_id;  // empty: a new one. Repeated: what it still holds
  std::int64_t limit = kClaimSize;
  std::string client;  // for people who look
};

struct ResetCount {
  std::int64_t reset_count = 0;
};
struct ResetOld {
  using Reply = ResetCount;
  std::int64_t older_than = 30;  // minutes
};
struct ResetClaim {
  using Reply = ResetCount;
  std::string processing_id;
};
struct RemovedCount {
  std::int64_t removed_count = 0;
};
struct Cleanup {
  using Reply = RemovedCount;
};

// -- what the seed's server has besides: ids written back

struct HardcoverIds {
  std::string id;  // ours
  MaybeNumber hardcover_id;
  MaybeText hardcover_slug;
};
struct WrittenBack {
  std::string status = "ok";
};
struct WriteBack {
  using Reply = WrittenBack;
  std::optional<HardcoverIds> edition;
  HardcoverIds book;
  std::vector<HardcoverIds> authors;
};

// -- beyond it

enum class Verdict : std::uint8_t { kMatched, kUnmatched, kFailed, kRelease };
constexpr auto names_of(std::type_identity<Verdict>) {
  using enum Verdict;
  return std::to_array<Named<Verdict>>({{"matched", kMatched},
                                        {"unmatched", kUnmatched},
                                        {"failed", kFailed},
                                        {"release", kRelease}});
}
struct SettleBook {
  std::string book_id;
  Verdict outcome = Verdict::kMatched;
  std::string reason;  // why not
  bool retryable = true;
  MaybeNumber hardcover_id;
  MaybeText hardcover_slug;
  std::optional<HardcoverIds> edition;
  std::vector<HardcoverIds> authors;
};
struct SettledBook {
  std::string book_id;
  bool ok = false;
  std::optional<Error> error;
};
struct SettledBooks {
  std::vector<SettledBook> results;
};
struct SettleBooks {
  using Reply = SettledBooks;
  std::string processing_id;
  std::vector<SettleBook> results;
};
struct QueuedCount {
  std::int64_t queued_count = 0;
};
struct Requeue {  // books without an id that are not in the queue
  using Reply = QueuedCount;
  std::int64_t older_than = 0;  // minutes since they were looked up
};
struct LibraryStatus {
  std::int64_t books = 0;
  std::int64_t with_id = 0;
  std::int64_t unclaimed = 0;
  std::int64_t claimed = 0;
  std::int64_t retrying = 0;
  std::int64_t without_match = 0;  // looked up, or dropped, without an id
  std::int64_t unsent = 0;         // changes that the queue does not know of yet
};
struct GetStatus {
  using Reply = LibraryStatus;
};
// What the service says of its limits, so that all clients together obey them.
struct Pace {
  std::int64_t quota = 60;
  std::int64_t window_seconds = 60;
  std::int64_t burst = 10;
};
struct SetPace {
  using Reply = Pace;
  std::int64_t quota = 0;
  std::int64_t window_seconds = 0;
  std::int64_t burst = 0;
};

// -- books

struct Created {
  std::string id;
  bool created = false;
  bool queued = false;
  std::optional<Error> error;  // only if partial
};
struct CreatedBooks {
  std::vector<Created> books;
};
struct CreateBooks {
  using Reply = CreatedBooks;
  std::vector<BookFields> books;
  bool partial = false;  // those that are refused do not keep the others out
};
struct BookPage {
  std::vector<Book> books;
  MaybeText next_cursor;
};
struct ListBooks {  // the oldest first
  using Reply = BookPage;
  std::string isbn13;
  std::optional<bool> missing;    // without a Hardcover id, or with one
  std::optional<bool> unmatched;  // looked up without finding one, or not
  std::int64_t limit = 100;
  std::string cursor;
};
struct GetBook {
  using Reply = Book;
  std::string id;
};
struct PatchBook {
  using Reply = Book;
  std::string id;
  Json patch;  // fields of a book: those named change, null clears one
};
struct AddEdition {
  using Reply = Book;
  std::string id;  // of the book
  std::string isbn13;
  MaybeText publisher;
  MaybeText publication_date;
  MaybeText binding;
};
struct DeletedBook {
  std::int64_t removed = 0;
};
struct DeleteBook {
  using Reply = DeletedBook;
  std::string id;
};

inline constexpr auto kLibraryOperations = std::to_array<Operation>({
    {"claim_missing", "GET", "/api/missing/hardcover", Scope::kWork, kNoBody, true, false},
    {"write_back", "POST", "/api/missing/hardcover", Scope::kWork, kSmallBody, true, true},
    {"settle_books", "POST", "/api/missing/hardcover/{processingId}/settle", Scope::kWork,
     kTaskBody, true, true},
    {"set_pace", "PUT", "/api/missing/hardcover-pace", Scope::kWork, kSmallBody, true, true},
    {"reset_old", "POST", "/api/admin/hardcover-queue/reset", Scope::kAdmin, kSmallBody, true,
     true},
    {"reset_claim", "DELETE", "/api/admin/hardcover-queue/claims/{processingId}", Scope::kAdmin,
     kNoBody, true, true},
    {"cleanup", "POST", "/api/admin/hardcover-queue/cleanup", Scope::kAdmin, kSmallBody, true,
     true},
    {"requeue", "POST", "/api/admin/hardcover-queue/requeue", Scope::kAdmin, kSmallBody, true,
     true},
    {"status", "GET", "/api/hardcover-queue", Scope::kRead, kNoBody, false, true},
    {"create_books", "POST", "/api/books", Scope::kPush, kBatchBody, true, false},
    {"list_books", "GET", "/api/books", Scope::kRead, kNoBody, false, true},
    {"get_book", "GET", "/api/books/{id}", Scope::kRead, kNoBody, false, true},
    {"patch_book", "PATCH", "/api/books/{id}", Scope::kPush, kSmallBody, true, true},
    {"add_edition", "POST", "/api/books/{id}/editions", Scope::kPush, kSmallBody, true, false},
    {"delete_book", "DELETE", "/api/books/{id}", Scope::kAdmin, kNoBody, true, true},
});

// One alternative per row, in the same order.
using LibraryCommand = std::variant<ClaimMissing, WriteBack, SettleBooks, SetPace, ResetOld,
                                    ResetClaim, Cleanup, Requeue, GetStatus, CreateBooks, ListBooks,
                                    GetBook, PatchBook, AddEdition, DeleteBook>;
static_assert(std::variant_size_v<LibraryCommand> == kLibraryOperations.size());

template <class Op>
constexpr const Operation& library_row() {
  return kLibraryOperations[LibraryCommand(std::in_place_type<Op>).index()];
}

constexpr auto fields_of(std::type_identity<MissingBooks>) {
  return List{Field{"books", &MissingBooks::books, kAlwaysShown},
              Field{"processingId", &MissingBooks::processing_id, kAlwaysShown},
              Field{"remainingUnclaimed", &MissingBooks::remaining_unclaimed, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<ClaimMissing>) {
  return List{Field{"previousProcessingId", &ClaimMissing::previous_processing_id},
              Field{"unfinished", &ClaimMissing::unfinished},
              Field{"processingId", &ClaimMissing::processing_id},
              Field{"limit", &ClaimMissing::limit}, Field{"client", &ClaimMissing::client}};
}
constexpr auto fields_of(std::type_identity<ResetCount>) {
  return List{Field{"resetCount", &ResetCount::reset_count, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<ResetOld>) {
  return List{Field{"olderThan", &ResetOld::older_than}};
}
constexpr auto fields_of(std::type_identity<ResetClaim>) {
  return List{Field{"processingId", &ResetClaim::processing_id, kRequired}};
}
constexpr auto fields_of(std::type_identity<RemovedCount>) {
  return List{Field{"removedCount", &RemovedCount::removed_count, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<Cleanup>) { return List{}; }
constexpr auto fields_of(std::type_identity<HardcoverIds>) {
  return List{Field{"id", &HardcoverIds::id, kRequired},
              Field{"hardcoverId", &HardcoverIds::hardcover_id},
              Field{"hardcoverSlug", &HardcoverIds::hardcover_slug}};
}
constexpr auto fields_of(std::type_identity<WrittenBack>) {
  return List{Field{"status", &WrittenBack::status}};
}
constexpr auto fields_of(std::type_identity<WriteBack>) {
  return List{Field{"edition", &WriteBack::edition}, Field{"book", &WriteBack::book, kRequired},
              Field{"authors", &WriteBack::authors}};
}
constexpr auto fields_of(std::type_identity<SettleBook>) {
  return List{Field{"bookId", &SettleBook::book_id, kRequired},
              Field{"outcome", &SettleBook::outcome, kRequired},
              Field{"reason", &SettleBook::reason},
              Field{"retryable", &SettleBook::retryable},
              Field{"hardcoverId", &SettleBook::hardcover_id},
              Field{"hardcoverSlug", &SettleBook::hardcover_slug},
              Field{"edition", &SettleBook::edition},
              Field{"authors", &SettleBook::authors}};
}
constexpr auto fields_of(std::type_identity<SettledBook>) {
  return List{Field{"bookId", &SettledBook::book_id}, Field{"ok", &SettledBook::ok, kAlwaysShown},
              Field{"error", &SettledBook::error}};
}
constexpr auto fields_of(std::type_identity<SettledBooks>) {
  return List{Field{"results", &SettledBooks::results, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<SettleBooks>) {
  return List{Field{"processingId", &SettleBooks::processing_id, kRequired},
              Field{"results", &SettleBooks::results, kRequired}};
}
constexpr auto fields_of(std::type_identity<QueuedCount>) {
  return List{Field{"queuedCount", &QueuedCount::queued_count, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<Requeue>) {
  return List{Field{"olderThan", &Requeue::older_than}};
}
constexpr auto fields_of(std::type_identity<LibraryStatus>) {
  return List{Field{"books", &LibraryStatus::books, kAlwaysShown},
              Field{"withId", &LibraryStatus::with_id, kAlwaysShown},
              Field{"unclaimed", &LibraryStatus::unclaimed, kAlwaysShown},
              Field{"claimed", &LibraryStatus::claimed, kAlwaysShown},
              Field{"retrying", &LibraryStatus::retrying, kAlwaysShown},
              Field{"withoutMatch", &LibraryStatus::without_match, kAlwaysShown},
              Field{"unsent", &LibraryStatus::unsent, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<GetStatus>) { return List{}; }
template <class T>
constexpr auto pace_fields() {
  return List{Field{"quota", &T::quota, kRequired},
              Field{"windowSeconds", &T::window_seconds, kRequired},
              Field{"burst", &T::burst, kRequired}};
}
constexpr auto fields_of(std::type_identity<Pace>) { return pace_fields<Pace>(); }
constexpr auto fields_of(std::type_identity<SetPace>) { return pace_fields<SetPace>(); }
constexpr auto fields_of(std::type_identity<Created>) {
  return List{Field{"id", &Created::id}, Field{"created", &Created::created, kAlwaysShown},
              Field{"queued", &Created::queued, kAlwaysShown}, Field{"error", &Created::error}};
}
constexpr auto fields_of(std::type_identity<CreatedBooks>) {
  return List{Field{"books", &CreatedBooks::books, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<CreateBooks>) {
  return List{Field{"books", &CreateBooks::books, kRequired},
              Field{"partial", &CreateBooks::partial}};
}
constexpr auto fields_of(std::type_identity<BookPage>) {
  return List{Field{"books", &BookPage::books, kAlwaysShown},
              Field{"next_cursor", &BookPage::next_cursor, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<ListBooks>) {
  return List{Field{"isbn13", &ListBooks::isbn13}, Field{"missing", &ListBooks::missing},
              Field{"unmatched", &ListBooks::unmatched}, Field{"limit", &ListBooks::limit},
              Field{"cursor", &ListBooks::cursor}};
}
constexpr auto fields_of(std::type_identity<GetBook>) {
  return List{Field{"id", &GetBook::id, kRequired}};
}
constexpr auto fields_of(std::type_identity<PatchBook>) {
  return List{Field{"id", &PatchBook::id, kRequired}, Field{"patch", &PatchBook::patch, kRequired}};
}
constexpr auto fields_of(std::type_identity<AddEdition>) {
  return List{Field{"id", &AddEdition::id, kRequired},
              Field{"isbn13", &AddEdition::isbn13, kRequired},
              Field{"publisher", &AddEdition::publisher},
              Field{"publicationDate", &AddEdition::publication_date},
              Field{"binding", &AddEdition::binding}};
}
constexpr auto fields_of(std::type_identity<DeletedBook>) {
  return List{Field{"removed", &DeletedBook::removed, kAlwaysShown}};
}
constexpr auto fields_of(std::type_identity<DeleteBook>) {
  return List{Field{"id", &DeleteBook::id, kRequired}};
}

}  // namespace retsu::library
