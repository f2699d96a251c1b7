#include "codegen/runtime_files/runtime_files.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace cleave::codegen {
namespace {

std::set<std::string> Paths() {
  std::set<std::string> paths;
  for (const RuntimeFile& file : RuntimeFiles()) paths.insert(std::string(file.path));
  return paths;
}

TEST(RuntimeFiles, AreOrderedAndInTheRuntimeFolder) {
  EXPECT_TRUE(std::is_sorted(RuntimeFiles().begin(), RuntimeFiles().end(),
                             [](const RuntimeFile& a, const RuntimeFile& b) { return a.path < b.path; }));
  EXPECT_EQ(Paths().size(), RuntimeFiles().size());
  for (const RuntimeFile& file : RuntimeFiles()) {
    EXPECT_TRUE(absl::StartsWith(file.path, "runtime/")) << file.path;
    EXPECT_FALSE(file.text.empty()) << file.path;
    EXPECT_FALSE(absl::StrContains(file.path, "_test.")) << file.path;
  }
}

TEST(RuntimeFiles, HoldEveryHeaderThatTheyInclude) {
  const std::set<std::string> paths = Paths();
  EXPECT_EQ(paths.count("runtime/runtime.h"), 1u);
  for (const RuntimeFile& file : RuntimeFiles()) {
    for (const absl::string_view line : absl::StrSplit(file.text, '\n')) {
      if (!absl::StartsWith(line, "#include \"")) continue;
      const std::vector<std::string> parts = absl::StrSplit(line, '"');
      EXPECT_EQ(paths.count(parts[1]), 1u) << file.path << " includes " << parts[1];
    }
  }
}

}  // namespace
}  // namespace cleave::codegen
