#include "broker/http_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/url.h"
#include "broker/codec.h"

namespace retsu {
namespace {

using json_detail::kMemberType;
using json_detail::Plain;
using json_detail::Row;
using json_detail::Table;

// The body of this one is a field of the command.
constexpr std::string_view kWholeBody = "patch";

template <std::size_t... Row>
constexpr auto tables(std::index_sequence<Row...>) {
  return std::array{+[]() -> const Table& {
    return json_detail::table_of<std::variant_alternative_t<Row, AnyCommand>>();
  }...};
}
constexpr auto kTables = tables(std::make_index_sequence<kOperations.size()>{});

const Table& table_of(const Operation& operation) {
  return kTables[static_cast<std::size_t>(&operation - kOperations.data())]();
}

bool has_filter(const Table& table) {
  return std::ranges::any_of(table.rows,
                             [](const Row& row) { return row.type == &kMemberType<Filter>; });
}

const Row* find(const Table& table, std::string_view name) {
  const auto row = std::ranges::find(table.rows, name, &Row::name);
  return row == table.rows.end() ? nullptr : &*row;
}

// `"name":value`, members of an object in the making.
void add(std::string& members, std::string_view name, std::string_view json) {
  if (!members.empty()) members += ',';
  JsonWriter(members).string(name);
  members += ':';
  members += json;
}

std::string quoted(std::string_view text) {
  std::string json;
  JsonWriter(json).string(text);
  return json;
}

Result<std::string> as_json(const Row& row, std::string_view text) {
  if (row.type->plain == Plain::kText) {
    if (!is_utf8(text)) {
      return refuse(ErrorCode::kInvalid, fmt::format("{}: is not valid UTF-8", row.name));
    }
    return quoted(text);
  }
  const bool is_word = row.type->is_bool;
  const bool fits = is_word ? text == "true" || text == "false"
                            : !text.empty() && text.size() <= 20 &&
                                  text.find_first_not_of("0123456789", text[0] == '-') ==
                                      std::string_view::npos &&
                                  is_json(text);
  if (fits) return std::string(text);
  return refuse(ErrorCode::kInvalid, fmt::format("{}: must be {}", row.name,
                                                 is_word ? "true or false" : "a whole number"));
}

Error unknown(std::string_view name, const Operation& operation) {
  return {ErrorCode::kUnknownField,
          fmt::format("{}: {} {} has no such parameter", is_utf8(name) ? name : "?",
                      operation.method, operation.path)};
}

// What path and query say, as members of the command's JSON.
Result<std::string> members_of(const Operation& operation, const Table& table,
                               const PathFields& path, std::string_view query) {
  const auto parameters = query_parameters(query);
  if (!parameters) return refuse(ErrorCode::kInvalid, "the query has a % without two digits");
  const Table* const filter = has_filter(table) && operation.body_limit == kNoBody
                                  ? &json_detail::table_of<Filter>()
                                  : nullptr;
  std::string members;
  std::string filtered;
  const auto add_field = [&](std::string& to, const Row& row, std::string_view text) -> Status {
    const auto json = as_json(row, text);
    if (!json) return tl::unexpected(json.error());
    add(to, row.name, *json);
    return {};
  };
  for (const auto& [name, text] : path) {
    const Row* const row = find(table, name);
    if (auto added = add_field(members, *row, text); !added) return tl::unexpected(added.error());
  }
  for (const auto& [name, text] : *parameters) {
    const Row* row = find(table, name);
    const Row* const of_filter = filter != nullptr ? find(*filter, name) : nullptr;
    if (row != nullptr && row->type->plain == Plain::kNot) row = nullptr;
    if (row == nullptr && of_filter == nullptr) return tl::unexpected(unknown(name, operation));
    Status added =
        row != nullptr ? add_field(members, *row, text) : add_field(filtered, *of_filter, text);
    if (!added) return tl::unexpected(added.error());
  }
  if (!filtered.empty()) add(members, "filter", "{" + filtered + "}");
  return members;
}

// The members of the body's object, with more of them before.
std::string merged(const std::string& members, std::string_view body) {
  if (members.empty()) return std::string(body);
  const auto open = body.find_first_not_of(" \t\r\n");
  if (open == std::string_view::npos) return "{" + members + "}";
  if (body[open] != '{') return std::string(body);  // its reader says what is wrong
  std::string_view rest = body.substr(open + 1);
  const auto next = rest.find_first_not_of(" \t\r\n");
  const bool is_empty = next != std::string_view::npos && rest[next] == '}';
  std::string whole;
  whole.reserve(members.size() + body.size() + 2);
  whole += '{';
  whole += members;
  if (!is_empty) whole += ',';
  whole += rest;
  return whole;
}

Result<Command> read_push(std::string members, std::string_view body) {
  auto command = command_from_json("push", body);
  if (!command || members.empty()) return command;
  // Beside the one task there is no place for it in the text.
  auto settings = from_json<Push>("{\"tasks\":[]," + members + "}");
  if (!settings) return tl::unexpected(to_error(std::move(settings.error())));
  auto& push = std::get<Push>(*command);
  if (push.partial) return refuse(ErrorCode::kInvalid, "partial: given twice");
  push.partial = settings->partial;
  return command;
}

}  // namespace

std::vector<std::string_view> path_names(std::string_view path) {
  std::vector<std::string_view> names;
  for (auto open = path.find('{'); open != std::string_view::npos;
       open = path.find('{', open + 1)) {
    names.push_back(path.substr(open + 1, path.find('}', open) - open - 1));
  }
  return names;
}

Result<std::string> json_from_http(const Operation& operation, const Table& table,
                                   const PathFields& path, std::string_view query,
                                   std::string_view body) {
  if (operation.body_limit == kNoBody && !body.empty()) {
    return refuse(ErrorCode::kInvalid,
                  fmt::format("{} {} takes no body", operation.method, operation.path));
  }
  auto members = members_of(operation, table, path, query);
  if (!members) return tl::unexpected(std::move(members.error()));
  if (find(table, kWholeBody) == nullptr) return merged(*members, body.empty() ? "{}" : body);
  if (auto checked = check_json(body); !checked) {
    return tl::unexpected(to_error(std::move(checked.error())));
  }
  add(*members, kWholeBody, body);
  return "{" + *members + "}";
}

Result<Command> command_from_http(const Operation& operation, const PathFields& path,
                                  std::string_view query, std::string_view body) {
  const Table& table = table_of(operation);
  if (operation.name == "push") {
    auto members = members_of(operation, table, path, query);
    if (!members) return tl::unexpected(std::move(members.error()));
    return read_push(*std::move(members), body);
  }
  const auto json = json_from_http(operation, table, path, query, body);
  if (!json) return tl::unexpected(json.error());
  return command_from_json(operation.name, *json);
}

HttpForm to_http(const Command& command) {
  return json_to_http(operation_of(command), to_json(command));
}

HttpForm json_to_http(const Operation& operation, const std::string& json) {
  const bool has_body = operation.body_limit != kNoBody;
  std::map<std::string_view, std::string, std::less<>> path;
  for (const std::string_view name : path_names(operation.path)) path[name];
  HttpForm form{operation.method, "", ""};
  std::string query;
  std::string whole;
  const auto ask = [&](JsonReader& in, std::string_view name) {
    std::string text;
    if (in.kind() == JsonReader::Kind::kString) {
      in.read_string(text);
    } else {
      text = in.skip().text;
    }
    query += query.empty() ? '?' : '&';
    query += std::string(name) + '=' + percent_encoded(text);
    return true;
  };
  JsonReader in(json);
  in.read_object([&](std::string_view name) {
    if (const auto place = path.find(name); place != path.end()) {
      return in.read_string(place->second);
    }
    if (has_body) {
      name == kWholeBody ? void(whole = in.skip().text) : add(form.body, name, in.skip().text);
      return true;
    }
    if (in.kind() != JsonReader::Kind::kObject) return ask(in, name);
    return in.read_object([&](std::string_view inner) { return ask(in, inner); });
  });
  if (!whole.empty()) {
    form.body = std::move(whole);
  } else if (!form.body.empty()) {
    form.body = "{" + form.body + "}";
  }
  for (std::string_view rest = operation.path; !rest.empty();) {
    const auto open = std::min(rest.find('{'), rest.size());
    form.target += rest.substr(0, open);
    rest.remove_prefix(open);
    if (rest.empty()) break;
    const auto close = rest.find('}');
    form.target += percent_encoded(path.find(rest.substr(1, close - 1))->second);
    rest.remove_prefix(close + 1);
  }
  form.target += query;
  return form;
}

}  // namespace retsu
