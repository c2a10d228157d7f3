// Who may ask, and for what.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/caller.h"

namespace retsu::server {

// What is told of a token. The secret itself is not kept, only its hash.
struct TokenInfo {
  std::string id;
  std::string name;  // for people
  std::vector<Scope> scopes;
  std::vector<std::string> queues;
  std::string user;
  TimePoint created_at;
  std::optional<TimePoint> revoked_at;
};
constexpr auto fields_of(std::type_identity<TokenInfo>) {
  return List{Field{"id", &TokenInfo::id, kRequired},
              Field{"name", &TokenInfo::name},
              Field{"scopes", &TokenInfo::scopes, kRequired},
              Field{"queues", &TokenInfo::queues},
              Field{"user", &TokenInfo::user},
              Field{"created_at", &TokenInfo::created_at, kRequired},
              Field{"revoked_at", &TokenInfo::revoked_at}};
}

struct NewToken {
  std::vector<Scope> scopes;
  std::vector<std::string> queues;
  std::string user;
  std::string name;
};
constexpr auto fields_of(std::type_identity<NewToken>) {
  return List{Field{"scopes", &NewToken::scopes, kRequired}, Field{"queues", &NewToken::queues},
              Field{"user", &NewToken::user}, Field{"name", &NewToken::name}};
}

struct CreatedToken {
  TokenInfo info;
  std::string token;  // shown this once
};
constexpr auto fields_of(std::type_identity<CreatedToken>) {
  return List{Field{"token", &CreatedToken::token}, Field{"", &CreatedToken::info}};
}

// The tokens of a store, in a file of one JSON object a line that several processes may change.
// Thread-safe.
class Tokens {
 public:
  // The file need not exist. Refused: it cannot be read, or is damaged.
  static Result<Tokens> open(std::string path);
  Tokens(Tokens&& other) noexcept;

  // Nobody has ever made a token: everybody may do everything. One that was revoked still counts.
  [[nodiscard]] bool is_open() const;

  // Whose it is. Refused with `unauthorized`.
  [[nodiscard]] Result<Caller> caller_of(std::string_view authorization) const;

  [[nodiscard]] bool is_valid(const std::string& id) const;

  Result<CreatedToken> create(const NewToken& token, TimePoint now);
  Result<TokenInfo> revoke(const std::string& id, TimePoint now);  // again: nothing changes
  [[nodiscard]] std::vector<TokenInfo> list() const;

  // Takes over what another process has written; what cannot be read leaves all as it was.
  Status reload();

 private:
  struct Kept {
    TokenInfo info;
    std::string hash;
  };
  friend constexpr auto fields_of(std::type_identity<Kept>) {
    return List{Field{"", &Kept::info}, Field{"hash", &Kept::hash, kRequired}};
  }

  explicit Tokens(std::string path) : path_(std::move(path)) {}
  static Result<std::vector<Kept>> read(const std::string& path);
  template <class Change>
  auto change(Change change);

  std::string path_;
  mutable std::mutex mutex_;
  std::vector<Kept> kept_;
  std::string state_of_file_;  // when it was read
};

}  // namespace retsu::server
