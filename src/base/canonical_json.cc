#include <simdjson.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"

namespace retsu {
namespace {

using simdjson::ondemand::json_type;

std::string_view without_space(std::string_view token) {
  return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
}

void write(simdjson::ondemand::value value, std::string& out);

void write_object(simdjson::ondemand::object object, std::string& out) {
  std::vector<std::pair<std::string, std::string>> members;
  for (auto field : object) {
    auto& [key, text] = members.emplace_back(std::string(field.unescaped_key().value()), "");
    write(field.value(), text);
  }
  // Of a key that stands twice, both stay, in their order.
  std::ranges::stable_sort(
      members, {}, [](const auto& member) -> const auto& { return member.first; });
  JsonWriter to(out);
  to.open_object();
  for (const auto& [key, text] : members) {
    to.key(key);
    to.raw(text);
  }
  to.close_object();
}

void write(simdjson::ondemand::value value, std::string& out) {
  JsonWriter to(out);
  switch (value.type().value()) {
    case json_type::object:
      return write_object(value.get_object().value(), out);
    case json_type::array:
      to.open_array();
      for (auto element : value.get_array()) {
        if (out.back() != '[') out += ',';
        write(element.value(), out);
      }
      return to.close_array();
    case json_type::string:
      return to.string(value.get_string().value());
    case json_type::number:
    case json_type::boolean:
    case json_type::null:
      return to.raw(without_space(value.raw_json_token()));
  }
}

}  // namespace

std::string canonical_json(std::string_view checked) {
  const simdjson::padded_string padded(checked);
  simdjson::ondemand::parser parser;
  auto document = parser.iterate(padded);
  std::string out;
  simdjson::ondemand::value value;
  if (document.is_scalar()) {  // a plain value can be had as a `value` only inside something
    out = canonical_json('[' + std::string(checked) + ']');
    return out.substr(1, out.size() - 2);
  }
  RETSU_CHECK(document.get_value().get(value) == simdjson::SUCCESS);
  write(value, out);
  return out;
}

}  // namespace retsu
