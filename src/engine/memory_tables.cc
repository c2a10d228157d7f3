#include "base/check.h"
#include "engine/tables.h"

// What outlives tasks or stands beside them: tombstones, aliases, schedules, shared values,
// cascades.
namespace retsu::engine {
namespace {

template <class Map>
auto find_text(const Map& map, std::string_view id) {
  if (map.empty()) return map.end();
  return map.find(id, std::hash<std::string_view>(),
                  [](std::string_view a, const Text& b) { return a == b.view(); });
}

}  // namespace

const TombstoneRow* Tables::tombstone(std::string_view id) const {
  const auto found = find_text(tombstones_, id);
  return found == tombstones_.end() ? nullptr : &found->second;
}

void Tables::set_tombstone(TombstoneRow row) { change<TombstoneRow>(std::nullopt, std::move(row)); }

void Tables::drop_tombstone(std::string_view id) {
  change<TombstoneRow>(*tombstone(id), std::nullopt);
}

void Tables::put(const std::optional<TombstoneRow>& from, const std::optional<TombstoneRow>& to) {
  if (from) {
    tombstones_due_.erase({from->expires_at, from->id});
    tombstones_.erase(from->id);
  }
  if (to) {
    tombstones_due_.emplace(to->expires_at, to->id);
    tombstones_.emplace(to->id, *to);
  }
}

const Text* Tables::alias(std::string_view id) const {
  const auto found = find_text(aliases_, id);
  return found == aliases_.end() ? nullptr : &found->second;
}

std::vector<Text> Tables::aliases_of(std::string_view target) const {
  std::vector<Text> found;
  if (aliases_by_target_.empty()) return found;
  const Text wanted(target);
  for (auto entry = aliases_by_target_.lower_bound({wanted, Text()});
       entry != aliases_by_target_.end() && entry->first == wanted; ++entry) {
    found.push_back(entry->second);
  }
  return found;
}

void Tables::set_alias(AliasRow row) { change<AliasRow>(std::nullopt, std::move(row)); }

void Tables::drop_alias(std::string_view id) {
  change<AliasRow>(AliasRow{Text(id), *alias(id)}, std::nullopt);
}

void Tables::put(const std::optional<AliasRow>& from, const std::optional<AliasRow>& to) {
  if (from) {
    aliases_.erase(from->id);
    aliases_by_target_.erase({from->target, from->id});
  }
  if (to) {
    aliases_.emplace(to->id, to->target);
    aliases_by_target_.emplace(to->target, to->id);
  }
}

void Tables::set_schedule(ScheduleRow row) {
  const auto found = schedules_.find(row.name);
  std::optional<ScheduleRow> before;
  if (found != schedules_.end()) before = found->second.row;
  change<ScheduleRow>(std::move(before), std::move(row));
}

void Tables::drop_schedule(std::string_view name) {
  change<ScheduleRow>(schedules_.find(name)->second.row, std::nullopt);
}

void Tables::put(const std::optional<ScheduleRow>& from, const std::optional<ScheduleRow>& to) {
  if (from) {
    schedules_due_.erase({from->next, from->name});
    if (!to) schedules_.erase(from->name);
  }
  if (!to) return;
  if (to->next != kNever) schedules_due_.emplace(to->next, to->name);
  ScheduleNode& node = schedules_[to->name];
  const bool retimed =
      node.row.spec.cron != to->spec.cron || node.row.spec.time_zone != to->spec.time_zone;
  node.row = *to;
  if (!retimed && from) return;
  node.cron.reset();
  node.zone = TimeZone::utc();
  if (node.row.spec.cron.empty()) return;
  // Both were read once when the schedule was accepted.
  auto cron = Cron::parse(node.row.spec.cron);
  auto zone = TimeZone::find(node.row.spec.time_zone);
  RETSU_CHECK(cron && zone);
  node.cron = *cron;
  node.zone = *zone;
}

void Tables::set_xcom(XcomRow row) {
  const auto found = xcom_.find(row.key);
  std::optional<XcomRow> before;
  if (found != xcom_.end()) before = found->second;
  change<XcomRow>(std::move(before), std::move(row));
}

void Tables::drop_xcom(std::string_view key) {
  change<XcomRow>(xcom_.find(key)->second, std::nullopt);
}

void Tables::put(const std::optional<XcomRow>& from, const std::optional<XcomRow>& to) {
  if (from) {
    xcom_due_.erase({from->expires_at, from->key});
    xcom_.erase(from->key);
  }
  if (to) {
    xcom_due_.emplace(to->expires_at, to->key);
    xcom_.emplace(to->key, *to);
  }
}

void Tables::add_key(KeyRow row) { change<KeyRow>(std::nullopt, std::move(row)); }

void Tables::drop_key(const KeyRow& row) { change<KeyRow>(KeyRow(row), std::nullopt); }

void Tables::put(const std::optional<KeyRow>& from, const std::optional<KeyRow>& to) {
  if (from) {
    keys_due_.erase({from->expires_at, id_of(*from)});
    keys_.erase(keys_.find(id_of(*from)));
  }
  if (to) {
    const KeyRow& row = *keys_.insert(*to).first;
    keys_due_.emplace(row.expires_at, id_of(row));
  }
}

const CascadeRow* Tables::cascade_of(std::string_view target) const {
  if (cascades_.empty()) return nullptr;
  const auto found = find_text(cascade_numbers_, target);
  return found == cascade_numbers_.end() ? nullptr : &cascades_.find(found->second)->second;
}

void Tables::set_cascade(CascadeRow row) {
  const auto found = cascades_.find(row.number);
  std::optional<CascadeRow> before;
  if (found != cascades_.end()) before = found->second;
  change<CascadeRow>(std::move(before), std::move(row));
}

void Tables::drop_cascade(std::uint64_t number) {
  change<CascadeRow>(cascades_.find(number)->second, std::nullopt);
}

void Tables::put(const std::optional<CascadeRow>& from, const std::optional<CascadeRow>& to) {
  if (from) {
    cascades_.erase(from->number);
    cascade_numbers_.erase(from->target);
  }
  if (to) {
    cascades_.emplace(to->number, *to);
    cascade_numbers_.emplace(to->target, to->number);
  }
}

}  // namespace retsu::engine
