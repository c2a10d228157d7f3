#include "retsu/error.h"

#include <utility>

namespace retsu_api {

struct Error::Parts {
  std::string code;
  std::string message;
  Json details;
  std::optional<std::chrono::milliseconds> retry_after;
};

Error::Error(std::string code, std::string message, Json details,
             std::optional<std::chrono::milliseconds> retry_after)
    : std::runtime_error(code + ": " + message),
      parts_(std::make_shared<const Parts>(
          Parts{std::move(code), std::move(message), std::move(details), retry_after})) {}

const std::string& Error::code() const noexcept { return parts_->code; }
const std::string& Error::message() const noexcept { return parts_->message; }
const Json& Error::details() const noexcept { return parts_->details; }
std::optional<std::chrono::milliseconds> Error::retry_after() const noexcept {
  return parts_->retry_after;
}

}  // namespace retsu_api
