#include "broker/embedded/journal.h"

#include <cstring>

#include "broker/embedded/row_values.h"

namespace retsu::embedded {
namespace {

template <class Row>
void pack_entry(Packer& out, const std::optional<Row>& before, const std::optional<Row>& after) {
  const Row& row = after ? *after : *before;
  const What what = !after ? What::kRemoved : before ? What::kChanged : What::kCreated;
  out.number(Kind<Row>::kNumber * 4 + static_cast<unsigned>(what));
  const Key<Row> key = key_of(row);
  std::apply([&](const auto&... part) { (pack(out, part, part), ...); }, key);
  out.with_length([&] {
    if (what == What::kChanged) pack_fields(out, *before, *after, kFixed);
    if (what == What::kCreated) pack_fields(out, blank<Row>(key), *after);
  });
}

// Whole, and without copies of the names: of many users, each claim changes another line.
void pack_line(Packer& out, const engine::LineChange& first, const engine::LineChange& last) {
  static const StoredLine kBlank;
  const engine::Line& line = *first.line;
  const bool is_gone = last.after == kBlank.row;
  if (is_gone && first.before == kBlank.row) return;
  const What what = is_gone ? What::kRemoved : What::kCreated;
  out.number(Kind<StoredLine>::kNumber * 4 + static_cast<unsigned>(what));
  out.bytes(line.queue->name);
  out.bytes(line.user);
  out.with_length([&] {
    if (!is_gone) pack_fields(out, kBlank, StoredLine{{}, {}, last.after});
  });
}

// The first and the last change of each object in a group, in the order of the first ones.
template <class Change, class Object>
class Sums {
 public:
  void add(const Change& change, const Object* object) {
    const auto [found, is_new] = places_.emplace(object, sums_.size());
    if (is_new) sums_.push_back({&change, &change});
    sums_[found->second].last = &change;
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Sum& sum : sums_) visit(*sum.first, *sum.last);
  }

 private:
  struct Sum {
    const Change* first;
    const Change* last;
  };
  boost::unordered_flat_map<const Object*, std::size_t> places_;
  std::vector<Sum> sums_;
};

}  // namespace

void pack_group(const engine::Changes& changes, Packer& out) {
  out.clear();
  out.raw({&kJournalFormat, 1});
  const AsStored write{[&](const auto& before, const auto& after) {
    if (before || after) pack_entry(out, before, after);
  }};
  Sums<engine::QueueChange, engine::Queue> queues;
  Sums<engine::LineChange, engine::Line> lines;
  Sums<engine::MetaChange, void> meta;
  for (const engine::AnyChange& any : changes) {
    if (const auto* queue = std::get_if<std::unique_ptr<engine::QueueChange>>(&any)) {
      queues.add(**queue, (*queue)->queue.get());
    } else if (const auto* line = std::get_if<std::unique_ptr<engine::LineChange>>(&any)) {
      lines.add(**line, (*line)->line.get());
    } else if (const auto* of_meta = std::get_if<std::unique_ptr<engine::MetaChange>>(&any)) {
      meta.add(**of_meta, nullptr);
    } else {
      std::visit(write, any);
    }
  }
  queues.for_each(write);
  lines.for_each([&](const engine::LineChange& first, const engine::LineChange& last) {
    pack_line(out, first, last);
  });
  meta.for_each(write);
  const std::int64_t sum = sum_of(out.view());
  out.raw({reinterpret_cast<const char*>(&sum), sizeof sum});
}

bool Overlay::add(std::string_view group, Engine& engine) {
  std::int64_t sum = 0;
  if (group.size() < 1 + sizeof sum || group.front() != kJournalFormat) return false;
  const std::string_view body = group.substr(0, group.size() - sizeof sum);
  std::memcpy(&sum, group.data() + body.size(), sizeof sum);
  if (sum != sum_of(body)) return false;

  Unpacker in(body.substr(1), engine);
  while (!in.at_end()) {
    const std::uint64_t head = in.number();
    const auto what = static_cast<What>(head & 3);
    bool known = false;
    for_each_kind([&]<class Row>() {
      if (Kind<Row>::kNumber != head >> 2) return;
      Key<Row> key;
      std::apply([&](auto&... part) { (unpack(in, part), ...); }, key);
      steps<Row>()[std::move(key)].push_back({what, in.bytes()});
      known = true;
    });
    if (!known || what > What::kRemoved) return false;
  }
  return !in.failed();
}

}  // namespace retsu::embedded
