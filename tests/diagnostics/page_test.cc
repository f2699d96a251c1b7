#include "tests/diagnostics/page.h"

#include "gtest/gtest.h"

namespace cleave::tests::diagnostics {
namespace {

Code AnyCode() { return AllCodes().front(); }

CaseFolder AnyCase() {
  return {.name = "E0101_case",
          .code = "E0101",
          .bad = {.model = "bad\n"},
          .good = {.model = "good\n"},
          .expected = "error[E0101]: m\n"};
}

std::string AnyPage() { return WithExamples(PageTitle(AnyCode()) + "\n\nIt means this.\n", AnyCase()); }

TEST(PageTest, ExamplesComeFromTheCase) {
  EXPECT_EQ(WithExamples("# T\n\nWords.\n\n## An example that fails\n\nold\n", AnyCase()),
            "# T\n\nWords.\n\n## An example that fails\n\n```rust\nbad\n```\n\nThe compiler says:\n\n"
            "```text\nerror[E0101]: m\n```\n\n## The same, repaired\n\n```rust\ngood\n```\n");
}

TEST(PageTest, ScriptsAreShownAndBytesAreNot) {
  CaseFolder folder = AnyCase();
  folder.bad = {.model = "\x01", .script = "compile bad.model --out thesis\n"};
  const std::string page = WithExamples("# T\n", folder);
  EXPECT_NE(page.find("```sh\ncompile bad.model --out thesis\n```\n\nThe model is not text"), std::string::npos)
      << page;
  EXPECT_EQ(page.find('\x01'), std::string::npos);
}

TEST(PageTest, WritingExamplesTwiceChangesNothing) { EXPECT_EQ(WithExamples(AnyPage(), AnyCase()), AnyPage()); }

TEST(PageTest, EachFaultIsFound) {
  EXPECT_TRUE(PageFaults(AnyCode(), AnyPage(), AnyCase()).empty());
  EXPECT_EQ(PageFaults(AnyCode(), WithExamples("# E0101: other\n\nWords.\n", AnyCase()), AnyCase()).size(), 1u);
  EXPECT_EQ(PageFaults(AnyCode(), WithExamples(PageTitle(AnyCode()) + "\n", AnyCase()), AnyCase()).size(), 1u);
  CaseFolder changed = AnyCase();
  changed.expected = "error[E0101]: another\n";
  EXPECT_EQ(PageFaults(AnyCode(), AnyPage(), changed).size(), 1u);
}

}  // namespace
}  // namespace cleave::tests::diagnostics
