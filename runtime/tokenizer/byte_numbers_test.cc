#include "runtime/tokenizer/byte_numbers.h"

#include <gtest/gtest.h>

namespace cleave::runtime {
namespace {

std::vector<uint8_t> Text(const std::string& text) { return {text.begin(), text.end()}; }

TEST(ByteNumbers, BytesStayAsTheyAreWhereThereIsRoom) {
  const ByteNumbers numbers = ByteNumbers::Of(Text("cab"), 100, "file").value();
  EXPECT_FALSE(numbers.are_numbered());
  EXPECT_EQ(numbers.size(), 100);
  EXPECT_EQ(numbers.TokenOf('b'), 'b');
  EXPECT_EQ(numbers.TokenOf('Z'), 'Z');
  EXPECT_EQ(numbers.TokenOf('d'), std::nullopt) << "100";
  EXPECT_EQ(numbers.ByteOf('c'), 'c');
  for (const int64_t limit : {0, 256, 1000}) {
    EXPECT_EQ(ByteNumbers::Of(Text("\xFF"), limit, "file").value().size(), 256);
  }
}

TEST(ByteNumbers, DistinctBytesAreNumberedInByteOrder) {
  for (const int64_t limit : {4, 98, 254}) {
    const ByteNumbers numbers = ByteNumbers::Of(Text("cab \xFF"
                                                     "cab"),
                                                limit + 1, "file")
                                    .value();
    EXPECT_TRUE(numbers.are_numbered());
    EXPECT_EQ(numbers.size(), 5);
    EXPECT_EQ(numbers.TokenOf(' '), 0);
    EXPECT_EQ(numbers.TokenOf('a'), 1);
    EXPECT_EQ(numbers.TokenOf('c'), 3);
    EXPECT_EQ(numbers.TokenOf(0xFF), 4);
    EXPECT_EQ(numbers.TokenOf('d'), std::nullopt);
    EXPECT_EQ(numbers.ByteOf(4), 0xFF);
  }
}

TEST(ByteNumbers, MoreBytesThanTheModelKnows) {
  EXPECT_EQ(
      ByteNumbers::Of(Text("\1cab"), 3, "file").error().message,
      "byte 99 at offset 1 of `file` is out of range: the model's vocabulary has 3 symbols, and the file 4 distinct "
      "bytes, too many to number them");
}

}  // namespace
}  // namespace cleave::runtime
