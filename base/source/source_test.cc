#include "base/source/source.h"

#include "gtest/gtest.h"

namespace cleave {
namespace {

TEST(SourceTest, LocatesLinesAndColumnsInCodePoints) {
  const SourceFile file("a.model", "let\n  \xC3\xA4x\n");
  EXPECT_EQ(file.Locate(0), (LineColumn{1, 1}));
  EXPECT_EQ(file.Locate(4), (LineColumn{2, 1}));
  EXPECT_EQ(file.Locate(8), (LineColumn{2, 4}));  // Behind the two bytes of the a with dots.
  EXPECT_EQ(file.Locate(100), (LineColumn{3, 1}));
}

TEST(SourceTest, LinesComeWithoutTheirNewline) {
  const SourceFile file("a.model", "one\ntwo");
  EXPECT_EQ(file.Line(1), "one");
  EXPECT_EQ(file.Line(2), "two");
  EXPECT_EQ(file.Line(3), "");
  EXPECT_EQ(file.line_count(), 2);
}

TEST(SourceTest, RemovesByteOrderMarkAndCarriageReturns) {
  const SourceFile file("a.model", "\xEF\xBB\xBFone\r\ntwo\r\n");
  EXPECT_EQ(file.text(), "one\ntwo\n");
}

TEST(SourceTest, APlaceIsInATextOfOneOriginOrNowhere) {
  SourceSet sources;
  const Span in_file{sources.Add("a.model", "x"), 0, 1};
  const Span in_argument{sources.Add("--set x=1", "x = 1", TextOrigin::kCommandLine), 4, 5};
  EXPECT_TRUE(sources.IsIn(TextOrigin::kFile, in_file));
  EXPECT_FALSE(sources.IsIn(TextOrigin::kFile, in_argument));
  EXPECT_TRUE(sources.IsIn(TextOrigin::kCommandLine, in_argument));
  EXPECT_FALSE(sources.IsIn(TextOrigin::kFile, Span{}));
}

TEST(SourceDeathTest, AFileOfAnotherSetIsAMistakeOfOurs) { EXPECT_DEATH(SourceSet().file(FileId(7)), "no file 7"); }

TEST(SourceTest, CoverSpansBoth) {
  EXPECT_EQ(Cover(Span{FileId(0), 4, 6}, Span{FileId(0), 1, 2}), (Span{FileId(0), 1, 6}));
}

}  // namespace
}  // namespace cleave
