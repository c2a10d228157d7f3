#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace retsu::bench {

// One program, one run: figures of one table may be compared with each other, not with those of
// another run.
struct Options {
  std::int64_t most_tasks = 10'000'000;
  std::int64_t only_batch = 0;  // of the sizes that a suite measures; 0: all
};

struct Suite {
  std::string_view name;
  std::string_view about;
  void (*run)(const Options&);
};

extern const Suite kEngineSuite;
extern const Suite kBrokerSuite;
extern const Suite kEmbeddedSuite;
extern const Suite kBacklogSuite;
extern const Suite kReadersSuite;
extern const Suite kStoreSuite;
extern const Suite kHttpSuite;
extern const Suite kSpoolSuite;
extern const Suite kLibrarySuite;

// Seconds that `work` takes.
double seconds(const std::function<void()>& work);

// Bytes of the heap in use, by what this thread has made.
std::int64_t heap_bytes();

// A bar of the given share of a full one.
std::string bar(double share, int width = 30);

std::string count(std::int64_t number);  // 10 k, 1 M

}  // namespace retsu::bench
