// A queue in a directory: tasks for two users, a pipeline, and a worker that runs them all.
//
//   embedded [DIRECTORY]        run it twice on one directory: what was done stays done
#include <retsu/retsu.h>

#include <exception>
#include <iostream>
#include <sstream>

using retsu::Json;

namespace {

// The work. What it returns becomes the result of the task; what its dependencies returned is in
// task.inputs.
Json run(const retsu::ClaimedTask& task) {
  if (task.type == "fetch") return {{"text", "a line of people who wait for their turn"}};
  if (task.type == "count") {
    std::istringstream words(task.inputs.begin()->second.result.at("text").as_string());
    int count = 0;
    for (std::string word; words >> word;) ++count;
    return {{"words", count}};
  }
  if (task.type == "measure") {
    return {{"letters", task.inputs.begin()->second.result.at("text").as_string().size()}};
  }
  if (task.type == "report") {
    Json report;
    for (const auto& [id, input] : task.inputs) {
      for (const auto& [name, value] : input.result.as_object()) report[name] = value;
    }
    return report;
  }
  return {{"sent", task.payload.at("to")}};
}

// Takes tasks until there are none left. A failed one is tried again later, as its queue says.
void work(retsu::Queue& queue, const std::string& name) {
  for (;;) {
    const retsu::Claim claim = queue.claim({.queues = {name}, .worker = "example"});
    if (claim.tasks.empty()) return;
    const retsu::ClaimedTask& task = claim.tasks.front();
    try {
      const Json result = run(task);
      queue.finish(task, result);
      std::cout << task.user << ": " << task.type << " " << result << "\n";
    } catch (const std::exception& error) {
      queue.fail(task, error.what());
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  auto queue = retsu::open(argc > 1 ? argv[1] : "./data");

  // Users take turns: ben does not wait until all of ann's mail is sent.
  for (const char* to : {"cid", "dan", "eve"}) {
    queue.push({.queue = "mail", .user = "ann", .type = "send", .payload = {{"to", to}}});
  }
  queue.push({.queue = "mail", .user = "ben", .type = "send", .payload = {{"to", "ann"}}});
  work(queue, "mail");

  // Counting and measuring run side by side, after fetching and before the report.
  const retsu::Step fetch{{.queue = "texts", .user = "ann", .type = "fetch"}};
  const retsu::Step count{{.queue = "texts", .user = "ann", .type = "count"}};
  const retsu::Step measure{{.queue = "texts", .user = "ann", .type = "measure"}};
  const retsu::Step report{{.queue = "texts", .user = "ann", .type = "report"}};
  const auto pushed = queue.push(fetch >> (count | measure) >> report);
  work(queue, "texts");

  const retsu::Task task = queue.get_task(pushed.id(report));
  std::cout << "the report is " << to_string(task.state) << ": " << task.result << "\n"
            << queue.stats().counters["finished"] << " tasks were finished in this directory\n";
} catch (const retsu::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
