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

TEST(FindBadTextTest, TheFirstOfAllKinds) {
  EXPECT_FALSE(FindBadText("fine"));
  EXPECT_EQ(FindBadText(std::string("a\0\xff\u202e", 6))->diagnostic.code, Code::kE0112);
  EXPECT_EQ(FindBadText(std::string("a\xff\0\u202e", 6))->diagnostic.code, Code::kE0111);
  EXPECT_EQ(FindBadText(std::string("a\u202e\0\xff", 6))->diagnostic.code, Code::kE0103);
  EXPECT_EQ(FindBadText("a\xff")->diagnostic.message, "the file is not valid UTF-8: byte 0xff at offset 1");
}

TEST(WithoutBadTextTest, EveryBadByteBecomesAQuestionMark) {
  EXPECT_EQ(WithoutBadText(std::string("a\0\xff\u202eü\xe2\x80", 10)), "a?????ü??");
}

}  // namespace
}  // namespace cleave::dsl
