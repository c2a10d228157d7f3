// Every use of a file by the spool is once its last, and once fails: no task is lost, none is there
// twice, and each problem is named.

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/temporary_directory.h"
#include "base/wall_clock.h"
#include "small_disk.h"
#include "spool/dead_letters.h"
#include "traced_child.h"

namespace retsu::spool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;
using Ids = std::vector<std::string>;

const TimePoint kNow = *parse_time("2026-11-16T10:00:00Z");
constexpr std::string_view kDamaged = R"({"id":"half","type":)";

Entry entry(const std::string& id, TimePoint created = kNow) {
  return {.id = id, .type = "sync", .payload = Json(R"({"n":1})"), .created_at = created};
}

Spool spool_at(const std::string& path, Limits limits = {}) {
  return Spool(path, limits, [] { return kNow; });
}

Ids ids_in(const std::string& path) {
  Ids ids;
  const auto contents = spool_at(path).read();
  EXPECT_TRUE(contents) << contents.error().message;
  if (!contents) return ids;
  for (const Line& line : contents->in_order()) ids.push_back(contents->entry_of(line)->id);
  return ids;
}

Ids dead_in(const std::string& path) {
  Ids ids;
  EXPECT_TRUE(read_dead(path, [&](std::string_view, const DeadEntry* dead) {
    if (dead != nullptr) ids.push_back(dead->entry.id);
  }));
  return ids;
}

std::size_t damaged_lines_aside(const std::string& path) {
  std::ifstream file(corrupt_file_of(path));
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) count += line == kDamaged ? 1 : 0;
  return count;
}

// Something that is done to a spool, and how it must be before and after.
struct Deed {
  std::string name;
  std::vector<std::string> lines;                      // of the file; none: there is no file
  std::function<Status(const std::string& path)> act;  // may be done again, if it did not end
  Ids alive;                                           // after it
  Ids dead;
  Ids spared;  // those that are in the spool or among the dead letters at every moment
  std::size_t aside = 0;
};

template <class T>
Status without_value(Result<T> result) {
  if (!result) return tl::unexpected(std::move(result.error()));
  return {};
}

std::vector<Deed> deeds() {
  const std::string a = line_of(entry("a"));
  const std::string b = line_of(entry("b", kNow - std::chrono::hours(1)));
  const std::string old = line_of(entry("old", kNow - std::chrono::hours(200)));
  Entry failing = entry("f");
  failing.retries = 5;
  return {
      {"AddToNothing",
       {},
       [](const std::string& path) { return without_value(spool_at(path).add(entry("new"))); },
       {"new"},
       {},
       {}},
      {"Add",
       {a, b},
       [](const std::string& path) { return without_value(spool_at(path).add(entry("new"))); },
       {"b", "a", "new"},
       {},
       {"a", "b"}},
      {"AddToATornEnd",
       {a, std::string(kDamaged)},
       [](const std::string& path) {
         // As whoever died left it.
         return without_value(spool_at(path).add(entry("new")));
       },
       {"a", "new"},
       {},
       {"a"}},
      {"AddBeyondALimit",
       {a, b, std::string(kDamaged)},
       [](const std::string& path) {
         return without_value(spool_at(path, {.tasks = 2}).add(entry("new")));
       },
       {"a", "new"},
       {"b"},
       {"a", "b"},
       1},
      {"Done",
       {a, std::string(kDamaged), b},
       [](const std::string& path) {
         const auto done = spool_at(path).done("a");
         return !done && done.error().code == ErrorCode::kNotFound ? Status() : done;
       },
       {"b"},
       {},
       {"b"},
       1},
      {"Take",
       {a, b},
       [](const std::string& path) { return without_value(spool_at(path).take()); },
       {"b", "a"},
       {},
       {"a", "b"}},
      {"FailOnceMore",
       {a, line_of(failing)},
       [](const std::string& path) {
         const auto failed = spool_at(path).fail("f", "no");
         return !failed && failed.error().code == ErrorCode::kNotFound ? Status()
                                                                       : without_value(failed);
       },
       {"a"},
       {"f"},
       {"a", "f"}},
      {"Tidy",
       {old, a, std::string(kDamaged)},
       [](const std::string& path) { return without_value(spool_at(path).tidy()); },
       {"a"},
       {"old"},
       {"old", "a"},
       1},
      {"Batch",
       {a, b},
       [](const std::string& path) {
         Spool spool = spool_at(path);
         const auto batch = spool.begin(1, 1'000'000);
         if (!batch) return without_value(batch);
         if (batch->entries.empty() || batch->entries[0].entry.id != "b") return Status();
         return without_value(spool.end({{.sending = &batch->entries[0]}}));
       },
       {"a"},
       {},
       {"a"}},
  };
}

