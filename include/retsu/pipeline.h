// Tasks that run after and beside each other:
//
//   Step extract{{.queue = "etl", .type = "extract"}}, transform{…}, check{…}, load{…};
//   auto pushed = queue.push(extract >> (transform | check) >> load);
//   pushed.id(load);
//
// `a >> b`: every task that b begins with depends on every task that a ends with. `a | b`: side by
// side. Both take steps and pipelines, and bind as in C++: `a | b >> c` is `a | (b >> c)`.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "retsu/operations.h"
#include "retsu/task.h"

namespace retsu_api {

// One task of a pipeline. Copies are the same step. A task without an id gets a new one each time
// the pipeline is pushed. Immutable, so any thread may use it.
class Step {
 public:
  explicit Step(NewTask task) : task_(std::make_shared<const NewTask>(std::move(task))) {}

  [[nodiscard]] const NewTask& task() const { return *task_; }

  // The same step, not one that looks like it.
  friend bool operator==(const Step& a, const Step& b) { return a.task_ == b.task_; }

 private:
  std::shared_ptr<const NewTask> task_;
};

// Steps and their order. A value: composing copies. A step, or an id, that stands in it twice is an
// Error `invalid`, thrown when the second one is added.
class Pipeline {
 public:
  Pipeline(Step step);  // NOLINT(google-explicit-constructor): a step is a pipeline

  friend Pipeline operator>>(Pipeline left, Pipeline right);
  friend Pipeline operator|(Pipeline left, Pipeline right);

  struct Node {
    Step step;
    std::vector<std::size_t> after;  // nodes, by index, that come before it
  };
  // In an order in which they could run.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }

 private:
  // Appends the nodes of `other`, whose first_ and last_ then name them here.
  void append(Pipeline& other);

  std::vector<Node> nodes_;
  std::vector<std::size_t> first_;
  std::vector<std::size_t> last_;
};

Pipeline operator>>(Pipeline left, Pipeline right);
Pipeline operator|(Pipeline left, Pipeline right);

// The tasks that a pipeline became.
class PushedPipeline {
 public:
  PushedPipeline(const Pipeline& pipeline, std::vector<Pushed> tasks);

  // Of the step's task; Error `not_found` for a step of another pipeline.
  [[nodiscard]] const std::string& id(const Step& step) const { return task(step).id; }
  [[nodiscard]] const Pushed& task(const Step& step) const;

  // In the order of Pipeline::nodes().
  [[nodiscard]] const std::vector<Pushed>& tasks() const { return tasks_; }

 private:
  std::vector<Step> steps_;
  std::vector<Pushed> tasks_;
};

}  // namespace retsu_api

namespace retsu {
namespace api = ::retsu_api;
using namespace ::retsu_api;
}  // namespace retsu
