#include "runtime/tokenizer/bpe/nfc.h"

#include <gtest/gtest.h>

namespace cleave::runtime {
namespace {

TEST(ComposedText, JoinsLettersAndMarks) {
  EXPECT_EQ(ComposedText(""), "");
  EXPECT_EQ(ComposedText("plain \u00e9 text\n"), "plain \u00e9 text\n");
  EXPECT_EQ(ComposedText("cafe\u0301"), "caf\u00e9");
  EXPECT_EQ(ComposedText("\u0301a"), "\u0301a") << "a mark without a letter";
  EXPECT_EQ(ComposedText("a\u0323\u0302"), "\u1ead");
  EXPECT_EQ(ComposedText("a\u0302\u0323"), "\u1ead") << "marks are put into order";
  EXPECT_EQ(ComposedText("a\u0301\u0301"), "\u00e1\u0301") << "the second is behind one of its class";
  EXPECT_EQ(ComposedText("\u1e9b\u0323"), "\u1e9b\u0323");
  EXPECT_EQ(ComposedText("\u212b\u2126"), "\u00c5\u03a9") << "other names of the same";
  EXPECT_EQ(ComposedText("\u0958\u0344"), "\u0915\u093c\u0308\u0301") << "these are never composed";
  EXPECT_EQ(ComposedText("\u09c7\u09be"), "\u09cb") << "two vowel signs that are no marks";
}

TEST(ComposedText, JoinsHangul) {
  EXPECT_EQ(ComposedText("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(ComposedText("\uac00\u11a8"), "\uac01");
  EXPECT_EQ(ComposedText("\uac01\u11a8"), "\uac01\u11a8");
  EXPECT_EQ(ComposedText("\uac00\u11a7"), "\uac00\u11a7");
  EXPECT_EQ(ComposedText("\uc548\ub155"), "\uc548\ub155");
}

}  // namespace
}  // namespace cleave::runtime
