#include "spool/entry.h"

#include "base/utf8.h"

namespace retsu::spool {
namespace {

template <class T>
bool is_field(std::string_view key) {
  bool found = false;
  for_each_field<T>([&](const auto& field) { found = found || field.name == key; });
  return found;
}

// The members that no table names, as they are written.
std::string others_in(std::string_view line) {
  std::string others;
  JsonReader in(line);
  in.read_object([&](std::string_view key) {
    const auto value = in.skip().text;
    if (is_field<Entry>(key) || is_field<DeadEntry>(key)) return true;
    others += ',';
    append_json(others, std::string(key));
    others += ':';
    others += value;
    return true;
  });
  return others;
}

// What is wrong with it, or nothing.
std::string_view problem_of(const Entry& entry) {
  if (entry.id.empty()) return "id: must not be empty";
  if (entry.type.empty()) return "type: must not be empty";
  if (entry.retries < 0) return "retries: must not be negative";
  if (entry.retries > 1'000'000) return "retries: must not be more than 1000000";
  return {};
}

Entry& entry_in(Entry& entry) { return entry; }
Entry& entry_in(DeadEntry& dead) { return dead.entry; }

template <class T>
tl::expected<T, std::string> parse(std::string_view line) {
  auto read = from_json<T>(line, {.skip_unknown = true});
  if (!read) return tl::unexpected(std::move(read.error().message));
  Entry& entry = entry_in(*read);
  if (const auto problem = problem_of(entry); !problem.empty()) {
    return tl::unexpected(std::string(problem));
  }
  entry.others = others_in(line);
  return *std::move(read);
}

template <class T>
std::string write(const T& value, const std::string& others) {
  std::string line;
  append_json(line, value);
  line.insert(line.size() - 1, others);
  return line;
}

}  // namespace

Urgency urgency_of(int priority) {
  constexpr int kMiddle = 3;
  if (priority == kMiddle) return Urgency::kNormal;
  return priority > kMiddle ? Urgency::kHigh : Urgency::kLow;
}

int priority_of(Urgency urgency) {
  constexpr int kPriorities[] = {4, 3, 2};
  return kPriorities[static_cast<std::size_t>(urgency)];
}

Entry untried(Entry entry) {
  entry.retries = 0;
  entry.last_attempt.reset();
  entry.next_retry_at.reset();
  entry.error.reset();
  return entry;
}

std::string shortened(const std::string& error) {
  constexpr std::size_t kMost = 1'000;
  return clipped(error, kMost);
}

tl::expected<Entry, std::string> parse_entry(std::string_view line) { return parse<Entry>(line); }
tl::expected<DeadEntry, std::string> parse_dead_entry(std::string_view line) {
  return parse<DeadEntry>(line);
}

std::string line_of(const Entry& entry) { return write(entry, entry.others); }
std::string line_of(const DeadEntry& dead) { return write(dead, dead.entry.others); }

}  // namespace retsu::spool