class Interrupted : public testing::TestWithParam<Deed> {
 protected:
  void SetUp() override {
    if (const auto why = why_no_tracing(); !why.empty()) GTEST_SKIP() << why;
  }
  void prepare() {
    // Thousands of syncs, of which none is put to the test here.
    directory_.emplace(
        std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path());
    path_ = directory_->path() + "/queue.jsonl";
    const auto& lines = GetParam().lines;
    if (lines.empty()) return;
    std::ofstream file(path_);
    for (const std::string& line : lines) {
      file << line;
      if (GetParam().name != "AddToATornEnd" || &line != &lines.back()) file << '\n';
    }
  }
  Trace act(Mishap mishap) {
    return TracedChild([this] { return GetParam().act(path_) ? 0 : 1; }, directory_->path())
        .run(mishap);
  }
  // Whatever happened.
  void expect_nothing_lost() {
    Ids found = ids_in(path_);
    for (const std::string& id : dead_in(path_)) found.push_back(id);
    for (const std::string& id : GetParam().spared) EXPECT_THAT(found, testing::Contains(id));
    EXPECT_TRUE(damage_is_somewhere());
  }
  bool damage_is_somewhere() {
    if (GetParam().aside == 0) return true;
    const auto contents = spool_at(path_).read();
    return damaged_lines_aside(path_) == 1 || (contents && contents->damaged() == 1);
  }
  void expect_done() {
    EXPECT_EQ(ids_in(path_), GetParam().alive);
    EXPECT_THAT(dead_in(path_), UnorderedElementsAreArray(GetParam().dead));
    if (GetParam().aside > 0) {
      EXPECT_EQ(damaged_lines_aside(path_), 1U);
    }
  }
  // What was told as done is done; only that limits could not be kept is told beside it.
  void expect_done_or_almost() {
    if (GetParam().name != "AddBeyondALimit") return expect_done();
    EXPECT_THAT(ids_in(path_), testing::Contains("new"));
  }
  // What adds must not add again what is there; the others may be done twice.
  void act_again() {
    const bool adds = GetParam().name.starts_with("Add");
    const Ids found = ids_in(path_);
    if (adds && std::ranges::find(found, "new") != found.end()) {
      // It was written, and nobody was told: its key would make it one at the server.
      if (GetParam().name == "AddBeyondALimit") {
        ASSERT_TRUE(spool_at(path_, {.tasks = 2}).tidy());
      }
      return;
    }
    const auto done = GetParam().act(path_);
    EXPECT_TRUE(done) << done.error().message;
  }

  std::optional<TemporaryDirectory> directory_;
  std::string path_;
};

TEST_P(Interrupted, AtEveryCallItLosesNothingAndGoesOn) {
  for (const auto kill : {Mishap::kill_at, Mishap::kill_after}) {
    int at = 1;
    for (;; ++at) {
      SCOPED_TRACE(fmt::format("{} call {}", kill == Mishap::kill_at ? "before" : "after", at));
      prepare();
      const Trace trace = act(kill(at));
      expect_nothing_lost();
      if (!trace.reached) {
        EXPECT_EQ(trace.status, 0);
        expect_done();
        break;
      }
      EXPECT_FALSE(trace.lived());
      act_again();
      expect_done();
      if (HasFailure()) return;
    }
    EXPECT_GT(at, 5) << "there is something to interrupt";
  }
}

TEST_P(Interrupted, ByAFailureOfAnyCallItSaysSoOrIsDone) {
  for (const int error : {ENOSPC, EIO, EINTR}) {
    for (int at = 1;; ++at) {
      SCOPED_TRACE(fmt::format("call {} fails with {}", at, std::strerror(error)));
      prepare();
      const Trace trace = act(Mishap::fail_at(at, error));
      ASSERT_TRUE(trace.lived());
      expect_nothing_lost();
      if (trace.status == 0) expect_done_or_almost();
      if (!trace.reached) break;
      act_again();
      expect_done();
      if (HasFailure()) return;
    }
  }
}

TEST_P(Interrupted, ByAWriteThatIsShortItWritesTheRest) {
  for (int at = 1;; ++at) {
    prepare();
    const Trace trace = act(Mishap::short_at(at));
    EXPECT_EQ(trace.status, 0);
    expect_done();
    if (!trace.reached) break;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Interrupted, testing::ValuesIn(deeds()),
                         [](const auto& deed) { return deed.param.name; });

// ------------------------------------------------------------------------- what the power needs

class Durable : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = why_no_tracing(); !why.empty()) GTEST_SKIP() << why;
  }
  // The calls that change something or make it last, `write queue.jsonl`, once each.
  Ids changes(const std::function<Status()>& act) {
    const Trace trace = TracedChild([&] { return act() ? 0 : 1; }, directory_.path()).trace();
    EXPECT_EQ(trace.status, 0);
    Ids found;
    for (const TracedCall& call : trace.calls) {
      if (call.name != "write" && call.name != "fsync" && call.name != "rename") continue;
      const std::string name = call.file == directory_.path()
                                   ? "folder"
                                   : std::filesystem::path(call.file).filename().string();
      found.push_back(call.name + " " + name);
    }
    return found;
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/queue.jsonl";
};

