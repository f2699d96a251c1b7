#include "tools/fmt/replace_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

std::string TextOf(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ReplaceFileTest, AFileThatSomebodyHasSavedMeanwhileStays) {
  const fs::path folder = fs::path(testing::TempDir()) / "replace_file";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const fs::path path = folder / "a.model";
  std::ofstream(path) << "before";
  EXPECT_TRUE(ReplaceFile(path.string(), "before", "after").ok());
  EXPECT_EQ(TextOf(path), "after");
  for (const std::string saved : {"saved by an editor", "befor", ""}) {
    std::ofstream(path) << saved;
    const absl::Status replaced = ReplaceFile(path.string(), "before", "after");
    EXPECT_EQ(replaced.code(), absl::StatusCode::kAborted);
    EXPECT_EQ(replaced.message(), "`" + path.string() + "` has changed while it was formatted");
    EXPECT_EQ(TextOf(path), saved);
  }
  fs::remove(path);
  EXPECT_FALSE(ReplaceFile(path.string(), "before", "after").ok());
  EXPECT_TRUE(fs::is_empty(folder));
}

}  // namespace
}  // namespace cleave::tools
