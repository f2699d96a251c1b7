#include "tools/text_template/text_template.h"

#include <string>

#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

std::string Filled(absl::string_view text, const TemplateValues& values) {
  const absl::StatusOr<std::string> filled = FillTemplate(text, values);
  return filled.ok() ? *filled : std::string(filled.status().message());
}

TEST(TextTemplate, Gaps) {
  EXPECT_EQ(Filled("a ${x} b ${y}${x}\n", {{"x", "1"}, {"y", ""}}), "a 1 b 1\n");
  EXPECT_EQ(Filled("a $x } {\n", {}), "a $x } {\n");
  EXPECT_EQ(Filled("a\n${x}\n", {}), "line 2 of a template asks for `x`, which has no value");
  EXPECT_EQ(Filled("${x\n", {{"x", "1"}}), "line 1 of a template has `${` without `}`");
}

TEST(TextTemplate, Parts) {
  const std::string text = "a\n%if x\nb\n%if not y\nc\n%end\n%else\nd\n%end\ne\n";
  EXPECT_EQ(Filled(text, {{"x", "true"}}), "a\nb\nc\ne\n");
  EXPECT_EQ(Filled(text, {{"x", "4"}, {"y", "silu"}}), "a\nb\ne\n");
  EXPECT_EQ(Filled(text, {{"x", "false"}}), "a\nd\ne\n");
  EXPECT_EQ(Filled(text, {{"x", ""}}), "a\nd\ne\n");
  EXPECT_EQ(Filled("%if x\n${y}\n%end\n", {}), "") << "gaps of what is left out need no values";
}

TEST(TextTemplate, PartsThatDoNotFit) {
  EXPECT_EQ(Filled("%if x\n", {}), "line 1 of a template is the last, and a part has no `%end`");
  EXPECT_EQ(Filled("%end\n", {}), "line 1 of a template is `%end`");
  EXPECT_EQ(Filled("%if x\n%else\n%else\n%end\n", {}), "line 3 of a template is `%else`");
  EXPECT_EQ(Filled("%while x\n", {}), "line 1 of a template is `%while x`");
}

}  // namespace
}  // namespace cleave::tools
