// The model and a broker side by side: the same commands at the same times must get the same
// answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/subject.h"
#include "random/commands.h"
#include "reference/reference.h"

namespace retsu::random_runs {

struct Mismatch {
  std::size_t step = 0;
  std::string command;
  std::string expected;
  std::string got;
};

// What two right brokers may answer differently is made alike: the words of messages and details,
// cursors, rates per minute and percentiles, the order inside a graph. Everything else must be
// equal.
Result<Reply> comparable(Result<Reply> reply);

// Who asked for work lately is not stored.
void forget_workers(Result<Reply>& reply);

std::string shown(const Result<Reply>& reply);
std::string shown(const Step& step);

class Judge {
 public:
  // Keeps the subject.
  Judge(Limits limits, conformance::Subject& subject)
      : limits_(limits), model_(limits), subject_(subject) {}
  // Goes on with a queue that is known.
  Judge(Limits limits, ReferenceQueue model, conformance::Subject& subject)
      : limits_(limits), model_(std::move(model)), subject_(subject) {}

  // Both take the step. None: they agree.
  std::optional<Mismatch> take(const Step& step);

  // Both show everything that they have: each task with its reasons to wait, each queue, user,
  // claim, schedule and counter, page by page.
  std::optional<Mismatch> compare_everything();

  std::optional<Mismatch> compare_at(TimePoint clock) {
    clock_ = clock;
    return compare_everything();
  }

  // The model's answer to the last step.
  [[nodiscard]] const Result<Reply>& answer() const { return answer_; }
  [[nodiscard]] const ReferenceQueue& model() const { return model_; }

 private:
  std::optional<Mismatch> ask(const Command& command, const std::optional<std::string>& key = {});
  template <class List, class Page, class Item>
  std::optional<Mismatch> ask_pages(List list, std::vector<Item> Page::*items,
                                    std::vector<Item>* all = nullptr);

  const Limits limits_;
  ReferenceQueue model_;
  conformance::Subject& subject_;
  TimePoint clock_{};
  Result<Reply> answer_;
  std::size_t steps_ = 0;
};

using MakeSubject = std::function<std::unique_ptr<conformance::Subject>(Limits)>;

struct Trial {
  std::uint64_t seed = 0;
  std::size_t length = 0;
  Limits limits;
};

struct Verdict {
  std::vector<Step> steps;  // up to the mismatch
  std::optional<Mismatch> mismatch;
  ReferenceQueue::Taken taken;
};

// Makes up commands and compares, everything at times, until something differs.
Verdict play(const Trial& trial, const MakeSubject& make);

// The same steps again.
std::optional<Mismatch> replay(const std::vector<Step>& steps, Limits limits,
                               const MakeSubject& make);

// Leaves out as many steps as possible such that there is still a mismatch in the same operation.
std::vector<Step> shrunk(std::vector<Step> steps, Limits limits, const MakeSubject& make);

// For a person: the seed, the mismatch, the last steps, and the shortest list of steps that shows
// it.
std::string report(const Trial& trial, const Verdict& verdict, const MakeSubject& make);

}  // namespace retsu::random_runs
