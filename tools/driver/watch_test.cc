#include "tools/driver/watch.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/testing/graphs.h"

namespace cleave::tools {
namespace {

// The names under which the values are watched.
std::vector<std::string> Watched(const std::vector<std::string>& patterns, std::vector<std::string>& messages) {
  ir::Graph graph = ir::TestMlp();
  Diagnostics diagnostics;
  const bool all_match = WatchValues(patterns, graph, diagnostics);
  EXPECT_EQ(all_match, diagnostics.items().empty());
  std::vector<std::string> names;
  for (const ir::Look& look : graph.looks) {
    EXPECT_EQ(look.kind, ir::LookKind::kWatch);
    names.push_back(look.name);
  }
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    messages.push_back(absl::StrCat(diagnostic.message, "; ", diagnostic.help.empty() ? "" : diagnostic.help[0]));
  }
  return names;
}

TEST(WatchTest, EachValueOnceInProgramOrder) {
  std::vector<std::string> messages;
  const std::vector<std::string> all = Watched({"*"}, messages);
  EXPECT_GT(all.size(), 20u);
  EXPECT_EQ(Watched({"*", "*.grad"}, messages), all);
  EXPECT_EQ(messages, std::vector<std::string>());
  EXPECT_EQ(Watched({}, messages), std::vector<std::string>());
}

TEST(WatchTest, APatternWithoutValues) {
  std::vector<std::string> messages;
  Watched({"*", "nowhere"}, messages);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].substr(0, 34), "no value matches `--watch nowhere`");
}

}  // namespace
}  // namespace cleave::tools
