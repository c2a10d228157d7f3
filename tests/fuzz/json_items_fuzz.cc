// Values are the same wherever the text is cut, and all of an array or of lines are found again.
// The first byte is how large the pieces are, the second how large a value may be.
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/json_items.h"
#include "input.h"

namespace {

struct Item {
  retsu::JsonPlace place;
  std::string text;  // or the message
  bool is_value = false;
  bool is_last = false;

  bool operator==(const Item&) const = default;
};

std::vector<Item> read(std::string_view text, std::size_t piece, std::size_t max_bytes) {
  std::vector<Item> items;
  retsu::JsonItemReader reader(
      [&](const tl::expected<retsu::JsonItem, retsu::JsonItemError>& item) {
        if (item) {
          items.push_back({item->place, std::string(item->text), true, false});
        } else {
          const auto& error = item.error();
          items.push_back({error.place, error.message, false, error.is_last});
        }
      },
      max_bytes);
  for (std::size_t at = 0; at < text.size(); at += piece) reader.take(text.substr(at, piece));
  reader.end();
  return items;
}

bool has_values(const std::vector<Item>& items, const std::vector<std::string>& values) {
  const auto is_same = [](const Item& item, const std::string& value) {
    return item.is_value && item.text == value;
  };
  return std::ranges::equal(items, values, is_same);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  retsu::fuzz::Input in(data, size);
  const std::size_t piece = 1 + in.byte();
  const std::size_t max_bytes = 1 + in.byte();
  const std::size_t all = std::max<std::size_t>(in.rest().size(), 1);
  const auto whole = read(in.rest(), all, max_bytes);
  RETSU_CHECK(read(in.rest(), piece, max_bytes) == whole);

  std::string array;
  std::string lines = "0\n";  // or the first one may be taken for an array
  std::vector<std::string> elements;
  std::vector<std::string> values = {"0"};
  for (const Item& item : whole) {
    RETSU_CHECK(item.place.line > 0 && !item.text.empty());
    RETSU_CHECK(!item.is_last || &item == &whole.back());
    RETSU_CHECK(!item.is_value || item.text.size() <= max_bytes);
    const auto value = retsu::compact_json(item.text);
    if (!item.is_value || !value) continue;
    elements.push_back(item.text);
    array += (array.empty() ? "[" : ",\n") + item.text;
    values.push_back(value->str());
    lines += values.back() + "\n";
  }
  array += array.empty() ? "[]" : "]";
  RETSU_CHECK(has_values(read(array, piece, 1000), elements));
  RETSU_CHECK(has_values(read(lines, piece, 1000), values));
  // Nothing of an array is missed, and nothing is found that is not there.
  if (const auto known = retsu::from_json<std::vector<retsu::Json>>(in.rest())) {
    RETSU_CHECK(read(in.rest(), piece, all).size() == known->size());
  }
  return 0;
}
