// Parts of answers as JSON, one object a line, as the codec writes them inside the whole. See
// broker/codec.h for whole answers.
#pragma once

#include <string>

#include "broker/embedded/verify.h"
#include "model/operations.h"
#include "server/tokens.h"

namespace retsu::cli {

std::string json_of(const Task& task);
std::string json_of(const Pushed& pushed);
std::string json_of(const Settled& settled);
std::string json_of(const ClaimInfo& claim);
std::string json_of(const QueueInfo& queue);
std::string json_of(const UserInfo& user);
std::string json_of(const DeadGroup& group);
std::string json_of(const ScheduleInfo& schedule);
std::string json_of(const embedded::Verdict& verdict);
std::string json_of(const server::NewToken& token);
std::string json_of(const server::TokenInfo& token);
std::string json_of(const server::CreatedToken& token);

}  // namespace retsu::cli
