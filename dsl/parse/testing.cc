#include "dsl/parse/testing.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "dsl/parse/parse.h"

namespace cleave::dsl {

Diagnostics ParseBad(const std::string& text, SourceSet& sources) {
  Diagnostics diagnostics;
  EXPECT_FALSE(Parse(sources.Add("test.model", text), sources, diagnostics).has_value());
  return diagnostics;
}

void CheckErrors(const std::string& text, const std::string& expected) {
  SourceSet sources;
  const Diagnostics diagnostics = ParseBad(text, sources);
  EXPECT_EQ(absl::StrCat("\n", RenderText(diagnostics, sources)), expected);
}

}  // namespace cleave::dsl
