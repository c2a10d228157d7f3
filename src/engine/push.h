#pragma once

#include <string>

#include "engine/lifecycle.h"
#include "engine/tables.h"

// How tasks come in.
namespace retsu::engine {

// Pushes that must not be refused for want of room: their work has been accepted already.
enum class Admission { kLimited, kAlways };

// All or, if it says so, the ones that can be. Nothing has changed when it is refused.
Result<PushReply> push(Tables& tables, const Push& command);

// One task, checked and made. `front`: its key in a batch that keeps its order. The caller rolls
// back when it is refused. `others`: ids that are about to be pushed in the same batch.
using IdSet = std::multiset<std::string_view>;  // an id may be pushed twice
Result<Pushed> push_one(Tables& tables, const NewTask& task, Admission admission,
                        std::int64_t front, const IdSet& others = {});

// Makes the queue, if it is new.
Status make_queue(Tables& tables, Queue& queue);

}  // namespace retsu::engine
