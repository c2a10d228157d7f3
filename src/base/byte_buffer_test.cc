#include "base/byte_buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace retsu {
namespace {

TEST(ByteBuffer, HasWhatWasWrittenHoweverMuch) {
  ByteBuffer buffer;
  std::string expected;
  for (std::size_t size = 0; size < 300; ++size) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    buffer.append(piece);
    expected += piece;
  }
  EXPECT_EQ(buffer.view(), expected);
}

TEST(ByteBuffer, HasOfItsRoomWhatWasWritten) {
  ByteBuffer buffer;
  buffer.append("ab");
  std::memcpy(buffer.room(1'000), "cd", 2);
  buffer.wrote(2);
  buffer.append("");
  EXPECT_EQ(buffer.view(), "abcd");
  EXPECT_EQ(buffer.size(), 4U);
}

TEST(ByteBuffer, KeepsItsMemoryWhenItIsCleared) {
  ByteBuffer buffer;
  EXPECT_EQ(buffer.view(), "");
  buffer.append(std::string(1'000, 'x'));
  const char* const memory = buffer.data();
  buffer.clear();
  EXPECT_EQ(buffer.view(), "");
  buffer.append("y");
  EXPECT_EQ(buffer.data(), memory);
  EXPECT_EQ(buffer.view(), "y");
}

}  // namespace
}  // namespace retsu
