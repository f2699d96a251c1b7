#include "tools/driver/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/source/source.h"
#include "dsl/parse/parse.h"

namespace cleave::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// The slots of a model whose tokens have this first dimension, and what is overridden behind TakeSlots.
std::pair<int64_t, Overrides> SlotsOf(const std::string& dimension, Overrides overrides) {
  SourceSet sources;
  Diagnostics diagnostics;
  const FileId file = sources.Add(
      "m.model", absl::StrCat("record Sizes { batch: int = 8; }\nmodel M(batch: int = 8, sizes: Sizes = Sizes()) {\n"
                              "    input tokens: i32[",
                              dimension, ", 12];\n}\n"));
  const auto parsed = dsl::Parse(file, sources, diagnostics);
  EXPECT_TRUE(parsed.has_value()) << RenderText(diagnostics, sources);
  const int64_t slots = TakeSlots(*parsed, overrides);
  return {slots, overrides};
}

TEST(TakeSlots, FindsTheArgumentOrTheFieldOfOne) {
  EXPECT_THAT(SlotsOf("batch", {}), Pair(1, ElementsAre(Pair("batch", "1"))));
  EXPECT_THAT(SlotsOf("batch", {{"batch", "4"}}), Pair(4, ElementsAre(Pair("batch", "4"), Pair("batch", "1"))));
  EXPECT_THAT(SlotsOf("sizes.batch", {}), Pair(1, ElementsAre(Pair("sizes.batch", "1"))));
  EXPECT_THAT(SlotsOf("sizes.batch", {{"sizes.batch", "3"}}),
              Pair(3, ElementsAre(Pair("sizes.batch", "3"), Pair("sizes.batch", "1"))));
  EXPECT_THAT(SlotsOf("2 * batch", {}), Pair(1, ElementsAre()));
}

}  // namespace
}  // namespace cleave::tools
