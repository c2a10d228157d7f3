// retsu, a task queue. This is all that a program includes:
//
//   #include <retsu/retsu.h>
//
//   auto queue = retsu::open("./data");
//   queue.push({.queue = "mail", .user = "ann", .payload = {{"to", "bob"}}});
//
// How to use it is told in docs/cpp.md, what each field means in docs/operations.md.
#pragma once

#include "retsu/error.h"
#include "retsu/json.h"
#include "retsu/operations.h"
#include "retsu/pipeline.h"
#include "retsu/policy.h"
#include "retsu/queue.h"
#include "retsu/task.h"
#include "retsu/time.h"
#include "retsu/worker.h"
