#include "model/json.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/policy_rules.h"

namespace retsu {

bool read_json(JsonReader& in, Priority& value) {
  static constexpr auto kWords = [] {
    std::array<std::string_view, kPriorityWords.size()> words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = kPriorityWords[i].name;
    return words;
  }();
  if (in.kind() == JsonReader::Kind::kString) {
    const auto row = in.read_name(kWords);
    if (row) value.value = kPriorityWords[*row].value;
    return row.has_value();
  }
  std::int64_t number = 0;
  if (!in.read_integer(number)) return false;
  if (number < 1 || number > kCritical)
    return in.fail("expected 1 to 6, or a word such as \"high\", got " + std::to_string(number));
  value.value = static_cast<int>(number);
  return true;
}

void write_json(JsonWriter& to, const Priority& value) { to.integer(value.value); }

bool read_json(JsonReader& in, Aging& value) {
  static constexpr std::string_view kWords[] = {"strict"};
  if (in.kind() != JsonReader::Kind::kString) return in.read_integer(value.step_ms);
  if (!in.read_name(kWords)) return false;
  value = kStrictAging;
  return true;
}

void write_json(JsonWriter& to, const Aging& value) {
  if (value == kStrictAging) {
    to.string("strict");
  } else {
    to.integer(value.step_ms);
  }
}

namespace {

struct DependencyFields {
  std::string id;
  When when = When::kFinished;
};
constexpr auto fields_of(std::type_identity<DependencyFields>) {
  return List{Field{"id", &DependencyFields::id, kRequired},
              Field{"when", &DependencyFields::when}};
}

struct ErrorFields {
  std::string code;
  std::string message;
  Json details;
  std::optional<std::int64_t> retry_after_ms;
};
constexpr auto fields_of(std::type_identity<ErrorFields>) {
  return List{Field{"code", &ErrorFields::code, kRequired}, Field{"message", &ErrorFields::message},
              Field{"details", &ErrorFields::details},
              Field{"retry_after_ms", &ErrorFields::retry_after_ms}};
}

}  // namespace

bool read_json(JsonReader& in, Dependency& value) {
  if (in.kind() == JsonReader::Kind::kString) return in.read_string(value.id);
  if (in.kind() != JsonReader::Kind::kObject) return in.fail_type("an id, or {\"id\", \"when\"}");
  DependencyFields fields;
  if (!read_json(in, fields)) return false;
  value = {std::move(fields.id), fields.when};
  return true;
}

void write_json(JsonWriter& to, const Dependency& value) {
  if (value.when == When::kFinished) return to.string(value.id);
  write_json(to, DependencyFields{value.id, value.when});
}

bool read_json(JsonReader& in, Error& value) {
  ErrorFields fields;
  if (!read_json(in, fields)) return false;
  const auto row = std::find_if(std::begin(kErrors), std::end(kErrors),
                                [&](const ErrorRow& each) { return each.name == fields.code; });
  if (row == std::end(kErrors)) return in.fail("code: not the name of an error");
  const std::string_view details = fields.details.view();
  if (!details.empty() && details.front() != '{') return in.fail("details: expected an object");
  value.code = row->code;
  value.message = std::move(fields.message);
  value.details = details == "{}" ? std::string_view() : details;
  value.retry_after.reset();
  if (fields.retry_after_ms) value.retry_after = Millis(*fields.retry_after_ms);
  return true;
}

void write_json(JsonWriter& to, const Error& value) {
  to.open_object();
  to.key("code");
  to.string(row_of(value.code).name);
  to.key("message");
  to.string(value.message);
  to.key("details");
  to.raw(value.details.empty() ? "{}" : std::string_view(value.details));
  if (value.retry_after) {
    to.key("retry_after_ms");
    to.integer(value.retry_after->count());
  }
  to.close_object();
}

Error to_error(JsonError error) {
  return {error.unknown_field ? ErrorCode::kUnknownField : ErrorCode::kInvalid,
          std::move(error.message)};
}

Result<QueuePolicy> patched(const QueuePolicy& policy, std::string_view patch) {
  QueuePolicy outcome = policy;
  if (auto read = read_into(patch, outcome); !read)
    return tl::unexpected(to_error(std::move(read.error())));
  const Limits limits;
  rules::Checking run(limits, true);
  if (!rules::check(run, outcome)) return tl::unexpected(run.error());
  return outcome;
}

}  // namespace retsu
