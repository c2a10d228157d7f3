#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "retsu/json.h"

namespace retsu_api {

// Thrown by every function of this library that cannot do what it was asked; nothing else is, but
// for std::bad_alloc. Unless the code is `outcome_unknown`, nothing was changed.
class Error : public std::runtime_error {
 public:
  Error(std::string code, std::string message, Json details = Json::object(),
        std::optional<std::chrono::milliseconds> retry_after = {});

  // One word of a closed set, the same in HTTP and on the command line: `invalid`, `unknown_field`,
  // `not_found`, `conflict`, `stale_claim`, `overloaded`… All are listed in docs/operations.md.
  [[nodiscard]] const std::string& code() const noexcept;

  // What is wrong, and what to do. what() is both: `code: message`.
  [[nodiscard]] const std::string& message() const noexcept;

  [[nodiscard]] const Json& details() const noexcept;  // an object

  // When it is worth asking again, if that is known.
  [[nodiscard]] std::optional<std::chrono::milliseconds> retry_after() const noexcept;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;  // shared, so that a copy cannot fail while it is thrown
};

}  // namespace retsu_api

namespace retsu {
namespace api = ::retsu_api;
using namespace ::retsu_api;
}  // namespace retsu
