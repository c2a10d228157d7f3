#include <algorithm>
#include <unordered_map>

#include "spool/spool.h"

namespace retsu::spool {

Result<Spool::Batch> Spool::begin(std::size_t most, std::size_t most_bytes) {
  Batch batch;
  auto dropped = change([&](Edit& edit) -> Status {
    const TimePoint now = clock_();
    bury_beyond_limits(edit, now);
    std::size_t bytes = 0;
    for (const Line& line : edit.contents().in_order()) {
      if (edit.is_changed(line)) continue;
      if (line.due > now) {
        batch.next = std::min(batch.next.value_or(TimePoint::max()), line.due);
        continue;
      }
      bytes += static_cast<std::size_t>(line.length);
      if (batch.entries.size() == most || (bytes > most_bytes && !batch.entries.empty())) {
        ++batch.left;
        bytes = most_bytes;  // the order is kept: none of those behind it
        continue;
      }
      auto entry = edit.contents().entry_of(line);
      if (!entry) return tl::unexpected(std::move(entry.error()));
      Entry marked = *entry;
      marked.last_attempt = now;
      edit.replace(line, marked);
      batch.entries.push_back({*std::move(entry), line_of(marked)});
    }
    return {};
  });
  if (!dropped) return tl::unexpected(std::move(dropped.error()));
  batch.dropped = *std::move(dropped);
  return batch;
}

Result<std::vector<Dropped>> Spool::end(const std::vector<Ended>& ends) {
  std::unordered_map<std::string_view, const Ended*> by_line;
  for (const Ended& each : ends) by_line.emplace(each.sending->marked, &each);
  std::vector<std::pair<Line, const Ended*>> found;
  return change(
      [&](Edit& edit) {
        for (const auto& [line, ended] : found) settle(edit, line, *ended);
        return Status();
      },
      [&](const Line& line, std::string_view text, const Entry*) {
        const auto place = by_line.find(text);
        if (place != by_line.end()) found.emplace_back(line, place->second);
      });
}

void Spool::settle(Edit& edit, const Line& line, const Ended& ended) {
  using How = Ended::How;
  const TimePoint now = clock_();
  Entry entry = ended.sending->entry;
  switch (ended.how) {
    case How::kDone:
      return edit.remove(line);
    case How::kUntried:
      return edit.replace(line, entry);
    case How::kFailed:
      count_failure(entry, ended.error, now, ended.not_before);
      return requeue(edit, line, entry);
    case How::kRefused:
      count_failure(entry, ended.error, now, ended.not_before);
      return edit.bury(line, Reason::kRefused, entry);
    case How::kWaits:
      if (ended.may_be_received) entry.last_attempt = now;
      entry.next_retry_at = ended.not_before;
      entry.error = shortened(ended.error);
      return edit.replace(line, entry);
  }
}

}  // namespace retsu::spool
