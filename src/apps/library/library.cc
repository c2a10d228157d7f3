#include "apps/library/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "apps/library/schema.h"
#include "base/isbn.h"

namespace retsu::library {
namespace {

constexpr std::size_t kReasonBytes = 1'000;

template <class Op>
constexpr bool kIsOnce = std::is_same_v<Op, CreateBooks> || std::is_same_v<Op, AddEdition>;

// One book may stand for a list of one.
std::string with_list(std::string_view body) {
  if (!check_json(body)) return std::string(body);  // its reader says what is wrong
  const std::string_view first = JsonReader(body).first_key();
  if (first == "books" || first == "partial" || first.empty()) return std::string(body);
  return fmt::format(R"({{"books":[{}]}})", body);
}

template <class Op>
Result<Op> read(const Operation& operation, const AppRequest& request) {
  std::string body = request.body;
  if constexpr (std::is_same_v<Op, CreateBooks>) body = with_list(body);
  const auto json =
      json_from_http(operation, json_detail::table_of<Op>(), request.path, request.query, body);
  if (!json) return tl::unexpected(json.error());
  auto op = from_json<Op>(*json);
  if (!op) return tl::unexpected(to_error(std::move(op.error())));
  return *std::move(op);
}

template <class Reply>
AppResponse response_of(const Reply& reply) {
  AppResponse response;
  append_json(response.body, reply);
  if constexpr (std::is_same_v<Reply, CreatedBooks>) {
    if (std::ranges::any_of(reply.books, &Created::created)) response.status = 201;
  }
  return response;
}

Status check_all(std::string_view before, const HardcoverIds& book,
                 const std::optional<HardcoverIds>& edition,
                 const std::vector<HardcoverIds>& authors) {
  const auto check_one = [&](std::string_view field, const HardcoverIds& ids) {
    return check_hardcover(fmt::format("{}{}", before, field), ids.hardcover_id,
                           ids.hardcover_slug);
  };
  Status status = check_one("", book);
  if (status && edition) status = check_one("edition.", *edition);
  for (const HardcoverIds& author : authors) {
    if (status) status = check_one("authors.", author);
  }
  return status;
}

Status check(const SettleBook& one, std::size_t place) {
  const auto invalid = [&](std::string_view what) {
    return refuse(ErrorCode::kInvalid, fmt::format("results[{}].{}", place, what));
  };
  if (one.outcome == Verdict::kMatched) {
    if (!one.hardcover_id) return invalid("hardcoverId: a match needs one");
  } else if (one.hardcover_id || one.hardcover_slug || one.edition || !one.authors.empty()) {
    return invalid("outcome: ids go with matched only");
  }
  if (one.reason.size() > kReasonBytes) {
    return invalid(fmt::format("reason: at most {} bytes are allowed", kReasonBytes));
  }
  if (auto fine =
          check_all(fmt::format("results[{}].", place),
                    {one.book_id, one.hardcover_id, one.hardcover_slug}, one.edition, one.authors);
      !fine) {
    return fine;
  }
  const bool needs_reason = one.outcome == Verdict::kUnmatched || one.outcome == Verdict::kFailed;
  if (needs_reason && one.reason.empty()) return invalid("reason: say why");
  return {};
}

}  // namespace

Result<std::unique_ptr<Library>> Library::open(const std::string& directory, Broker& broker,
                                               HardcoverQueue::Clock clock, const char* vfs) {
  auto database = apps::Database::open(directory + kFile, kApplicationId, kVersions, vfs);
  if (!database) return tl::unexpected(std::move(database.error()));
  auto library =
      std::unique_ptr<Library>(new Library(*std::move(database), broker, std::move(clock)));
  if (auto ready = library->queue_.prepare(); !ready) {
    return tl::unexpected(std::move(ready.error()));
  }
  return library;
}

void Library::tick() {
  queue_.relay();
  const bool has_old_keys =
      database_->read([&] { return keys_.has_old(clock_()); }).value_or(false);
  if (!has_old_keys && !queue_.outbox().has_told()) return;
  (void)database_->write([&]() -> Status {
    queue_.outbox().sweep();
    keys_.sweep(clock_());
    return {};
  });
}

template <class Op>
Result<AppResponse> Library::serve_as(const Operation& operation, const AppRequest& request) {
  auto asked = read<Op>(operation, request);
  if (!asked) return tl::unexpected(std::move(asked.error()));
  const auto respond = [&]() -> Result<AppResponse> {
    const auto reply = answer(*std::move(asked));
    if (!reply) return tl::unexpected(reply.error());
    AppResponse response = response_of(*reply);
    if constexpr (std::is_same_v<Op, ClaimMissing>) {
      // Nobody would know what to release.
      if (asked->processing_id.empty()) {
        response.on_lost = [this, lost = reply->processing_id] { (void)queue_.reset(lost); };
      }
    }
    return response;
  };
  if constexpr (!kIsOnce<Op>) {
    return respond();
  } else {
    auto response = database_->write([&]() -> Result<AppResponse> {
      if (request.idempotency_key) {
        auto known = keys_.find(operation, request, clock_());
        if (!known) return tl::unexpected(std::move(known.error()));
        if (*known) return **std::move(known);
      }
      auto made = respond();
      if (made && request.idempotency_key) keys_.keep(operation, request, *made, clock_());
      return made;
    });
    queue_.relay();
    return response;
  }
}

Result<AppResponse> Library::serve(const Operation& operation, const AppRequest& request) {
  using Serve = Result<AppResponse> (Library::*)(const Operation&, const AppRequest&);
  static constexpr auto kServe = []<std::size_t... Row>(std::index_sequence<Row...>) {
    return std::array<Serve, sizeof...(Row)>{
        &Library::serve_as<std::variant_alternative_t<Row, LibraryCommand>>...};
  }
  (std::make_index_sequence<kLibraryOperations.size()>{});
  return (this->*kServe[static_cast<std::size_t>(&operation - kLibraryOperations.data())])(
      operation, request);
}

Result<BookRow> Library::find(const std::string& id) {
  auto row = database_->read([&] { return shelf_.find(id); });
  if (!row) return tl::unexpected(std::move(row.error()));
  if (!*row) return refuse(ErrorCode::kNotFound, fmt::format("there is no book {}", id));
  return **std::move(row);
}

Created Library::create(const BookFields& fields) {
  if (const auto there = shelf_.find_same(fields)) {
    return {.id = there->id, .created = false, .queued = there->task.has_value()};
  }
  const BookRow row = shelf_.add(fields, clock_());
  if (!row.has_id) queue_.outbox().push(row);
  return {.id = row.id, .created = true, .queued = !row.has_id};
}

Result<CreatedBooks> Library::answer(CreateBooks asked) {
  if (asked.books.empty() || std::ssize(asked.books) > kBatch) {
    return refuse(asked.books.empty() ? ErrorCode::kInvalid : ErrorCode::kTooLarge,
                  fmt::format("books: from 1 to {} at once", kBatch));
  }
  CreatedBooks created;
  for (std::size_t i = 0; i < asked.books.size(); ++i) {
    if (auto fine = normalize(asked.books[i]); !fine) {
      if (asked.books.size() > 1 || asked.partial) {
        fine.error().message = fmt::format("books[{}].{}", i, fine.error().message);
      }
      if (!asked.partial) return tl::unexpected(std::move(fine.error()));
      created.books.push_back({.error = std::move(fine.error())});
      continue;
    }
    created.books.push_back(create(asked.books[i]));
  }
  return created;
}

Result<BookPage> Library::answer(ListBooks asked) {
  if (asked.limit < 1 || asked.limit > kBatch) {
    return refuse(ErrorCode::kInvalid, fmt::format("limit: must be from 1 to {}", kBatch));
  }
  if (asked.cursor.size() > 18 ||
      asked.cursor.find_first_not_of("0123456789") != std::string::npos) {
    return refuse(ErrorCode::kInvalid, "cursor: use next_cursor of the page before");
  }
  if (!asked.isbn13.empty()) {
    const auto isbn = read_isbn(asked.isbn13);
    if (!isbn) return refuse(ErrorCode::kInvalid, fmt::format("isbn13: {}", isbn.error()));
    asked.isbn13 = isbn13_text(*isbn);
  }
  return database_->read([&] { return shelf_.list(asked); });
}

Result<Book> Library::answer(const GetBook& asked) {
  const auto row = find(asked.id);
  if (!row) return tl::unexpected(row.error());
  return database_->read([&] { return shelf_.read(*row); });
}

Result<Book> Library::answer(const PatchBook& asked) {
  const auto row = find(asked.id);
  if (!row) return tl::unexpected(row.error());
  auto book = answer(GetBook{asked.id});
  if (!book) return book;
  BookFields fields = book->fields;
  if (auto read = read_into(asked.patch.view(), fields); !read) {
    return tl::unexpected(to_error(std::move(read.error())));
  }
  if (auto fine = normalize(fields); !fine) return tl::unexpected(std::move(fine.error()));
  auto changed = database_->write([&]() -> Status {
    if (auto done = shelf_.change(*row, fields, clock_()); !done) return done;
    const bool can_find_more = fields.isbn13 != book->fields.isbn13 ||
                               fields.title != book->fields.title ||
                               fields.authors != book->fields.authors;
    if (fields.hardcover_id) {
      queue_.outbox().cancel(*row);
    } else if (row->has_id || (!row->task && can_find_more)) {
      queue_.outbox().push(*row);
    }
    return {};
  });
  if (!changed) return tl::unexpected(std::move(changed.error()));
  queue_.relay();
  return answer(GetBook{asked.id});
}

Result<Book> Library::answer(const AddEdition& asked) {
  const auto row = shelf_.find(asked.id);
  if (!row) return refuse(ErrorCode::kNotFound, fmt::format("there is no book {}", asked.id));
  BookFields edition{.title = "an edition",
                     .isbn13 = asked.isbn13,
                     .publisher = asked.publisher,
                     .publication_date = asked.publication_date,
                     .binding = asked.binding};
  if (auto fine = normalize(edition); !fine) return tl::unexpected(std::move(fine.error()));
  if (!edition.isbn13) return refuse(ErrorCode::kInvalid, "isbn13: must not be empty");
  if (auto added = shelf_.add_edition(*row, edition, clock_()); !added) {
    return tl::unexpected(std::move(added.error()));
  }
  return shelf_.read(*row);
}

Result<DeletedBook> Library::answer(const DeleteBook& asked) {
  const auto row = find(asked.id);
  if (!row) return tl::unexpected(row.error());
  auto removed = database_->write([&]() -> Status {
    queue_.outbox().cancel(*row);
    shelf_.remove(*row);
    return {};
  });
  if (!removed) return tl::unexpected(std::move(removed.error()));
  queue_.relay();
  return DeletedBook{1};
}

Result<WrittenBack> Library::answer(const WriteBack& asked) {
  const Shelf::Ids ids{asked.book.hardcover_id, asked.book.hardcover_slug, asked.edition,
                       asked.authors};
  if (auto fine = check_all("book.", asked.book, asked.edition, asked.authors); !fine) {
    return tl::unexpected(std::move(fine.error()));
  }
  const auto row = find(asked.book.id);
  if (!row) return tl::unexpected(row.error());
  auto written = database_->write([&]() -> Status {
    if (auto fine = shelf_.check_ids(*row, ids); !fine) return fine;
    shelf_.set_ids(*row, ids, clock_());
    if (ids.book) queue_.outbox().cancel(*row);
    return {};
  });
  if (!written) return tl::unexpected(std::move(written.error()));
  queue_.relay();
  return WrittenBack{};
}

Result<SettledBooks> Library::answer(const SettleBooks& asked) {
  if (asked.results.empty() || std::ssize(asked.results) > kBatch) {
    return refuse(asked.results.empty() ? ErrorCode::kInvalid : ErrorCode::kTooLarge,
                  fmt::format("results: from 1 to {} at once", kBatch));
  }
  std::set<std::string_view> named;
  for (std::size_t i = 0; i < asked.results.size(); ++i) {
    if (auto fine = check(asked.results[i], i); !fine) return tl::unexpected(fine.error());
    if (!named.insert(asked.results[i].book_id).second) {
      return refuse(ErrorCode::kInvalid, fmt::format("results[{}].bookId: is named twice", i));
    }
  }
  if (!is_id(asked.processing_id)) {
    return refuse(ErrorCode::kStaleClaim, "there is no such claim");
  }
  return queue_.settle(asked);
}

Status LazyLibrary::open_if_there() {
  return std::filesystem::exists(directory_ + kFile) ? open() : Status();
}

Status LazyLibrary::open() {
  auto opened = Library::open(directory_, broker_, clock_);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  library_ = *std::move(opened);
  return {};
}

Result<AppResponse> LazyLibrary::serve(const Operation& operation, const AppRequest& request) {
  if (!library_) {
    if (auto opened = open(); !opened) return tl::unexpected(std::move(opened.error()));
  }
  return library_->serve(operation, request);
}

}  // namespace retsu::library
