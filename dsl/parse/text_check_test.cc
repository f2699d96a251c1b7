#include "dsl/parse/text_check.h"

#include <gtest/gtest.h>

#include <string>

namespace cleave::dsl {
namespace {

TEST(FindInvalidUtf8Test, WellFormedText) {
  for (const char* text : {"", "plain", "ü", "…", "😀", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "\xee\x80\x80"}) {
    EXPECT_EQ(FindInvalidUtf8(text), std::nullopt) << text;
  }
}

TEST(FindInvalidUtf8Test, IllFormedText) {
  EXPECT_EQ(FindInvalidUtf8("a\x80"), 1u) << "a continuation without its lead";
  EXPECT_EQ(FindInvalidUtf8("\xc0\xaf"), 0u) << "overlong";
  EXPECT_EQ(FindInvalidUtf8("\xe0\x9f\xbf"), 0u) << "overlong";
  EXPECT_EQ(FindInvalidUtf8("\xf0\x8f\xbf\xbf"), 0u) << "overlong";
  EXPECT_EQ(FindInvalidUtf8("\xed\xa0\x80"), 0u) << "a surrogate";
  EXPECT_EQ(FindInvalidUtf8("\xf4\x90\x80\x80"), 0u) << "past U+10FFFF";
  EXPECT_EQ(FindInvalidUtf8("\xf5\x80\x80\x80"), 0u);
  EXPECT_EQ(FindInvalidUtf8("ab\xe2\x80"), 2u) << "cut off";
  EXPECT_EQ(FindInvalidUtf8("\xe2\x80z"), 0u);
  EXPECT_EQ(FindInvalidUtf8("\xff"), 0u);
}

TEST(FindBadByteTest, TheFirstOfBothKinds) {
  EXPECT_FALSE(FindBadByte("fine", 0));
  EXPECT_EQ(FindBadByte(std::string("a\0\xff", 3), 0)->diagnostic.code, Code::kE0112);
  EXPECT_EQ(FindBadByte(std::string("a\xff\0", 3), 0)->diagnostic.code, Code::kE0111);
  EXPECT_EQ(FindBadByte(std::string("a\xff", 2), 3)->diagnostic.message,
            "the file is not valid UTF-8: byte 0xff at offset 4");
}

}  // namespace
}  // namespace cleave::dsl