TEST_F(Durable, WhatIsAddedIsSyncedBeforeItIsTold) {
  EXPECT_THAT(changes([&] { return without_value(spool_at(path_).add(entry("a"))); }),
              ElementsAre("fsync folder", "write queue.jsonl", "fsync queue.jsonl"));
  EXPECT_THAT(changes([&] { return without_value(spool_at(path_).add(entry("b"))); }),
              ElementsAre("write queue.jsonl", "fsync queue.jsonl"));
}

TEST_F(Durable, ANewFileIsSyncedBeforeItTakesThePlaceOfTheOldAndItsNameAfter) {
  ASSERT_TRUE(spool_at(path_).add(entry("a")));
  EXPECT_THAT(changes([&] { return spool_at(path_).done("a"); }),
              ElementsAre("fsync queue.jsonl.tmp", "rename queue.jsonl.tmp", "fsync folder"));
  ASSERT_TRUE(spool_at(path_).add(entry("b")));
  EXPECT_THAT(changes([&] { return without_value(spool_at(path_).take()); }),
              ElementsAre("write queue.jsonl.tmp", "fsync queue.jsonl.tmp",
                          "rename queue.jsonl.tmp", "fsync folder"));
}

TEST_F(Durable, ADeadLetterIsSyncedBeforeItLeavesTheSpool) {
  ASSERT_TRUE(spool_at(path_).add(entry("a", kNow - std::chrono::hours(167))));
  const auto later = [&] {
    return without_value(Spool(path_, {}, [] { return kNow + std::chrono::hours(2); }).tidy());
  };
  EXPECT_THAT(changes(later),
              ElementsAre("write queue.dead.jsonl", "fsync queue.dead.jsonl", "fsync folder",
                          "fsync queue.jsonl.tmp", "rename queue.jsonl.tmp", "fsync folder"));
}

// ------------------------------------------------------------------------- no room, no permission

TEST(SpoolOnAFullDisk, RefusesAndLosesNothing) {
  const SmallDisk disk(1);
  if (!disk.mounted()) GTEST_SKIP() << "may not mount: " << std::strerror(errno);
  const std::string path = disk.path() + "/queue.jsonl";
  Spool spool = spool_at(path);
  Entry large = entry("");
  large.payload = Json('"' + std::string(50'000, 'x') + '"');
  Ids added;
  for (int i = 0;; ++i) {
    large.id = fmt::format("{:03}", i);
    const auto done = spool.add(large);
    if (!done) {
      EXPECT_EQ(done.error().code, ErrorCode::kStorageFull);
      EXPECT_THAT(done.error().message, HasSubstr("queue.jsonl: No space left on device"));
      break;
    }
    added.push_back(large.id);
    ASSERT_LT(i, 100);
  }
  EXPECT_GT(added.size(), 10U);
  EXPECT_EQ(ids_in(path), added) << "and nothing half-written";
  EXPECT_EQ(spool_at(path).read()->damaged(), 0);
  // There is no room for a new file either: it stays as it is.
  EXPECT_EQ(spool.done("000").error().code, ErrorCode::kStorageFull);
  EXPECT_EQ(spool.take().error().code, ErrorCode::kStorageFull);
  EXPECT_EQ(ids_in(path), added);
  EXPECT_FALSE(std::filesystem::exists(draft_file_of(path)));
}

TEST(SpoolWithoutPermission, IsReadButNotWrittenAndTheProblemIsNamed) {
  if (const auto why = why_no_tracing(); !why.empty()) GTEST_SKIP() << why;
  if (::geteuid() != 0) GTEST_SKIP() << "needs another user to become";
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/queue.jsonl";
  std::ofstream(path) << line_of(entry("a")) << '\n';
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  const TracedChild child([&] {
    constexpr uid_t kNobody = 65'534;
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) return 100;
    if (ids_in(path) != Ids{"a"}) return 1;
    Spool spool = spool_at(path);
    const Status refused[] = {without_value(spool.add(entry("b"))), without_value(spool.take()),
                              spool.done("a"), without_value(spool.tidy())};
    for (const Status& each : refused) {
      if (each || each.error().code != ErrorCode::kForbidden) return 2;
      if (each.error().message.find("Permission denied") == std::string::npos) return 3;
      if (each.error().message.find(path) == std::string::npos) return 4;
    }
    return 0;
  });
  EXPECT_EQ(child.trace().status, 0);
  EXPECT_EQ(ids_in(path), Ids{"a"});
}

}  // namespace
}  // namespace retsu::spool
