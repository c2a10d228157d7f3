// The tracer itself, on a child whose calls are known.

#include "traced_child.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/temporary_directory.h"

namespace retsu {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

class Traced : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_tracing(); !why.empty()) GTEST_SKIP() << why;
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return directory_.path() + "/" + name;
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }
  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(path(name));
  }
  void clear() const {
    for (const auto& each : std::filesystem::directory_iterator(directory_.path())) {
      std::filesystem::remove(each);
    }
  }

  // A file that is replaced as it should be: which of eight calls failed, or 0.
  [[nodiscard]] int replace() const {
    const int file = ::open(path("new").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return 1;
    if (::write(file, "0123456789", 10) != 10) return 2;
    if (::fsync(file) != 0) return 3;
    if (::close(file) != 0) return 4;
    if (::rename(path("new").c_str(), path("file").c_str()) != 0) return 5;
    const int folder = ::open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return 6;
    if (::fsync(folder) != 0) return 7;
    return ::close(folder) == 0 ? 0 : 8;
  }

  const TemporaryDirectory directory_;
  const TracedChild child_{[this] { return replace(); }, directory_.path()};
};

TEST_F(Traced, EveryCallIsSeenWithItsFilesAndItsResult) {
  const Trace trace = child_.trace();
  EXPECT_EQ(trace.status, 0);
  EXPECT_FALSE(trace.reached);
  std::vector<std::string> names;
  for (const TracedCall& call : trace.calls) names.push_back(call.name);
  EXPECT_THAT(names, ElementsAre("openat", "write", "fsync", "close", "rename", "openat", "fsync",
                                 "close"));
  EXPECT_EQ(trace.calls[0].file, path("new"));
  EXPECT_EQ(trace.calls[1].file, path("new"));
  EXPECT_EQ(trace.calls[1].result, 10);
  EXPECT_EQ(trace.calls[4].file, path("new"));
  EXPECT_EQ(trace.calls[4].other, path("file"));
  EXPECT_EQ(trace.calls[6].file, directory_.path());
}

TEST_F(Traced, TheOrderOfCallsCanBeAskedFor) {
  const Trace trace = child_.trace();
  const int written = trace.find("write", "/new");
  const int synced = trace.find("fsync", "/new", written);
  const int renamed = trace.find("rename", "/new", synced);
  EXPECT_LT(0, written);
  EXPECT_LT(written, synced);
  EXPECT_LT(synced, renamed);
  EXPECT_LT(renamed, trace.find("fsync", directory_.path(), renamed)) << trace.text();
  EXPECT_EQ(trace.find("fsync", "/new", synced), 0);
}

TEST_F(Traced, KilledBeforeACallItHasNotHappenedAndAfterItItHas) {
  const std::string old = "old";
  for (int n = 1;; ++n) {
    for (const bool after : {false, true}) {
      clear();
      std::ofstream(path("file")) << old;
      const Trace trace = after ? child_.kill_after(n) : child_.kill_at(n);
      if (n > 8) {
        EXPECT_FALSE(trace.reached);
        EXPECT_EQ(trace.status, 0);
        continue;
      }
      const int done = after ? n : n - 1;
      ASSERT_TRUE(trace.reached);
      ASSERT_EQ(trace.status, -SIGKILL);
      ASSERT_EQ(trace.calls.size(), static_cast<std::size_t>(n));
      EXPECT_EQ(trace.calls.back().ended, after);
      EXPECT_EQ(exists("new"), done >= 1 && done < 5) << trace.text();
      EXPECT_EQ(text("new"), done >= 2 && done < 5 ? "0123456789" : "") << trace.text();
      EXPECT_EQ(text("file"), done >= 5 ? "0123456789" : old) << trace.text();
    }
    if (n > 8) break;
  }
}

TEST_F(Traced, ARefusedCallDoesNotHappenAndAnswersTheError) {
  for (const int error : {ENOSPC, EIO, EINTR, EDQUOT}) {
    int n = 1;
    for (Trace trace; (trace = child_.fail_at(n, error)).reached; ++n) {
      ASSERT_LE(n, 8);
      EXPECT_EQ(trace.calls[static_cast<std::size_t>(n) - 1].result, -error);
      EXPECT_EQ(trace.status, n) << trace.text();
    }
    EXPECT_EQ(n, 9);
  }
  clear();
  (void)child_.fail_at(5, EIO);
  EXPECT_TRUE(exists("new") && !exists("file"));
}

