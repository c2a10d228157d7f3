#include "broker/codec.h"

#include <array>
#include <utility>

namespace retsu {
namespace {

template <class T>
std::string write(const T& value) {
  std::string out;
  append_json(out, value);
  return out;
}

template <class T>
Result<T> read(std::string_view body, JsonReading how) {
  auto value = from_json<T>(body, how);
  if (!value) return tl::unexpected(to_error(std::move(value.error())));
  return *std::move(value);
}

// {"tasks":[…],"partial"?}, or the one task itself.
bool read_push(JsonReader& in, Push& value) {
  const auto first = in.first_key();
  if (first == "tasks" || first == "partial") return read_json(in, value);
  return read_json(in, value.tasks.emplace_back());
}

struct Readers {
  bool (*command)(JsonReader& in, Command& value);
  bool (*reply)(JsonReader& in, Reply& value);
};

template <class Op>
constexpr Readers kReadersOf = {[](JsonReader& in, Command& value) {
                                  if constexpr (std::is_same_v<Op, Push>)
                                    return read_push(in, value.emplace<Op>());
                                  return read_json(in, value.emplace<Op>());
                                },
                                [](JsonReader& in, Reply& value) {
                                  return read_json(in, value.emplace<typename Op::Reply>());
                                }};

// By the rows of kOperations.
constexpr auto kReaders = []<std::size_t... Row>(std::index_sequence<Row...>) {
  return std::array{kReadersOf<std::variant_alternative_t<Row, AnyCommand>>...};
}
(std::make_index_sequence<kOperations.size()>{});

const Readers* readers_of(std::string_view operation_name) {
  for (std::size_t row = 0; row < kOperations.size(); ++row) {
    if (kOperations[row].name == operation_name) return &kReaders[row];
  }
  return nullptr;
}

template <class Value>
Result<Value> read_operation(std::string_view operation_name, std::string_view body,
                             JsonReading how, bool (*Readers::*reader)(JsonReader&, Value&)) {
  const Readers* readers = readers_of(operation_name);
  if (readers == nullptr) return refuse(ErrorCode::kNotFound, "there is no operation of this name");
  if (auto checked = check_json(body); !checked)
    return tl::unexpected(to_error(std::move(checked.error())));
  Result<Value> value;
  JsonReader in(body, how);
  if (!(readers->*reader)(in, *value)) value = tl::unexpected(to_error(in.error()));
  return value;
}

struct ErrorBody {
  Error error;
};
constexpr auto fields_of(std::type_identity<ErrorBody>) {
  return List{Field{"error", &ErrorBody::error, kRequired}};
}

}  // namespace

std::string to_json(const Command& command) {
  return std::visit([](const auto& op) { return write(op); }, command);
}

Result<Command> command_from_json(std::string_view operation_name, std::string_view body) {
  return read_operation(operation_name, body, {}, &Readers::command);
}

std::string to_json(const Reply& reply) {
  return std::visit([](const auto& answer) { return write(answer); }, reply);
}

Result<Reply> reply_from_json(std::string_view operation_name, std::string_view body) {
  return read_operation(operation_name, body, {.skip_unknown = true}, &Readers::reply);
}

std::string to_json(const Error& error) { return write(ErrorBody{error}); }

Result<Error> error_from_json(std::string_view body) {
  auto outer = read<ErrorBody>(body, {.skip_unknown = true});
  if (!outer) return tl::unexpected(std::move(outer.error()));
  return std::move(outer->error);
}

std::string to_json(const TaskEvent& event) { return write(event); }

Result<TaskEvent> event_from_json(std::string_view body) {
  return read<TaskEvent>(body, {.skip_unknown = true});
}

}  // namespace retsu
