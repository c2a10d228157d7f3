#include "engine/short_lived.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

namespace retsu::engine {
namespace {

struct Made {
  void* place;
  std::size_t bytes;
  unsigned char mark;
};

Made make(std::size_t bytes, int number) {
  const Made made{take_short_lived(bytes), bytes, static_cast<unsigned char>(number)};
  std::memset(made.place, made.mark, bytes);
  return made;
}

// It is as it was written, so no other had its place.
void drop(const Made& made) {
  const auto* bytes = static_cast<const unsigned char*>(made.place);
  for (std::size_t i = 0; i < made.bytes; ++i) ASSERT_EQ(bytes[i], made.mark);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made.place) % alignof(std::max_align_t), 0U);
  give_back_short_lived(made.place);
}

TEST(ShortLived, NoTwoObjectsHaveTheSamePlace) {
  std::deque<Made> live;
  for (int i = 0; i < 20'000; ++i) {
    live.push_back(make(static_cast<std::size_t>(1 + i * 37 % 400), i));
    // Some stay for long, most go in order.
    if (i % 7 == 0) std::swap(live.front(), live.back());
    if (live.size() > 1'000) {
      drop(live.front());
      live.pop_front();
    }
  }
  for (const Made& made : live) drop(made);
}

TEST(ShortLived, OneThreadMakesThemAndAnotherDropsThem) {
  for (int round = 0; round < 20; ++round) {
    std::vector<Made> all;
    std::thread([&] {
      for (int i = 0; i < 2'000; ++i) all.push_back(make(100, i));
    }).join();  // with its chunk open
    std::thread([&] {
      for (const Made& made : all) drop(made);
    }).join();
  }
}

}  // namespace
}  // namespace retsu::engine
