// A store that a server holds is reached through that server.
#pragma once

#include <optional>
#include <string>

namespace retsu::cli {

std::string tokens_file(const std::string& directory);

// Says in the store's directory which server has it, as long as it lives.
class ServerNote {
 public:
  ServerNote(const std::string& directory, const std::string& url);
  ServerNote(const ServerNote&) = delete;
  ServerNote& operator=(const ServerNote&) = delete;
  ~ServerNote();

 private:
  const std::string path_;
};

// The server that has the store open, if one has: whoever opens it takes away what an earlier one
// has left.
std::optional<std::string> server_of(const std::string& directory);

}  // namespace retsu::cli
