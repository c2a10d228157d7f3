// What a JsonReader says when something is wrong.
#include <algorithm>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/utf8.h"

namespace retsu {
namespace {

constexpr std::size_t kQuotedBytes = 40;

std::string quoted(std::string_view text) {
  std::string out;
  JsonWriter(out).string(clipped(text, kQuotedBytes));
  return out;
}

// The number of letters to insert, remove or replace.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string joined(std::span<const std::string_view> names, std::string_view last_separator) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? last_separator : ", ";
    JsonWriter(out).string(names[i]);
  }
  return out;
}

// Of these names the three nearest, if they are near at all.
std::vector<std::string_view> nearest(std::string_view name,
                                      std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 64;
  if (name.size() > kLongest) return {};
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const auto candidate : known) {
    const std::size_t far = distance(name, candidate);
    const bool begins = name.size() >= 3 && candidate.starts_with(name);
    if (begins || far <= 1 + name.size() / 4) near.emplace_back(far, candidate);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string_view> names;
  for (const auto& row : std::span(near).first(std::min<std::size_t>(near.size(), 3)))
    names.push_back(row.second);
  return names;
}

}  // namespace

bool JsonReader::fail(std::string message) {
  message_ = std::move(message);
  return false;
}

bool JsonReader::fail_type(std::string_view expected) {
  const Kind found = kind();
  const std::string got = found == Kind::kObject  ? "an object"
                          : found == Kind::kArray ? "an array"
                                                  : clipped(skip().text, kQuotedBytes);
  return fail("expected " + std::string(expected) + ", got " + got);
}

bool JsonReader::fail_name(std::span<const std::string_view> names) {
  return fail_type((names.size() > 1 ? "one of " : "") + joined(names, " or "));
}

bool JsonReader::fail_missing(std::string_view field) {
  fail("missing, but required");
  return under_key(field);
}

bool JsonReader::fail_unknown(std::string_view field, std::span<const std::string_view> known) {
  unknown_field_ = true;
  const auto near = nearest(field, known);
  const std::string advice = !near.empty()   ? "did you mean " + joined(near, " or ") + "?"
                             : known.empty() ? "there are no fields here"
                                             : "there are " + joined(known, " and ");
  return fail("unknown field; " + advice);
}

bool JsonReader::under_key(std::string_view key) {
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  std::string path = plain ? clipped(key, kQuotedBytes) : quoted(key);
  if (!path_.empty() && path_.front() != '[') path += '.';
  path_.insert(0, path);
  return false;
}

bool JsonReader::under_index(std::size_t index) {
  const bool joint = !path_.empty() && path_.front() != '[';
  path_.insert(0, "[" + std::to_string(index) + "]" + (joint ? "." : ""));
  return false;
}

JsonError JsonReader::error() const {
  return {unknown_field_, path_.empty() ? message_ : path_ + ": " + message_};
}

}  // namespace retsu
