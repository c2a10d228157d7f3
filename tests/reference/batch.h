// A batch of pushes while it is looked at: what each of its tasks becomes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/reference.h"

namespace retsu {

struct ReferenceQueue::Plan {
  enum class Kind : std::uint8_t { kRefused, kStands, kAbsorbed, kNew };
  NewTask task;
  Kind kind = Kind::kRefused;
  std::string stands_for;              // the id of the task that stands for this push
  std::vector<Dependency> depends_on;  // each once, under the ids of what stands for them so far
  std::optional<State> fate;           // of a new one that ends at once
};

struct ReferenceQueue::Batch {
  std::vector<Plan> plans;
  std::map<std::string, std::string> names;  // ids in the batch: what stands for them
  std::optional<std::string> parent;         // the task that awaits the batch
};

}  // namespace retsu
