#include "cli/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace retsu::cli {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string process_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = 0;
  return fmt::format("{}:{}", host.data(), ::getpid());
}

}  // namespace retsu::cli
