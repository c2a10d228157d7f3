#include "server/audit.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "base/wall_clock.h"

namespace retsu::server {
namespace {

constexpr std::uintmax_t kFileBytes = 10 << 20;
constexpr int kFilesBefore = 5;

struct Entry {
  TimePoint at;
  std::string caller;
  std::string peer;
  std::string operation;
  std::string target;
  Json what;
};
constexpr auto fields_of(std::type_identity<Entry>) {
  return List{Field{"at", &Entry::at},         Field{"caller", &Entry::caller},
              Field{"peer", &Entry::peer},     Field{"operation", &Entry::operation},
              Field{"target", &Entry::target}, Field{"what", &Entry::what}};
}

void set_aside_if_long(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::file_size(path, ignored) < kFileBytes || ignored) return;
  for (int number = kFilesBefore - 1; number >= 0; --number) {
    const std::string from = number == 0 ? path : path + "." + std::to_string(number);
    std::filesystem::rename(from, path + "." + std::to_string(number + 1), ignored);
  }
}

void append(const std::string& path, const std::string& line) {
  set_aside_if_long(path);
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (!written) {
    std::fprintf(stderr, "retsu: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
  }
  if (file >= 0) ::close(file);
}

}  // namespace

void Audit::note(const Exchange& exchange, std::string_view operation, std::string what) {
  const auto loop = loop_.lock();
  if (path_.empty() || !loop) return;
  std::string line;
  append_json(line, Entry{wall_clock(), exchange.caller.name, exchange.peer, std::string(operation),
                          exchange.request.target, Json(what)});
  line += '\n';
  loop->post_long([path = path_, line = std::move(line)] { append(path, line); });
}

}  // namespace retsu::server
