#include "apps/library/hardcover_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/json.h"
#include "base/utf8.h"

namespace retsu::library {
namespace {

constexpr int kMostEditions = 5;
constexpr std::size_t kMessageBytes = 500;

struct Condition {
  std::string_view variable;
  std::string LookupQuery::*value;
  std::string_view filter;
};
constexpr Condition kByIsbn[] = {
    {"isbn", &LookupQuery::isbn13, "isbn_13: {_eq: $isbn}"},
};
constexpr Condition kByTitle[] = {
    {"title", &LookupQuery::title, "title: {_eq: $title}, edition_format: {_is_null: false}"},
    {"name", &LookupQuery::author, "contributions: {author: {name: {_eq: $name}}}"},
};

// The answer. Everything is optional, because any of it may be null.
struct Author {
  std::optional<std::int64_t> id;
  std::optional<std::string> name;
  std::optional<std::string> slug;
};
constexpr auto fields_of(std::type_identity<Author>) {
  return List{Field{"id", &Author::id}, Field{"name", &Author::name}, Field{"slug", &Author::slug}};
}

struct Contribution {
  std::optional<Author> author;
};
constexpr auto fields_of(std::type_identity<Contribution>) {
  return List{Field{"author", &Contribution::author}};
}

template <class T>
using Values = std::optional<std::vector<std::optional<T>>>;

struct Book {
  std::optional<std::int64_t> id;
  std::optional<std::string> title;
  std::optional<std::string> slug;
  Values<Contribution> contributions;
};
constexpr auto fields_of(std::type_identity<Book>) {
  return List{Field{"id", &Book::id}, Field{"title", &Book::title}, Field{"slug", &Book::slug},
              Field{"contributions", &Book::contributions}};
}

struct Edition {
  std::optional<std::int64_t> id;
  std::optional<Book> book;
};
constexpr auto fields_of(std::type_identity<Edition>) {
  return List{Field{"id", &Edition::id}, Field{"book", &Edition::book}};
}

struct Data {
  std::vector<std::optional<Edition>> editions;
};
constexpr auto fields_of(std::type_identity<Data>) {
  return List{Field{"editions", &Data::editions, kRequired}};
}

struct Extensions {
  std::optional<std::string> code;
};
constexpr auto fields_of(std::type_identity<Extensions>) {
  return List{Field{"code", &Extensions::code}};
}

struct Problem {
  std::optional<std::string> message;
  std::optional<Extensions> extensions;
};
constexpr auto fields_of(std::type_identity<Problem>) {
  return List{Field{"message", &Problem::message}, Field{"extensions", &Problem::extensions}};
}

struct Answer {
  std::optional<Data> data;
  Values<Problem> errors;
  // Of what stands before GraphQL: who asks too often, or is not known.
  std::optional<std::string> error;
  std::optional<std::string> message;
  std::optional<std::string> error_description;
};
constexpr auto fields_of(std::type_identity<Answer>) {
  return List{Field{"data", &Answer::data}, Field{"errors", &Answer::errors},
              Field{"error", &Answer::error}, Field{"message", &Answer::message},
              Field{"error_description", &Answer::error_description}};
}

// Errors that are more than a passing trouble, by their code or word.
struct KnownError {
  std::string_view code;
  ErrorCode means;
};
constexpr KnownError kKnownErrors[] = {
    {"validation-failed", ErrorCode::kInvalid},
    {"parse-failed", ErrorCode::kInvalid},
    {"access-denied", ErrorCode::kUnauthorized},
    {"invalid-jwt", ErrorCode::kUnauthorized},
    {"invalid_token", ErrorCode::kUnauthorized},
    {"Unable to verify token", ErrorCode::kUnauthorized},
    {"Too Many Requests", ErrorCode::kOverloaded},
    {"Throttled", ErrorCode::kOverloaded},
};

ErrorCode code_of(std::string_view code) {
  const auto* const row = std::ranges::find(kKnownErrors, code, &KnownError::code);
  return row == std::end(kKnownErrors) ? ErrorCode::kUnavailable : row->means;
}

tl::unexpected<Error> refused(ErrorCode code, std::string_view messages) {
  return refuse(code, "Hardcover says: " + clipped(messages, kMessageBytes));
}

std::optional<tl::unexpected<Error>> refusal_of(const Answer& answer) {
  if (answer.errors && !answer.errors->empty()) {
    std::string messages;
    auto code = ErrorCode::kUnavailable;
    for (const auto& problem : *answer.errors) {
      if (!problem) continue;
      if (!messages.empty()) messages += "; ";
      messages += problem->message.value_or("an error without a message");
      const auto said = problem->extensions.value_or(Extensions{}).code.value_or("");
      if (code == ErrorCode::kUnavailable) code = code_of(said);
    }
    return refused(code, messages.empty() ? "an error without a message" : messages);
  }
  if (!answer.error) return std::nullopt;
  const auto& more = answer.error_description ? answer.error_description : answer.message;
  return refused(code_of(*answer.error), more ? *answer.error + ": " + *more : *answer.error);
}

bool is_id(const std::optional<std::int64_t>& id) { return id.value_or(0) > 0; }

std::vector<FoundAuthor> authors_of(const Book& book) {
  std::vector<FoundAuthor> found;
  if (!book.contributions) return found;
  for (const auto& contribution : *book.contributions) {
    if (!contribution || !contribution->author) continue;
    const Author& author = *contribution->author;
    if (!is_id(author.id) || author.name.value_or("").empty()) continue;
    // One may have written a book and drawn its pictures.
    if (std::ranges::find(found, *author.id, &FoundAuthor::id) != found.end()) continue;
    found.push_back({*author.id, *author.name, author.slug.value_or("")});
  }
  return found;
}

}  // namespace

std::string request_body(const LookupQuery& query) {
  const auto conditions =
      query.isbn13.empty() ? std::span<const Condition>(kByTitle) : std::span(kByIsbn);
  std::string declared;
  std::string filters;
  std::string variables = "{";
  JsonWriter to(variables);
  for (const Condition& condition : conditions) {
    const std::string_view comma = declared.empty() ? "" : ", ";
    declared += fmt::format("{}${}: String!", comma, condition.variable);
    filters += fmt::format("{}{}", comma, condition.filter);
    to.key(condition.variable);
    to.string(query.*condition.value);
  }
  to.close_object();

  std::string body = "{\"query\":";
  JsonWriter(body).string(
      fmt::format("query Lookup({}) {{ editions(where: {{{}}}, limit: {}) {{ id isbn_13 "
                  "book {{ id title slug contributions {{ author {{ id name slug }} }} }} }} }}",
                  declared, filters, kMostEditions));
  return body + ",\"variables\":" + variables + "}";
}

Result<std::optional<Found>> read_found(std::string_view body) {
  if (const auto checked = check_json(body); !checked) {
    return refuse(ErrorCode::kUnavailable, "Hardcover's answer is " + checked.error().message);
  }
  const auto answer = from_json<Answer>(body, {.skip_unknown = true});
  if (!answer) {
    return refuse(ErrorCode::kInvalid,
                  "Hardcover's answer has another shape: " + answer.error().message);
  }
  if (auto refusal = refusal_of(*answer)) return *std::move(refusal);
  if (!answer->data) {
    return refuse(ErrorCode::kInvalid,
                  "Hardcover's answer has another shape: neither data nor errors");
  }
  for (const auto& edition : answer->data->editions) {
    if (!edition || !is_id(edition->id) || !edition->book || !is_id(edition->book->id)) continue;
    const Book& book = *edition->book;
    return Found{*edition->id, *book.id, book.slug.value_or(""), book.title.value_or(""),
                 authors_of(book)};
  }
  return std::nullopt;
}

}  // namespace retsu::library
