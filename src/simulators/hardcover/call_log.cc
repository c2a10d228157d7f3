#include "simulators/hardcover/call_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "base/json.h"
#include "base/utf8.h"
#include "base/write_all.h"

namespace retsu::simulators::hardcover {
namespace {

constexpr std::size_t kMostBytes = 200;  // of a text

void shorten(std::string& text) {
  if (text.size() <= kMostBytes) return;
  std::size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  text.shrink_to_fit();
}

std::string line_of(const Call& call) {
  std::string line;
  append_json(line, call);
  return line + '\n';
}

}  // namespace

CallLog::~CallLog() {
  if (file_ >= 0) ::close(file_);
}

tl::expected<void, std::string> CallLog::open(const std::string& path) {
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ >= 0) return {};
  return tl::unexpected(fmt::format("cannot write the log {}: {}", path, std::strerror(errno)));
}

void CallLog::add(Call call) {
  call.client = as_utf8(call.client);
  shorten(call.client);
  for (Asked& asked : call.asked) {
    for (auto* text : {&asked.isbn13, &asked.title, &asked.author}) {
      if (*text) shorten(**text);
    }
  }
  ++by_status_[std::to_string(call.status)];
  if (file_ >= 0 && failure_.empty()) {
    if (const int error = write_all(file_, line_of(call))) failure_ = std::strerror(error);
  }
  calls_.push_back(std::move(call));
  if (calls_.size() > kept_) calls_.pop_front();
}

std::string CallLog::lines() const {
  std::string all;
  for (const Call& call : calls_) all += line_of(call);
  return all;
}

}  // namespace retsu::simulators::hardcover
