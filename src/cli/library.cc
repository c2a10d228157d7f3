#include "cli/library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "broker/engine_broker.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/options.h"
#include "cli/table.h"
#include "cli/times.h"

namespace retsu::cli {
namespace {

using namespace retsu::library;

std::string names_in(const AuthorNames& authors) {
  return fmt::format("{}", fmt::join(authors.names, "; "));
}

// Where the search for its id stands, in a word.
Cell search_of(const Book& book) {
  if (book.fields.hardcover_id) return {std::to_string(*book.fields.hardcover_id), Style::kGreen};
  if (book.search.queued) return {"queued", Style::kYellow};
  return {book.search.reason ? "no match" : "not queued", Style::kDim};
}

void print_book(Screen& screen, const Book& book) {
  Card card(screen);
  card.add("id", book.id);
  card.add("title", book.fields.title);
  card.add("authors", names_in(book.fields.authors));
  card.add("isbn13", book.fields.isbn13.value_or(""));
  card.add("hardcoverId", search_of(book));
  card.add("hardcoverSlug", book.fields.hardcover_slug.value_or(""));
  card.add("publisher", book.fields.publisher.value_or(""));
  card.add("publicationDate", book.fields.publication_date.value_or(""));
  card.add("lookups", book.search.attempts > 0 ? std::to_string(book.search.attempts) : "");
  card.add("reason", book.search.reason.value_or(""));
  card.add("created", shown_fully(book.created_at));
  card.print();
}

// What is typed of a book; only what was given counts.
struct BookOptions {
  std::string title;
  std::string isbn13;
  std::vector<std::string> authors;
  std::string hardcover_id;

  void add_to(Arguments& arguments) {
    arguments.option("--isbn", isbn13, "Its ISBN, of 10 or 13 digits").type_name("ISBN");
    arguments.list("--author", authors, "An author; again for each").type_name("NAME");
    arguments.option("--hardcover-id", hardcover_id, "Its id at Hardcover; none takes it away")
        .type_name("ID|none");
  }
  // As a JSON object of what was given.
  [[nodiscard]] Result<std::string> json() const {
    std::string text;
    JsonWriter to(text);
    to.open_object();
    if (!title.empty()) {
      to.key("title");
      to.string(title);
    }
    if (!isbn13.empty()) {
      to.key("isbn13");
      to.string(isbn13);
    }
    if (!authors.empty()) {
      to.key("authors");
      write_json(to, authors);
    }
    if (!hardcover_id.empty()) {
      to.key("hardcoverId");
      const bool is_number = hardcover_id.find_first_not_of("0123456789") == std::string::npos &&
                             hardcover_id.size() < 17;
      if (!is_number && hardcover_id != "none") {
        return refuse(ErrorCode::kInvalid, "--hardcover-id: must be a whole number, or none");
      }
      to.raw(is_number ? hardcover_id : "null");
    }
    to.close_object();
    return text;
  }
};

}  // namespace

Result<std::unique_ptr<Door>> open_library(Session& session, Millis patience) {
  const auto broker = session.broker(Session::Missing::kMake);
  if (!broker) return tl::unexpected(broker.error());
  if (session.server()) {
    return std::make_unique<RemoteDoor>(RemoteDoorSettings{
        .url = *session.server(),
        .token = session.token(),
        .patience = patience,
        .on_retry = [&screen = session.screen()](const Error& error, Millis pause) {
          screen.note(fmt::format("{}; again in {}", printable(error.message), rough(pause)));
        }});
  }
  const auto directory = session.directory();
  if (!directory) return tl::unexpected(directory.error());
  const std::string data = variable("RETSU_DATA");
  auto library =
      Library::open(data.empty() ? *directory : data, **broker, EngineBroker::system_clock());
  if (!library) return tl::unexpected(std::move(library.error()));
  return std::make_unique<LocalDoor>(*std::move(library));
}

Action add_library_add(Arguments& arguments) {
  auto options = std::make_shared<BookOptions>();
  arguments.option("TITLE", options->title, "Its title").required();
  options->add_to(arguments);
  return [options](Session& session) -> Result<int> {
    const auto json = options->json();
    if (!json) return tl::unexpected(json.error());
    auto book = from_json<BookFields>(*json);
    if (!book) return tl::unexpected(to_error(std::move(book.error())));
    return ask_library(session, CreateBooks{.books = {*book}}, [&](const CreatedBooks& created) {
      const Created& one = created.books.front();
      session.screen().line(fmt::format("{} {}{}", one.id,
                                        one.created ? "added" : "is there already",
                                        one.queued ? ", waits to be looked up" : ""));
    });
  };
}

Action add_library_set(Arguments& arguments) {
  struct Options : BookOptions {
    std::string id;
  };
  auto options = std::make_shared<Options>();
  arguments.option("ID", options->id, "The book").required();
  arguments.option("--title", options->title, "Its title").type_name("TITLE");
  options->add_to(arguments);
  return [options](Session& session) -> Result<int> {
    const auto json = options->json();
    if (!json) return tl::unexpected(json.error());
    if (*json == "{}") return refuse(ErrorCode::kInvalid, "what is to change? See --help");
    return ask_library(session, PatchBook{options->id, Json(*json)},
                       [&](const Book& book) { print_book(session.screen(), book); });
  };
}

Action add_library_show(Arguments& arguments) {
  auto id = std::make_shared<std::string>();
  arguments.option("ID", *id, "The book").required();
  return [id](Session& session) {
    return ask_library(session, GetBook{*id},
                       [&](const Book& book) { print_book(session.screen(), book); });
  };
}

Action add_library_rm(Arguments& arguments) {
  auto id = std::make_shared<std::string>();
  arguments.option("ID", *id, "The book").required();
  return [id](Session& session) {
    return ask_library(session, DeleteBook{*id},
                       [&](const DeletedBook&) { session.screen().line(*id + " removed"); });
  };
}

Action add_library_list(Arguments& arguments) {
  struct Options : ListOptions {
    std::string isbn;
    bool missing = false;
    bool unmatched = false;
  };
  auto options = std::make_shared<Options>();
  options->add_to(arguments);
  arguments.option("--isbn", options->isbn, "With this ISBN").type_name("ISBN");
  arguments.flag("--missing", options->missing, "Without a Hardcover id");
  arguments.flag("--unmatched", options->unmatched, "Looked up, and not found");
  return [options](Session& session) -> Result<int> {
    const auto door = open_library(session);
    if (!door) return tl::unexpected(door.error());
    Screen& screen = session.screen();
    Table table(screen, {"ID", "ISBN", "HARDCOVER", "TITLE", "AUTHORS"});
    ListBooks list{.isbn13 = options->isbn};
    if (options->missing) list.missing = true;
    if (options->unmatched) list.unmatched = true;
    for (std::int64_t left = options->all ? INT64_MAX : options->limit;
         left > 0 && !screen.gone();) {
      list.limit = std::min(left, kBatch);
      const auto page = (*door)->ask(list);
      if (!page) return tl::unexpected(page.error());
      for (const Book& book : page->books) {
        if (screen.json()) {
          std::string json;
          append_json(json, book);
          screen.line(json);
        } else {
          table.add({book.id, book.fields.isbn13.value_or(""), search_of(book), book.fields.title,
                     names_in(book.fields.authors)});
        }
      }
      if (!screen.json()) table.print();
      left -= std::ssize(page->books);
      if (!page->next_cursor) break;
      list.cursor = *page->next_cursor;
    }
    return 0;
  };
}

}  // namespace retsu::cli
