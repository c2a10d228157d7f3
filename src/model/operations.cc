#include "model/operations.h"

namespace retsu {

Command::Command() = default;
Command::Command(const Command& other) = default;
Command::Command(Command&& other) noexcept = default;
Command& Command::operator=(const Command& other) = default;
Command& Command::operator=(Command&& other) noexcept = default;
Command::~Command() = default;

Reply::Reply() = default;
Reply::Reply(const Reply& other) = default;
Reply::Reply(Reply&& other) noexcept = default;
Reply& Reply::operator=(const Reply& other) = default;
Reply& Reply::operator=(Reply&& other) noexcept = default;
Reply::~Reply() = default;
bool Reply::operator==(const Reply& other) const {
  return static_cast<const AnyReply&>(*this) == static_cast<const AnyReply&>(other);
}

}  // namespace retsu
