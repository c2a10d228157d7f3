// Calls to the queue that somebody waits for.
#pragma once

#include <chrono>
#include <latch>
#include <vector>

#include "broker/broker.h"

namespace retsu::apps {

inline Context with_patience() {
  return {.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10)};
}

// Many calls whose order does not matter, at once: the queue takes them together.
template <class Op>
std::vector<Result<typename Op::Reply>> call_all(Broker& broker, std::vector<Op> operations) {
  std::vector<Answer> answers(operations.size());
  std::latch left(static_cast<std::ptrdiff_t>(operations.size()));
  for (std::size_t i = 0; i < operations.size(); ++i) {
    broker.submit(std::move(operations[i]), with_patience(), [&, i](Answer answer) {
      answers[i] = std::move(answer);
      left.count_down();
    });
  }
  left.wait();
  std::vector<Result<typename Op::Reply>> results;
  results.reserve(answers.size());
  for (Answer& answer : answers) {
    if (answer) {
      results.emplace_back(std::get<typename Op::Reply>(*std::move(answer)));
    } else {
      results.emplace_back(tl::unexpected(std::move(answer.error())));
    }
  }
  return results;
}

}  // namespace retsu::apps
