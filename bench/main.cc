#include <fmt/format.h>
#ifdef RETSU_MIMALLOC
#include <mimalloc.h>
#else
#include <malloc.h>
#endif

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/sqlite.h"
#include "bench.h"

namespace retsu::bench {

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::int64_t heap_bytes() {
#ifdef RETSU_MIMALLOC
  std::int64_t bytes = 0;
  const auto add = [](const mi_heap_t*, const mi_heap_area_t* area, void*, std::size_t, void* sum) {
    *static_cast<std::int64_t*>(sum) +=
        static_cast<std::int64_t>(area->used * area->full_block_size);
    return true;
  };
  mi_heap_visit_blocks(mi_heap_get_default(), false, add, &bytes);
  return bytes;
#else
  const auto info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
#endif
}

std::string bar(double share, int width) {
  const int full = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width));
  std::string text;
  for (int i = 0; i < full; ++i) text += "█";
  return text;
}

std::string count(std::int64_t number) {
  if (number % 1'000'000 == 0) return fmt::format("{} M", number / 1'000'000);
  if (number % 1'000 == 0) return fmt::format("{} k", number / 1'000);
  return std::to_string(number);
}

namespace {

constexpr const Suite* kSuites[] = {&kEngineSuite,  &kBrokerSuite,  &kEmbeddedSuite,
                                    &kBacklogSuite, &kReadersSuite, &kStoreSuite,
                                    &kHttpSuite,    &kSpoolSuite,   &kLibrarySuite};

int usage() {
  fmt::print("usage: ./dev bench [SUITE…] [--tasks N] [--batch N]\n\n");
  for (const Suite* suite : kSuites) fmt::print("  {:<10} {}\n", suite->name, suite->about);
  fmt::print("\n  --tasks N  the largest backlog, or lifecycles, 10,000,000 if not said\n");
  fmt::print(
      "  --batch N  batches of this size alone, without the rest of a suite: 1, 10, 100, 1000\n");
  return 2;
}

}  // namespace
}  // namespace retsu::bench

int main(int argc, char** argv) {
  using namespace retsu::bench;
  retsu::sqlite::count_no_memory();  // as the program does that users run
  Options options;
  std::vector<const Suite*> chosen;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if ((word == "--tasks" || word == "--batch") && i + 1 < argc) {
      std::int64_t& option = word == "--tasks" ? options.most_tasks : options.only_batch;
      const char* number = argv[++i];
      const auto [end, failure] = std::from_chars(number, number + std::strlen(number), option);
      if (failure != std::errc() || *end != 0 || option < 1) return usage();
      continue;
    }
    const auto* found =
        std::ranges::find(kSuites, word, [](const Suite* suite) { return suite->name; });
    if (found == std::end(kSuites)) return usage();
    chosen.push_back(*found);
  }
  if (chosen.empty()) chosen.assign(std::begin(kSuites), std::end(kSuites));
  for (const Suite* suite : chosen) {
    fmt::print("\n== {}: {}\n\n", suite->name, suite->about);
    std::fflush(stdout);
    suite->run(options);
  }
}
