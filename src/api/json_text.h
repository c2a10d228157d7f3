// Public values in the texts that the library reads and writes.
#pragma once

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "retsu/json.h"

namespace retsu_api {

bool read_json(retsu::JsonReader& in, Json& value);
void write_json(retsu::JsonWriter& to, const Json& value);
inline bool is_blank(const Json& value) { return value.is_null(); }

}  // namespace retsu_api
