// The limits by name: what a configuration may set.
#pragma once

#include "base/fields.h"
#include "model/policy.h"

namespace retsu {

constexpr auto fields_of(std::type_identity<Limits>) {
  return List{Field{"payload_bytes", &Limits::payload_bytes},
              Field{"result_bytes", &Limits::result_bytes},
              Field{"error_bytes", &Limits::error_bytes},
              Field{"progress_bytes", &Limits::progress_bytes},
              Field{"xcom_bytes", &Limits::xcom_bytes},
              Field{"batch", &Limits::batch},
              Field{"claim", &Limits::claim},
              Field{"claim_names", &Limits::claim_names},
              Field{"dependencies", &Limits::dependencies},
              Field{"tags", &Limits::tags},
              Field{"tag_bytes", &Limits::tag_bytes},
              Field{"history", &Limits::history},
              Field{"page", &Limits::page},
              Field{"graph_nodes", &Limits::graph_nodes},
              Field{"queues", &Limits::queues},
              Field{"schedules", &Limits::schedules},
              Field{"xcom_entries", &Limits::xcom_entries},
              Field{"queue_tasks", &Limits::queue_tasks},
              Field{"queue_bytes", &Limits::queue_bytes},
              Field{"remembered_ids", &Limits::remembered_ids},
              Field{"idempotency_keys", &Limits::idempotency_keys},
              Field{"closed_claims", &Limits::closed_claims},
              Field{"settled_tasks", &Limits::settled_tasks},
              Field{"steps", &Limits::steps}};
}
// A limit that this table lacks would make the struct larger.
static_assert(sizeof(Limits) == 24 * sizeof(std::int64_t));

}  // namespace retsu
