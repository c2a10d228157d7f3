// The journal's rows: each is the changes of one group, as bytes.
//
//   format (1 byte) · entries · checksum (8 bytes, xxh3 of all before it)
//   entry: kind × 4 + what (created, changed, removed) · key · length and bytes of the fields
//
// See pack.h for numbers and fields. A row is read only by this version or a later one.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broker/embedded/stored.h"

namespace retsu::embedded {

inline constexpr char kJournalFormat = 1;

enum class What : std::uint8_t { kCreated, kChanged, kRemoved };

// Of rows that a group changes again and again (queues, lines, meta) only the sum is written.
// In place of what `out` had.
void pack_group(const engine::Changes& changes, Packer& out);

// What the journal says about each row: steps to be done to what the tables say.
class Overlay {
 public:
  // False: the bytes are not what pack_group wrote. They must outlive the overlay.
  [[nodiscard]] bool add(std::string_view group, Engine& engine);

  struct Step {
    What what;
    std::string_view fields;
  };
  template <class Row>
  struct Steps {
    boost::unordered_flat_map<Key<Row>, std::vector<Step>, KeyHash> by_key;
  };
  template <class Row>
  auto& steps() {
    return std::get<Steps<Row>>(steps_).by_key;
  }

  // The row as it is after the steps; `row` is what the tables say. False: the journal is damaged.
  template <class Row>
  [[nodiscard]] static bool apply(const Key<Row>& key, const std::vector<Step>& steps,
                                  std::optional<Row>& row, Engine& engine) {
    bool lacking = false;  // changes of a row that the tables have lost already: it goes later
    for (const Step& step : steps) {
      if (step.what == What::kRemoved) {
        row.reset();
        lacking = false;
        continue;
      }
      if (step.what == What::kCreated) row = blank<Row>(key);
      if (!row) {
        lacking = true;
        continue;
      }
      Unpacker in(step.fields, engine);
      unpack_fields(in, *row);
      if (in.failed() || !in.at_end() || key_of(*row) != key) return false;
    }
    return !lacking;
  }

 private:
  OfEachKind<Steps> steps_;
};

}  // namespace retsu::embedded
