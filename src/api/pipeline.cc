#include "retsu/pipeline.h"

#include <algorithm>

#include "api/door.h"
#include "base/sha256.h"
#include "retsu/error.h"
#include "retsu/queue.h"

namespace retsu_api {
namespace {

// How people tell a step from others.
std::string name_of(const Step& step) {
  const NewTask& task = step.task();
  if (!task.id.empty()) return "the step with id \"" + task.id + "\"";
  if (!task.type.empty()) return "the step of type \"" + task.type + "\"";
  return "a step of queue \"" + task.queue + "\"";
}

[[noreturn]] void refuse_twice(const Step& step, const Step& again) {
  if (step == again) {
    throw Error("invalid", name_of(step) +
                               " stands twice in the pipeline: make a second Step of the same task "
                               "if it is to run twice");
  }
  throw Error("invalid", "two steps of the pipeline have the id \"" + step.task().id + "\"");
}

bool same_task(const Step& a, const Step& b) {
  return a == b || (!a.task().id.empty() && a.task().id == b.task().id);
}

std::string derived_id(const std::string& idempotency_key, std::size_t number) {
  return retsu::sha256_hex(idempotency_key).substr(0, 32) + "." + std::to_string(number);
}

void move_by(std::vector<std::size_t>& indices, std::size_t distance) {
  for (std::size_t& index : indices) index += distance;
}

void append_to(std::vector<std::size_t>& indices, const std::vector<std::size_t>& more) {
  indices.insert(indices.end(), more.begin(), more.end());
}

}  // namespace

Pipeline::Pipeline(Step step) : nodes_{{std::move(step), {}}}, first_{0}, last_{0} {}

void Pipeline::append(Pipeline& other) {
  for (const Node& node : other.nodes_) {
    for (const Node& mine : nodes_) {
      if (same_task(mine.step, node.step)) refuse_twice(mine.step, node.step);
    }
  }
  const std::size_t distance = nodes_.size();
  for (Node& node : other.nodes_) {
    move_by(node.after, distance);
    nodes_.push_back(std::move(node));
  }
  move_by(other.first_, distance);
  move_by(other.last_, distance);
}

Pipeline operator>>(Pipeline left, Pipeline right) {
  left.append(right);
  for (const std::size_t first : right.first_) append_to(left.nodes_[first].after, left.last_);
  left.last_ = std::move(right.last_);
  return left;
}

Pipeline operator|(Pipeline left, Pipeline right) {
  left.append(right);
  append_to(left.first_, right.first_);
  append_to(left.last_, right.last_);
  return left;
}

PushedPipeline::PushedPipeline(const Pipeline& pipeline, std::vector<Pushed> tasks)
    : tasks_(std::move(tasks)) {
  for (const Pipeline::Node& node : pipeline.nodes()) steps_.push_back(node.step);
}

const Pushed& PushedPipeline::task(const Step& step) const {
  const auto found = std::find(steps_.begin(), steps_.end(), step);
  if (found == steps_.end()) {
    throw Error("not_found", name_of(step) + " is not one of this pipeline");
  }
  return tasks_.at(static_cast<std::size_t>(found - steps_.begin()));
}

PushedPipeline Queue::push(const Pipeline& pipeline, const PushOptions& options) {
  if (options.partial) throw Error("invalid", "a pipeline is pushed whole: it cannot be partial");
  const std::string& key = options.idempotency_key;
  std::vector<NewTask> tasks;
  for (const Pipeline::Node& node : pipeline.nodes()) {
    NewTask& task = tasks.emplace_back(node.step.task());
    // With a key, the ids must be the same when it comes again.
    if (task.id.empty()) task.id = key.empty() ? door().new_id() : derived_id(key, tasks.size());
    for (const std::size_t index : node.after) task.depends_on.emplace_back(tasks[index].id);
  }
  return {pipeline, push_all(std::move(tasks), options)};
}

}  // namespace retsu_api
