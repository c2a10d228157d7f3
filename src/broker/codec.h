// Operations and answers as JSON: the bodies of HTTP, the lines of the command line, what the
// remote broker sends. Everything written here reads back as the same value.
#pragma once

#include <string>
#include <string_view>

#include "broker/broker.h"
#include "model/json.h"

namespace retsu {

// All fields of the operation, those in the path of its HTTP request too. What the tables say of
// defaults applies: `{}` is a whole Claim.
std::string to_json(const Command& command);

// `operation_name` as in kOperations; another one is `not_found`. The body is an object with all
// fields. For `push`, either {"tasks":[…],"partial"?}, or the one task itself, told by the first
// key. Refused with `invalid` or `unknown_field`. Values are not checked further: see
// ingest/validate.h.
Result<Command> command_from_json(std::string_view operation_name, std::string_view body);

std::string to_json(const Reply& reply);

// The answer to that operation. Fields that this version does not know are passed over, so that a
// newer server can be asked.
Result<Reply> reply_from_json(std::string_view operation_name, std::string_view body);

// {"error":{"code","message","details","retry_after_ms"?}}
std::string to_json(const Error& error);
Result<Error> error_from_json(std::string_view body);

// {"number","id","queue","user","from","to","at","attempt","reason"?}; `from` is null for a push,
// `to` for a task that was removed.
std::string to_json(const TaskEvent& event);
Result<TaskEvent> event_from_json(std::string_view body);

constexpr auto fields_of(std::type_identity<TaskEvent>) {
  return List{Field{"number", &TaskEvent::number},
              Field{"id", &TaskEvent::id},
              Field{"queue", &TaskEvent::queue},
              Field{"user", &TaskEvent::user},
              Field{"from", &TaskEvent::from, kAlwaysShown},
              Field{"to", &TaskEvent::to, kAlwaysShown},
              Field{"at", &TaskEvent::at},
              Field{"attempt", &TaskEvent::attempt},
              Field{"reason", &TaskEvent::reason},
              Field{"took_ms", &TaskEvent::took_ms}};
}

}  // namespace retsu
