#include "tools/driver/launch.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

TEST(LaunchWayTest, ArgumentsCountMoreThanWhatIsWritten) {
  EXPECT_EQ(LaunchWay("", {}), "");
  EXPECT_EQ(LaunchWay("dynamic", {"--steps", "1"}), "dynamic");
  EXPECT_EQ(LaunchWay("dynamic", {"--launch", "local", "--steps", "1"}), "local");
  EXPECT_EQ(LaunchWay("", {"--launch", "rank-table", "ranks.json"}), "rank-table");
  EXPECT_EQ(LaunchWay("", {"--hosts", "hosts", "--restarts", "2", "--launch", "local"}), "local");
  // Only as its first word does run.sh read it.
  EXPECT_EQ(LaunchWay("", {"--steps", "1", "--launch", "local"}), "");
}

// A machine without MPI.
TEST(LaunchWayTest, NeedsOnlyTheToolsOfThatWay) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "tools";
  std::filesystem::create_directories(folder);
  for (const char* tool : {"make", "g++"}) {
    std::ofstream(folder / tool) << "#!/bin/sh\n";
    chmod((folder / tool).c_str(), 0755);
  }
  const std::string path = std::getenv("PATH");
  setenv("PATH", folder.c_str(), 1);
  const absl::Status by_default = CanBuildAndRun("cpu", LaunchWay("", {}));
  const absl::Status local = CanBuildAndRun("cpu", LaunchWay("", {"--launch", "local"}));
  setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(absl::StrContains(by_default.message(), "`mpicxx` is not installed")) << by_default;
  EXPECT_TRUE(local.ok()) << local;
}

}  // namespace
}  // namespace cleave::tools
