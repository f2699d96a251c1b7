#include "tests/diagnostics/page.h"

#include "gtest/gtest.h"

namespace cleave::diagnostics {
namespace {

Code AnyCode() { return AllCodes().front(); }

CaseFolder AnyCase() {
  return {.name = "E0101_case", .code = "E0101", .bad = "bad\n", .good = "good\n", .expected = "error[E0101]: m\n"};
}

std::string AnyPage() { return WithExamples(PageTitle(AnyCode()) + "\n\nIt means this.\n", AnyCase()); }

TEST(PageTest, ExamplesComeFromTheCase) {
  EXPECT_EQ(WithExamples("# T\n\nWords.\n\n## An example that fails\n\nold\n", AnyCase()),
            "# T\n\nWords.\n\n## An example that fails\n\n```rust\nbad\n```\n\n`compile bad.model` prints:\n\n"
            "```text\nerror[E0101]: m\n```\n\n## The same, repaired\n\n```rust\ngood\n```\n");
}

TEST(PageTest, ArgumentsAndPreparationsAreShown) {
  CaseFolder folder = AnyCase();
  folder.bad = "\x01";
  folder.prepare = "mkfifo bad.model\n";
  folder.arguments = {"--devices", "8"};
  const std::string page = WithExamples("# T\n", folder);
  EXPECT_NE(page.find("```sh\nmkfifo bad.model\n```"), std::string::npos) << page;
  EXPECT_NE(page.find("`compile bad.model --devices 8` prints:"), std::string::npos) << page;
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
}  // namespace cleave::diagnostics
