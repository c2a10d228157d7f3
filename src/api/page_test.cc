// The code of docs/cpp.md: tools/check_docs looks for it here and in examples/.
#include <gtest/gtest.h>
#include <retsu/retsu.h>

#include <iostream>
#include <thread>

namespace {

using namespace std::chrono_literals;

// Stand-ins for what a program does.
void ask_again_after(retsu::Duration) {}
struct TooManyRequests {
  std::chrono::seconds retry_after;
};

struct Page : testing::Test {
  retsu::Queue queue = retsu::open("memory:");
};

TEST_F(Page, Values) {
  const retsu::Json mail = {{"to", "bob"}, {"copies", 2}, {"tags", {"new", "urgent"}}};
  const std::string to = mail.at("to").as_string();
  const std::int64_t copies = mail.at("copies").as_int();
  const retsu::Json second = mail["tags"][1];
  const bool has_copy = !mail["cc"].is_null();  // false: there is no such member
  const std::string text = mail.text();         // {"copies":2,"tags":["new","urgent"],"to":"bob"}
  const retsu::Json same = retsu::Json::parse(text);

  EXPECT_EQ(to, "bob");
  EXPECT_EQ(copies, 2);
  EXPECT_EQ(second, "urgent");
  EXPECT_FALSE(has_copy);
  EXPECT_EQ(text, R"({"copies":2,"tags":["new","urgent"],"to":"bob"})");
  EXPECT_EQ(same, mail);
}

TEST_F(Page, Pushing) {
  queue.push({.queue = "mail", .user = "ann", .type = "send", .payload = {{"to", "bob"}}});
  queue.push(
      {.queue = "mail", .user = "ann", .priority = retsu::kHigh, .run_at = retsu::now() + 5min});
  queue.push({.id = "invoice-17", .depends_on = {"order-17"}, .allow_missing = true});

  std::vector<retsu::NewTask> tasks;
  for (int page = 1; page <= 3; ++page) {
    tasks.push_back({.queue = "scan", .user = "ben", .payload = {{"page", page}}});
  }
  queue.push_all(tasks);

  EXPECT_EQ(queue.stats().counters.at("pushed"), 6);
}

TEST_F(Page, Working) {
  std::stop_source source;
  const std::stop_token stop = source.get_token();
  const auto send_mail = [&](const retsu::Json& mail) -> retsu::Json {
    source.request_stop();
    return {{"sent", mail.at("to")}};
  };
  const std::string id = queue.push({.queue = "mail", .payload = {{"to", "bob"}}}).id;

  while (!stop.stop_requested()) {
    const retsu::Claim claim =
        queue.claim({.queues = {"mail"}, .wait = 30s, .worker = "mailer-1"}, stop);
    for (const retsu::ClaimedTask& task : claim.tasks) {
      try {
        queue.finish(task, send_mail(task.payload));
      } catch (const TooManyRequests& error) {
        queue.throttle(task, error.retry_after);
      } catch (const std::exception& error) {
        queue.fail(task, error.what());
      }
    }
  }

  EXPECT_EQ(queue.get_task(id).result, retsu::Json({{"sent", "bob"}}));
}

TEST_F(Page, AWorker) {
  const auto send_mail = [](const retsu::Json& mail) { return mail.at("to"); };
  const std::string id =
      queue.push({.queue = "mail", .type = "send", .payload = {{"to", "bob"}}}).id;
  std::stop_source stop;

  retsu::Worker worker{queue, {.queues = {"mail"}, .concurrency = 8}};
  worker.handle("send", [&](retsu::Run& run) -> retsu::Outcome {
    try {
      return retsu::finish({{"sent", send_mail(run.task().payload)}});
    } catch (const TooManyRequests& error) {
      return retsu::throttle(error.retry_after);
    }
  });

  std::jthread thread([&] {
    // Until somebody stops it.
    worker.run(stop.get_token());
  });

  EXPECT_EQ(queue.get_task(id, 30s).result, retsu::Json({{"sent", "bob"}}));
  stop.request_stop();
}

TEST_F(Page, Extending) {
  queue.push({.id = "big"});
  const retsu::Claim claim = queue.claim();
  const retsu::ClaimedTask& task = claim.tasks.at(0);
  bool gave_up = false;

  const auto news = queue.extend(claim, {.progress = {{task.id, {{"done", 0.4}}}}});
  if (!news.canceled.empty() || !news.lost.empty()) gave_up = true;

  EXPECT_FALSE(gave_up);
}

TEST_F(Page, Awaiting) {
  queue.push({.id = "book"});
  const retsu::ClaimedTask task = queue.claim().tasks.at(0);

  if (task.inputs.empty()) {
    queue.await(task, {{.queue = "pages", .payload = {{"page", 1}}},
                       {.queue = "pages", .payload = {{"page", 2}}}});
  } else {
    queue.finish(task, {{"pages", task.inputs.size()}});
  }

  EXPECT_EQ(queue.get_task("book").blocked_by.size(), 2u);
}

TEST_F(Page, Errors) {
  queue.push({.id = "invoice-17"});

  try {
    queue.retry_task("invoice-17");
  } catch (const retsu::Error& error) {
    std::cerr << error.code() << ": " << error.message() << " " << error.details() << "\n";
    if (const auto wait = error.retry_after()) ask_again_after(*wait);
  }

  EXPECT_THROW(queue.retry_task("invoice-17"), retsu::Error);
}

TEST_F(Page, Waiting) {
  const std::string id = queue.push({.queue = "mail"}).id;

  const retsu::Task task = queue.get_task(id, 10ms);
  if (!retsu::has_ended(task.state)) {
    for (const retsu::WhyCause& cause : queue.why(id).causes) {
      std::cout << cause.cause << ": " << cause.detail << "\n";
    }
  }

  EXPECT_EQ(task.state, retsu::State::kQueued);
}

TEST_F(Page, Pipelines) {
  const retsu::Step extract{{.queue = "etl", .type = "extract"}};
  const retsu::Step transform{{.queue = "etl", .type = "transform"}};
  const retsu::Step check{{.queue = "etl", .type = "check"}};
  const retsu::Step load{{.queue = "etl", .type = "load"}};

  const auto pushed = queue.push(extract >> (transform | check) >> load);
  const retsu::Task last = queue.get_task(pushed.id(load));

  EXPECT_EQ(last.state, retsu::State::kDeferred);
}

TEST_F(Page, Keys) {
  const auto pushed = queue.push({.queue = "mail"}, {.idempotency_key = "order-17-confirmed"});
  if (pushed.replayed) std::cout << "this key was there before: nothing was pushed\n";

  EXPECT_FALSE(pushed.replayed);
}

TEST_F(Page, Policies) {
  queue.put_queue("mail", {.concurrency = 4,
                           .rate = retsu::Rate{.limit = 100, .per = 1min},
                           .retry = {.base = 2s, .max_attempts = 5}});

  EXPECT_EQ(queue.get_queue("mail").policy.concurrency, 4);
}

TEST_F(Page, Calling) {
  const retsu::Json mail = queue.call("pause_queue", {{"queue", "mail"}});
  std::cout << "waiting: " << mail.at("tasks")["QUEUED"] << "\n";

  EXPECT_EQ(mail.at("paused"), true);
}

}  // namespace
