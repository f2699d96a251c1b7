#include "tools/doctor/doctor.h"

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  ExitCode code;
  std::string out;
};

Outcome Doctor(const std::vector<std::string>& words = {}) {
  testing::internal::CaptureStdout();
  const ExitCode code = RunDoctor("cleave doctor", "Looks.", words);
  return {code, testing::internal::GetCapturedStdout()};
}

TEST(Doctor, FindsWhatTestsOfProgramsNeed) {
  const Outcome outcome = Doctor();
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.out;
  EXPECT_TRUE(absl::StrContains(outcome.out, "Programs for CPUs can be built here")) << outcome.out;
  EXPECT_FALSE(absl::StrContains(outcome.out, "missing")) << outcome.out;
}

// On a PATH with nothing but what the script itself calls.
TEST(Doctor, SaysWhatIsMissingAndHowToInstallIt) {
  const fs::path folder = fs::path(testing::TempDir()) / "doctor_path";
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const char* const tool : {"sh", "mktemp", "rm", "head", "awk", "df", "nproc", "sed"}) {
    for (const char* const where : {"/usr/bin/", "/bin/"}) {
      if (fs::exists(where + std::string(tool)) && !fs::exists(folder / tool)) {
        fs::create_symlink(where + std::string(tool), folder / tool);
      }
    }
  }
  const std::string before = getenv("PATH");
  setenv("PATH", folder.c_str(), 1);
  const Outcome outcome = Doctor();
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(outcome.code, ExitCode::kEnvironment) << outcome.out;
  EXPECT_TRUE(absl::StrContains(outcome.out, "cannot be built here, without: compiler, make, oneDNN.")) << outcome.out;
  EXPECT_TRUE(absl::StrContains(outcome.out, "what Debian calls g++ make libdnnl-dev ")) << outcome.out;
}

TEST(Doctor, RefusesOtherTargets) { EXPECT_EQ(Doctor({"--target", "tpu"}).code, ExitCode::kUsage); }

}  // namespace
}  // namespace cleave::tools
