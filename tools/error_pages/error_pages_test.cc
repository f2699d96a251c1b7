#include "tools/error_pages/error_pages.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"
#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

TEST(ErrorPagesTest, EveryCodeHasItsPageAndItsLineInTheList) {
  const std::string all = ExplainCode({}).text;
  int codes = 0;
#define CLEAVE_CODE(code, title)                                                \
  {                                                                             \
    const CodeAnswer answer = ExplainCode({#code});                             \
    EXPECT_TRUE(answer.is_answered) << answer.text;                             \
    EXPECT_TRUE(absl::StartsWith(answer.text, "# " #code ": ")) << answer.text; \
    EXPECT_TRUE(absl::StrContains(all, absl::StrCat(#code, ": "))) << all;      \
    ++codes;                                                                    \
  }
#include "base/diagnostic/codes.def"
#undef CLEAVE_CODE
  EXPECT_GT(codes, 50);
}

TEST(ErrorPagesTest, CodesAreFoundInLowerCase) {
  EXPECT_EQ(ExplainCode({"e0304"}).text, ExplainCode({"E0304"}).text);
  EXPECT_EQ(ExplainCode({"w0601"}).text, ExplainCode({"W0601"}).text);
}

TEST(ErrorPagesTest, AnUnknownCodeGetsTheNearest) {
  const CodeAnswer answer = ExplainCode({"E0399"});
  EXPECT_FALSE(answer.is_answered);
  EXPECT_TRUE(absl::StrContains(answer.text, "no code `E0399`, did you mean `E03")) << answer.text;
  EXPECT_FALSE(ExplainCode({"README"}).is_answered);
  EXPECT_FALSE(ExplainCode({""}).is_answered);
}

TEST(ErrorPagesTest, OneCodeAtATime) {
  EXPECT_FALSE(ExplainCode({"E0304", "E0305"}).is_answered);
  EXPECT_FALSE(ExplainCode({"--verbose"}).is_answered);
  EXPECT_TRUE(ExplainCode({"--help"}).is_answered);
}

}  // namespace
}  // namespace cleave::tools
