#include "worker/command_run.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "model/json.h"
#include "worker/child_process.h"
#include "worker/outcomes.h"
#include "worker/reported_text.h"

namespace retsu::worker {
namespace {

constexpr Millis kPause{1'000};    // when this process lacks something
constexpr int kFailsForGood = 65;  // EX_DATAERR
constexpr int kThrottles = 69;     // EX_UNAVAILABLE
constexpr std::size_t kErrorBytes = std::size_t{4} << 10;
constexpr std::size_t kProgressBytes = std::size_t{4} << 10;  // what a queue takes
constexpr std::size_t kInputsBytes = std::size_t{100} << 10;  // more is too much for an environment

// Variables that a command does not inherit: they are about its own task, or secret.
constexpr std::string_view kOwn[] = {"TASK_ID",      "QUEUE", "USER",   "TYPE", "ATTEMPT",
                                     "MAX_ATTEMPTS", "TRACE", "INPUTS", "TOKEN"};
bool is_own(std::string_view variable) {
  constexpr std::string_view kPrefix = "RETSU_";
  if (!variable.starts_with(kPrefix)) return false;
  const std::string_view name =
      variable.substr(kPrefix.size(), variable.find('=') - kPrefix.size());
  return std::ranges::find(kOwn, name) != std::ranges::end(kOwn);
}

std::vector<std::string> variables_of(const ClaimedTask& task) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_own(*variable)) variables.emplace_back(*variable);
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
      if (!std::exchange(is_too_long_, false)) take(std::string_view(rest_).substr(0, end));
      rest_.erase(0, end + 1);
    }
    if (rest_.size() <= kProgressBytes) return;
    rest_.clear();
    is_too_long_ = true;
  }

 private:
  std::string rest_;
  bool is_too_long_ = false;  // and what came of it is gone
};

struct Heard {
  std::string output;
  bool is_too_long = false;
  Tail error{kErrorBytes};
};

SettleOne outcome_of(const ChildProcess::Ended& end, const Heard& heard) {
  const int status = end.status;
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
  if (end.was_told_to) return failed("it was stopped");  // many exit with 0 then
  if (heard.is_too_long) return failed("it printed more than a result may have", Again::kNever);
  return finished(as_json(heard.output));
}

// Before it is tried again.
void pause(const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, kPause, [] { return false; });
}

}  // namespace

Handler run_command(CommandSettings settings) {
  return [settings = std::move(settings)](Run& run) {
    auto child = ChildProcess::start({settings.command, variables_of(run.task())});
    if (!child && child.error().is_ours) {
      pause(run.stop());
      return released();  // nothing is wrong with the task
    }
    if (!child) return failed("cannot start " + settings.command[0] + ": " + child.error().message);
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
              progress.add(some, [&](std::string_view line) {
                const Json value = as_json(line);
                if (!value.empty() && value.size() <= kProgressBytes) run.progress(value);
              });
            }};
    const auto end = child->attend(run.task().payload.view(), listener, run.stop(), settings.grace);
    return outcome_of(end, heard);
  };
}

}  // namespace retsu::worker
