#include "cli/json_lines.h"

#include "model/json.h"

namespace retsu::cli {
namespace {

template <class T>
std::string written(const T& value) {
  std::string text;
  append_json(text, value);
  return text;
}

}  // namespace

std::string json_of(const Task& task) { return written(task); }
std::string json_of(const Pushed& pushed) { return written(pushed); }
std::string json_of(const Settled& settled) { return written(settled); }
std::string json_of(const ClaimInfo& claim) { return written(claim); }
std::string json_of(const QueueInfo& queue) { return written(queue); }
std::string json_of(const UserInfo& user) { return written(user); }
std::string json_of(const DeadGroup& group) { return written(group); }
std::string json_of(const ScheduleInfo& schedule) { return written(schedule); }
std::string json_of(const embedded::Verdict& verdict) { return written(verdict); }
std::string json_of(const server::NewToken& token) { return written(token); }
std::string json_of(const server::TokenInfo& token) { return written(token); }
std::string json_of(const server::CreatedToken& token) { return written(token); }

}  // namespace retsu::cli
