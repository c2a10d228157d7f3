#include "api/door.h"

#include "api/tables.h"
#include "broker/codec.h"

namespace retsu_api {

Queue::Door::Answered Queue::Door::call(std::string_view operation, std::string_view body,
                                        retsu::Context context) {
  auto command = retsu::command_from_json(operation, body);
  if (!command) throw to_public(command.error());
  const retsu::Answer answer = retsu::call_any(*broker_, std::move(*command), std::move(context));
  if (!answer) throw to_public(answer.error());
  return {retsu::to_json(*answer), answer.replayed};
}

}  // namespace retsu_api
