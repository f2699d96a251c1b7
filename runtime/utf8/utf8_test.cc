#include "runtime/utf8/utf8.h"

#include <gtest/gtest.h>

namespace cleave::runtime {
namespace {

TEST(Utf8, EveryCharacterIsReadAsItWasWritten) {
  std::string text;
  for (uint32_t point = 0; point <= 0x10FFFF; ++point) {
    if (point < 0xD800 || point >= 0xE000) AppendUtf8(point, text);
  }
  EXPECT_EQ(text.size(), 0x80u + 2 * (0x800 - 0x80) + 3 * (0x10000 - 0x800 - 0x800) + 4 * 0x100000u);
  EXPECT_FALSE(FindInvalidUtf8(text).has_value());
  size_t at = 0;
  for (uint32_t point = 0; point <= 0x10FFFF; ++point) {
    if (point >= 0xD800 && point < 0xE000) continue;
    ASSERT_EQ(ReadUtf8(text, at), point);
  }
  EXPECT_EQ(at, text.size());
}

TEST(Utf8, WhatIsNoCharacterIsFound) {
  for (const char* bad : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x80\x80", "\xE0\x9F\xBF",
                          "\xE2\x82", "\xE2(\xA1", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x80\x80\x80",
                          "\xF0\x8F\xBF\xBF", "\xF0\x9F\x98", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(FindInvalidUtf8(bad), 0u) << testing::PrintToString(bad);
    EXPECT_EQ(FindInvalidUtf8(std::string("a\xC3\xA4") + bad), 3u) << testing::PrintToString(bad);
    EXPECT_EQ(FindInvalidUtf8(std::string(bad) + "abcd"), 0u) << testing::PrintToString(bad);
  }
  EXPECT_FALSE(FindInvalidUtf8("").has_value());
  EXPECT_FALSE(FindInvalidUtf8(std::string(3, '\0')).has_value());
}

}  // namespace
}  // namespace cleave::runtime
