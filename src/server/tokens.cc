#include "server/tokens.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/sha256.h"
#include "broker/codec.h"
#include "ingest/validate.h"

namespace retsu::server {
namespace {

constexpr std::string_view kPrefix = "retsu_";
constexpr std::size_t kIdDigits = 12;
constexpr std::size_t kSecretBytes = 32;

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> random(bytes);
  RETSU_CHECK(RAND_bytes(random.data(), static_cast<int>(bytes)) == 1);
  std::string hex;
  for (const unsigned char byte : random) hex += fmt::format("{:02x}", byte);
  return hex;
}

// Takes as long for a wrong one as for the right one.
bool equal_secrets(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// Changes when the file does.
std::string state_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "";
  return fmt::format("{} {} {}.{}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

// Held while the file is read and written anew.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ >= 0) held_ = ::flock(file_, LOCK_EX) == 0;
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() {
    if (file_ >= 0) ::close(file_);
  }
  [[nodiscard]] bool held() const { return held_; }

 private:
  int file_;
  bool held_ = false;
};

Status check(const NewToken& token) {
  if (token.scopes.empty()) {
    return refuse(ErrorCode::kInvalid, "scopes: name at least one of push, work, read, admin");
  }
  for (const std::string& queue : token.queues) {
    if (auto valid = validate(GetQueue{queue}, {}); !valid) return valid;
  }
  if (!token.user.empty()) {
    if (auto valid = validate(PutUser{.user = token.user}, {}); !valid) return valid;
  }
  if (!is_utf8(token.name)) return refuse(ErrorCode::kInvalid, "name: is not valid UTF-8");
  if (token.name.size() > 100) return refuse(ErrorCode::kTooLarge, "name: more than 100 bytes");
  return {};
}

}  // namespace

Tokens::Tokens(Tokens&& other) noexcept
    : path_(std::move(other.path_)),
      kept_(std::move(other.kept_)),
      state_of_file_(std::move(other.state_of_file_)) {}

Result<Tokens> Tokens::open(std::string path) {
  Tokens tokens(std::move(path));
  if (auto loaded = tokens.reload(); !loaded) return tl::unexpected(std::move(loaded.error()));
  return tokens;
}

Result<std::vector<Tokens::Kept>> Tokens::read(const std::string& path) {
  std::vector<Kept> kept;
  std::ifstream file(path);
  if (!file) {
    if (errno == ENOENT) return kept;
    return refuse(ErrorCode::kUnavailable, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    auto token = from_json<Kept>(line);
    if (!token) {
      return refuse(ErrorCode::kUnavailable,
                    fmt::format("{} is damaged: line {}: {}", path, number, token.error().message));
    }
    kept.push_back(*std::move(token));
  }
  if (file.bad()) return refuse(ErrorCode::kUnavailable, path + " cannot be read");
  return kept;
}

Status Tokens::reload() {
  std::string state = state_of(path_);
  const std::lock_guard lock(mutex_);
  if (state == state_of_file_) return {};
  auto kept = read(path_);
  if (!kept) return tl::unexpected(std::move(kept.error()));
  // A file that has gone does not open the door again.
  if (!kept->empty() || kept_.empty()) kept_ = *std::move(kept);
  state_of_file_ = std::move(state);
  return {};
}

bool Tokens::is_open() const {
  const std::lock_guard lock(mutex_);
  return kept_.empty();
}

Result<Caller> Tokens::caller_of(std::string_view authorization) const {
  constexpr std::string_view kBearer = "Bearer ";
  if (authorization.empty()) {
    return refuse(ErrorCode::kUnauthorized, "a token is needed: Authorization: Bearer TOKEN");
  }
  const auto wrong = [] { return refuse(ErrorCode::kUnauthorized, "this token is not valid"); };
  if (!authorization.starts_with(kBearer)) return wrong();
  const std::string_view token = authorization.substr(kBearer.size());
  const std::string hash = sha256_hex(token);
  if (!token.starts_with(kPrefix)) return wrong();
  const std::string_view id = token.substr(kPrefix.size(), kIdDigits);
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find(kept_, id, [](const Kept& kept) { return std::string_view(kept.info.id); });
  if (found == kept_.end() || !equal_secrets(found->hash, hash) || found->info.revoked_at) {
    return wrong();
  }
  return Caller{found->info.id, found->info.scopes, found->info.queues, found->info.user};
}

bool Tokens::is_valid(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      kept_, [&](const Kept& kept) { return kept.info.id == id && !kept.info.revoked_at; });
}

std::vector<TokenInfo> Tokens::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<TokenInfo> infos;
  for (const Kept& kept : kept_) infos.push_back(kept.info);
  return infos;
}

// Reads the file anew, lets `change` change what it has and answer something, and writes it.
template <class Change>
auto Tokens::change(Change change) {
  using Answer = decltype(change(kept_));
  const FileLock file_lock(path_ + ".lock");
  const std::lock_guard lock(mutex_);
  if (!file_lock.held()) {
    return Answer(refuse(ErrorCode::kUnavailable,
                         fmt::format("cannot lock {}.lock: {}", path_, std::strerror(errno))));
  }
  auto kept = read(path_);
  if (!kept) return Answer(tl::unexpected(std::move(kept.error())));
  Answer answer = change(*kept);
  if (!answer) return answer;
  std::string text;
  for (const Kept& each : *kept) {
    append_json(text, each);
    text += '\n';
  }
  if (auto written = replace_file(path_, text); !written) {
    return Answer(refuse(ErrorCode::kUnavailable, written.error()));
  }
  kept_ = *std::move(kept);
  state_of_file_ = state_of(path_);
  return answer;
}

Result<CreatedToken> Tokens::create(const NewToken& token, TimePoint now) {
  if (auto valid = check(token); !valid) return tl::unexpected(std::move(valid.error()));
  return change([&](std::vector<Kept>& kept) -> Result<CreatedToken> {
    CreatedToken created;
    created.info = {.id = random_hex(kIdDigits / 2),
                    .name = token.name,
                    .scopes = token.scopes,
                    .queues = token.queues,
                    .user = token.user,
                    .created_at = now};
    created.token = fmt::format("{}{}_{}", kPrefix, created.info.id, random_hex(kSecretBytes));
    kept.push_back({created.info, sha256_hex(created.token)});
    return created;
  });
}

Result<TokenInfo> Tokens::revoke(const std::string& id, TimePoint now) {
  return change([&](std::vector<Kept>& kept) -> Result<TokenInfo> {
    const auto found = std::ranges::find(kept, id, [](const Kept& each) { return each.info.id; });
    if (found == kept.end()) return refuse(ErrorCode::kNotFound, "there is no token of this id");
    if (!found->info.revoked_at) found->info.revoked_at = now;
    return found->info;
  });
}

}  // namespace retsu::server
