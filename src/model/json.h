// The JSON shapes of the types in this folder that are not plain tables of fields. Whoever reads or
// writes a model type as JSON includes this header.
#pragma once

#include <string_view>

#include "base/json.h"
#include "model/error.h"
#include "model/operations.h"

namespace retsu {

// 1 to 6, or a word of kPriorityWords. Written as a number.
bool read_json(JsonReader& in, Priority& value);
void write_json(JsonWriter& to, const Priority& value);

// Milliseconds, or "strict".
bool read_json(JsonReader& in, Aging& value);
void write_json(JsonWriter& to, const Aging& value);

// An id, or {"id", "when"}. Written as an id where that says all.
bool read_json(JsonReader& in, Dependency& value);
void write_json(JsonWriter& to, const Dependency& value);

// {"code", "message", "details", "retry_after_ms"}: the last only if there is one; the details of
// an error that has none are {}.
bool read_json(JsonReader& in, Error& value);
void write_json(JsonWriter& to, const Error& value);

// What was wrong with a text, as an answer: `unknown_field` or `invalid`.
Error to_error(JsonError error);

// The policy with the fields that `patch`, a JSON object, names: null resets one to its default, a
// struct such as `retry` changes field by field. Refused if the outcome is not a policy that
// PutQueue would take.
Result<QueuePolicy> patched(const QueuePolicy& policy, std::string_view patch);

}  // namespace retsu
