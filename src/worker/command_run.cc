#include "worker/command_run.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "model/json.h"
#include "worker/child_process.h"
#include "worker/outcomes.h"
#include "worker/reported_text.h"

namespace retsu::worker {
namespace {

constexpr int kFailsForGood = 65;  // EX_DATAERR
constexpr int kThrottles = 69;     // EX_UNAVAILABLE
constexpr std::size_t kErrorBytes = std::size_t{4} << 10;
constexpr std::size_t kProgressBytes = std::size_t{16} << 10;
constexpr std::size_t kInputsBytes = std::size_t{100} << 10;  // more is too much for an environment

std::vector<std::string> variables_of(const ClaimedTask& task) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("RETSU_TOKEN=")) variables.emplace_back(*variable);
  }
  const auto add = [&](std::string_view name, std::string_view value) {
    variables.push_back(fmt::format("RETSU_{}={}", name, value));
  };
  add("TASK_ID", task.id);
  add("QUEUE", task.queue);
  add("USER", task.user);
  add("TYPE", task.type);
  add("ATTEMPT", std::to_string(task.attempt));
  add("MAX_ATTEMPTS", std::to_string(task.max_attempts));
  add("TRACE", task.trace);
  std::string inputs;
  append_json(inputs, task.inputs);
  if (inputs.size() <= kInputsBytes) add("INPUTS", inputs);
  return variables;
}

// The lines that have come, one by one.
class Lines {
 public:
  template <class Take>
  void add(std::string_view some, Take take) {
    rest_ += some;
    for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      take(std::string_view(rest_).substr(0, end));
      rest_.erase(0, end + 1);
    }
    if (rest_.size() > kProgressBytes) rest_.clear();
  }

 private:
  std::string rest_;
};

struct Heard {
  std::string output;
  bool is_too_long = false;
  Tail error{kErrorBytes};
};

SettleOne outcome_of(int status, const Heard& heard) {
  const std::string error = heard.error.text();
  const std::string said = error.empty() ? "" : ": " + error;
  if (WIFSIGNALED(status)) {
    return failed(fmt::format("ended by signal {} ({}){}", WTERMSIG(status),
                              ::strsignal(WTERMSIG(status)), said));
  }
  const int exit = WEXITSTATUS(status);
  if (exit == kThrottles) return throttled(fmt::format("exit {}{}", exit, said));
  if (exit != 0) {
    return failed(fmt::format("exit {}{}", exit, said),
                  exit == kFailsForGood ? Again::kNever : Again::kLater);
  }
  if (heard.is_too_long) return failed("it printed more than a result may have", Again::kNever);
  return finished(as_json(heard.output));
}

}  // namespace

Handler run_command(CommandSettings settings) {
  return [settings = std::move(settings)](Run& run) {
    auto child = ChildProcess::start({settings.command, variables_of(run.task())});
    if (!child) return failed("cannot start " + settings.command[0] + ": " + child.error());
    Heard heard;
    Lines progress;
    const ChildProcess::Listener listener{
        .output =
            [&](std::string_view some) {
              heard.is_too_long |= heard.output.size() + some.size() > settings.result_bytes;
              if (!heard.is_too_long) heard.output += some;
            },
        .error = [&](std::string_view some) { heard.error.add(some); },
        .progress =
            [&](std::string_view some) {
              progress.add(some, [&](std::string_view line) { run.progress(as_json(line)); });
            }};
    const int status =
        child->attend(run.task().payload.view(), listener, run.stop(), settings.grace);
    return outcome_of(status, heard);
  };
}

}  // namespace retsu::worker