TEST_F(Traced, AShortWriteWritesHalf) {
  const Trace trace = child_.short_at(2);
  EXPECT_EQ(trace.calls[1].result, 5);
  EXPECT_EQ(trace.status, 2);
  EXPECT_EQ(text("new"), "01234");
  EXPECT_EQ(child_.short_at(3).status, 0);  // no write
}

TEST_F(Traced, AShortWriteOfPiecesWritesHalfAndLeavesThemAsTheyWere) {
  const TracedChild child(
      [this] {
        char words[] = "abcdefgh";
        iovec pieces[] = {{words, 0}, {words, 1}, {words + 1, 6}, {words + 7, 1}};
        const int file = ::open(path("file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        const ssize_t written = ::writev(file, pieces, 4);
        return static_cast<int>(written * 10 + static_cast<ssize_t>(pieces[2].iov_len));
      },
      directory_.path());
  EXPECT_EQ(child.trace().status, 86);
  EXPECT_EQ(child.short_at(2).status, 46);
  EXPECT_EQ(text("file"), "abcdefgh");  // of the first run, and the first half again
}

TEST_F(Traced, OnlyCallsInTheDirectoryCount) {
  const TracedChild child([] { return ::close(::open("/dev/null", O_RDONLY | O_CLOEXEC)); },
                          directory_.path());
  EXPECT_TRUE(child.trace().calls.empty());
}

TEST_F(Traced, PathsBeginWhereTheirFolderIs) {
  const TracedChild child(
      [this] {
        const int folder = ::open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return ::mkdirat(folder, "inner", 0755) == 0 && ::chdir(path("inner").c_str()) == 0 &&
                       ::close(::open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) == 0
                   ? 0
                   : 1;
      },
      directory_.path());
  const Trace trace = child.trace();
  ASSERT_EQ(trace.status, 0);
  ASSERT_EQ(trace.calls.size(), 4U) << trace.text();
  EXPECT_EQ(trace.calls[1].file, path("inner"));
  EXPECT_EQ(trace.calls[2].file, path("inner/file"));
  std::filesystem::remove_all(path("inner"));
}

TEST_F(Traced, AChildThatDiesByItselfSaysOfWhat) {
  EXPECT_EQ(TracedChild([]() -> int {
              ::raise(SIGTERM);
              return 0;
            })
                .kill_at(1)
                .status,
            -SIGTERM);
  EXPECT_EQ(TracedChild([] { return 7; }).trace().status, 7);
}

// ------------------------------------------------------------------------------------- a program

TEST_F(Traced, AProgramIsKilledAtTheCallThatWasChosenAfterTheBeginning) {
  for (const bool after : {false, true}) {
    clear();
    TracedProgram program({"bash", "-c", "while :; do echo x >> '" + path("file") + "'; done"},
                          directory_.path());
    while (text("file").empty()) ASSERT_FALSE(program.ends_within(1ms));
    EXPECT_EQ(program.calls(), 0);
    program.begin(after ? Mishap::kill_after(20) : Mishap::kill_at(20));
    EXPECT_TRUE(program.ends_within(10s));
    const Trace& trace = program.end();
    EXPECT_TRUE(trace.reached);
    EXPECT_EQ(trace.status, -SIGKILL);
    ASSERT_EQ(trace.calls.size(), 20U);
    EXPECT_EQ(trace.calls.back().ended, after);
    for (const TracedCall& call : trace.calls) EXPECT_EQ(call.file, path("file"));
  }
}

TEST_F(Traced, AProgramThatEndsByItselfSaysHow) {
  TracedProgram program({"bash", "-c", "exit 3"}, "/");
  EXPECT_TRUE(program.ends_within(10s));
  EXPECT_EQ(program.end().status, 3);
}

TEST_F(Traced, AProgramThatWouldRunForEverEndsWithItsOwner) {
  TracedProgram program({"sleep", "1000"}, "/");
  EXPECT_FALSE(program.ends_within(1ms));
  EXPECT_EQ(program.end().status, -SIGKILL);
}

}  // namespace
}  // namespace retsu
