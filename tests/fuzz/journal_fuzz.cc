// A group of the journal is refused, or its rows, packed again, are read as the same rows.
#include "base/check.h"
#include "broker/embedded/journal.h"
#include "broker/embedded/row_values.h"
#include "input.h"

namespace retsu::embedded {
namespace {

std::string with_sum(std::string_view entries) {
  std::string group = kJournalFormat + std::string(entries);
  const std::int64_t sum = sum_of(group);
  group.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return group;
}

// The rows of a group on an empty store, packed in the order in which a Loader reads them; none: it
// is damaged.
std::optional<std::string> packed_again(std::string_view group) {
  Engine engine;
  Overlay overlay;
  if (!overlay.add(group, engine)) return std::nullopt;
  engine::Changes changes;
  bool damaged = false;
  for_each_kind([&]<class Row>() {
    std::vector<Key<Row>> keys;
    for (const auto& [key, steps] : overlay.steps<Row>()) keys.push_back(key);
    std::ranges::sort(keys);
    for (const Key<Row>& key : keys) {
      std::optional<Row> row;
      damaged = damaged || !Overlay::apply(key, overlay.steps<Row>().at(key), row, engine);
      if (row) changes.push_back(making(engine, *std::move(row)));
    }
  });
  if (damaged) return std::nullopt;
  Packer packed;
  pack_group(changes, packed);
  return std::string(packed.view());
}

}  // namespace
}  // namespace retsu::embedded

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retsu::embedded;  // NOLINT
  const std::string_view entries = retsu::fuzz::Input(data, size).rest();
  if (const auto packed = packed_again(with_sum(entries))) {
    RETSU_CHECK(packed_again(*packed) == packed);
  }
  RETSU_CHECK(!packed_again(entries));  // no sum, or a wrong one
  return 0;
}
