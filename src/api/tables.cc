#include "api/tables.h"

#include "model/json.h"

namespace retsu_api {

Error to_public(const retsu::Error& error) {
  return {std::string(retsu::row_of(error.code).name), error.message,
          error.details.empty() ? Json::object() : Json::parse(error.details), error.retry_after};
}

bool read_json(retsu::JsonReader& in, std::optional<Error>& value) {
  if (in.take_null()) {
    value.reset();
    return true;
  }
  retsu::Error read;
  if (!read_json(in, read)) return false;
  value = to_public(read);
  return true;
}

// Errors are only ever answered.
void write_json(retsu::JsonWriter& to, const std::optional<Error>& value) {
  if (!value) return to.null();
  to.open_object();
  to.key("code");
  to.string(value->code());
  to.key("message");
  to.string(value->message());
  to.key("details");
  write_json(to, value->details());
  if (value->retry_after()) {
    to.key("retry_after_ms");
    to.integer(value->retry_after()->count());
  }
  to.close_object();
}

// The library knows how to write an id, a word or a number for these.
bool read_json(retsu::JsonReader& in, Dependency& value) {
  retsu::Dependency read;
  if (!read_json(in, read)) return false;
  value = Dependency(std::move(read.id), static_cast<When>(read.when));
  return true;
}

void write_json(retsu::JsonWriter& to, const Dependency& value) {
  write_json(to, retsu::Dependency{value.id, static_cast<retsu::When>(value.when)});
}

bool read_json(retsu::JsonReader& in, Aging& value) {
  retsu::Aging read;
  if (!read_json(in, read)) return false;
  value =
      read == retsu::kStrictAging ? Aging{.strict = true} : Aging{.step = Duration(read.step_ms)};
  return true;
}

void write_json(retsu::JsonWriter& to, const Aging& value) {
  write_json(to, value.strict ? retsu::kStrictAging : retsu::Aging{value.step.count()});
}

std::string_view to_string(State state) { return retsu::name_of(state); }

}  // namespace retsu_api
