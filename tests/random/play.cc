// Whole runs: making them up, repeating them, and finding the shortest one that fails.

#include <algorithm>

#include "random/judge.h"

namespace retsu::random_runs {
namespace {

constexpr std::size_t kCompareEvery = 40;
constexpr int kMostReplays = 3'000;
constexpr std::size_t kShownSteps = 20;

std::string listed(const std::vector<Step>& steps, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < steps.size(); ++i) {
    text += "  " + std::to_string(i + 1) + "  " + shown(steps[i]) + "\n";
  }
  return text;
}

std::string explained(const Mismatch& mismatch) {
  return "  step " + std::to_string(mismatch.step) + ": " + mismatch.command + "\n  expected " +
         mismatch.expected + "\n  got      " + mismatch.got + "\n";
}

}  // namespace

Verdict play(const Trial& trial, const MakeSubject& make) {
  Verdict verdict;
  const auto subject = make(trial.limits);
  Judge judge(trial.limits, *subject);
  CommandSource source(trial.seed);
  while (!verdict.mismatch && verdict.steps.size() < trial.length) {
    verdict.steps.push_back(source.next());
    verdict.mismatch = judge.take(verdict.steps.back());
    source.learn(verdict.steps.back().command, judge.answer());
    const bool time_to_look =
        verdict.steps.size() % kCompareEvery == 0 || verdict.steps.size() == trial.length;
    if (!verdict.mismatch && time_to_look) verdict.mismatch = judge.compare_everything();
  }
  verdict.taken = judge.model().taken();
  return verdict;
}

std::optional<Mismatch> replay(const std::vector<Step>& steps, Limits limits,
                               const MakeSubject& make) {
  const auto subject = make(limits);
  Judge judge(limits, *subject);
  for (const Step& step : steps) {
    if (auto mismatch = judge.take(step)) return mismatch;
  }
  return judge.compare_everything();
}

std::vector<Step> shrunk(std::vector<Step> steps, Limits limits, const MakeSubject& make) {
  int replays = 0;
  const auto operation = [](const std::optional<Mismatch>& mismatch) {
    return mismatch ? mismatch->command.substr(0, mismatch->command.find('{')) : "";
  };
  const std::string wanted = operation(replay(steps, limits, make));
  for (std::size_t chunk = std::max<std::size_t>(steps.size() / 2, 1);; chunk = (chunk + 1) / 2) {
    bool left_out = false;
    for (std::size_t from = 0; from < steps.size() && replays < kMostReplays;) {
      std::vector<Step> fewer = steps;
      const std::size_t to = std::min(from + chunk, steps.size());
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(from),
                  fewer.begin() + static_cast<std::ptrdiff_t>(to));
      ++replays;
      const auto mismatch = replay(fewer, limits, make);
      if (!mismatch || operation(mismatch) != wanted) {
        from += chunk;
        continue;
      }
      fewer.resize(std::min(fewer.size(), mismatch->step));
      steps = std::move(fewer);
      left_out = true;
    }
    if (replays >= kMostReplays || (chunk == 1 && !left_out)) return steps;
  }
}

std::string report(const Trial& trial, const Verdict& verdict, const MakeSubject& make) {
  const std::vector<Step> shortest = shrunk(verdict.steps, trial.limits, make);
  const std::size_t first = verdict.steps.size() - std::min(kShownSteps, verdict.steps.size());
  const std::optional<Mismatch> again = replay(shortest, trial.limits, make);
  return "RETSU_SEED=" + std::to_string(trial.seed) + "\n" + explained(*verdict.mismatch) +
         "the last steps:\n" + listed(verdict.steps, first) + "the shortest way there:\n" +
         listed(shortest, 0) + (again ? explained(*again) : "  (does not repeat)\n");
}

}  // namespace retsu::random_runs
