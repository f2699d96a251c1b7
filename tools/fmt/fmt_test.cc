#include "tools/fmt/fmt.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kTyped[] = "model  M( ) { input x:f32[2,3]; }\n";
constexpr char kFormatted[] = "model M {\n    input x: f32[2, 3];\n}\n";
constexpr char kBroken[] = "model M( {\n";

struct Outcome {
  ExitCode code;
  std::string out, err;
};

Outcome Fmt(const std::vector<std::string>& words, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  const ExitCode code = RunFmt("cleave fmt", "Formats model files.", words, {in, out, err});
  return {code, out.str(), err.str()};
}

class FmtTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  fs::path folder_ = fs::path(testing::TempDir()) / "fmt test ü";
};

TEST_F(FmtTest, FormatsInPlaceAndKeepsTheMode) {
  const std::string path = Write("a.model", kTyped);
  chmod(path.c_str(), 0640);
  const Outcome outcome = Fmt({path});
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.err;
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_EQ(Read(path), kFormatted);
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(FmtTest, DoesNotTouchWhatIsFormatted) {
  const std::string path = Write("a.model", kFormatted);
  const auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(path, past);
  EXPECT_EQ(Fmt({path}).code, ExitCode::kDone);
  EXPECT_EQ(fs::last_write_time(path), past);
}

TEST_F(FmtTest, ALinkStaysALink) {
  const std::string path = Write("a.model", kTyped);
  fs::create_symlink("a.model", folder_ / "link.model");
  EXPECT_EQ(Fmt({(folder_ / "link.model").string()}).code, ExitCode::kDone);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.model"));
  EXPECT_EQ(Read(path), kFormatted);
}

TEST_F(FmtTest, EndsOfLinesAndAByteOrderMarkAreLayout) {
  const std::string path =
      Write("a.model", absl::StrCat("\xef\xbb\xbf", "model M {\r\n    input x: f32[2, 3];\r\n}\r\n"));
  EXPECT_EQ(Fmt({"--check", path}).code, ExitCode::kDiffers);
  EXPECT_EQ(Fmt({path}).code, ExitCode::kDone);
  EXPECT_EQ(Read(path), kFormatted);
}

TEST_F(FmtTest, CheckNamesWhatWouldChangeAndWritesNothing) {
  const std::string typed = Write("typed.model", kTyped);
  const std::string formatted = Write("formatted.model", kFormatted);
  const Outcome outcome = Fmt({"--check", formatted, typed});
  EXPECT_EQ(outcome.code, ExitCode::kDiffers);
  EXPECT_EQ(outcome.out, absl::StrCat("would change ", typed, "\n--- ", typed, "\n+++ ", typed,
                                      " (formatted)\n@@ -1 +1,3 @@\n-model  M( ) { input x:f32[2,3]; }\n+model M {\n"
                                      "+    input x: f32[2, 3];\n+}\n"));
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(Read(typed), kTyped);
  EXPECT_EQ(Fmt({"--check", formatted}).code, ExitCode::kDone);
}

TEST_F(FmtTest, StandardInputGoesToStandardOutput) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, std::vector<std::string>{"-"}}) {
    const Outcome outcome = Fmt(words, kTyped);
    EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.err;
    EXPECT_EQ(outcome.out, kFormatted);
  }
  EXPECT_EQ(Fmt({"--check"}, kTyped).code, ExitCode::kDiffers);
  EXPECT_EQ(Fmt({"--check"}, kFormatted).code, ExitCode::kDone);
  const Outcome broken = Fmt({"-"}, kBroken);
  EXPECT_EQ(broken.code, ExitCode::kModelWrong);
  EXPECT_EQ(broken.out, "");
  EXPECT_TRUE(absl::StrContains(broken.err, "standard input:")) << broken.err;
  EXPECT_TRUE(
      absl::StrContains(Fmt({}, std::string((16 << 20) + 1, ' ')).err, "error[E0113]: `standard input` has more"));
}

TEST_F(FmtTest, AMistakeLeavesItsFileAndFormatsTheOthers) {
  const std::string broken = Write("broken.model", kBroken);
  const std::string typed = Write("typed.model", kTyped);
  const Outcome outcome = Fmt({broken, (folder_ / "nowhere.model").string(), typed});
  EXPECT_EQ(outcome.code, ExitCode::kModelWrong);
  EXPECT_TRUE(absl::StrContains(outcome.err, "broken.model:")) << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.err, "error[E0114]")) << outcome.err;
  EXPECT_EQ(Read(broken), kBroken);
  EXPECT_EQ(Read(typed), kFormatted);
  EXPECT_TRUE(absl::StartsWith(Fmt({"--error-format", "json", broken}).err, "{\"severity\":\"error\""));
}

TEST_F(FmtTest, AFileThatCannotBeWrittenStays) {
  if (geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
  const std::string path = Write("a.model", kTyped);
  chmod(path.c_str(), 0400);
  const Outcome outcome = Fmt({path});
  EXPECT_EQ(outcome.code, ExitCode::kEnvironment);
  EXPECT_TRUE(absl::StrContains(outcome.err, "error[E0602]: cannot write `")) << outcome.err;
  EXPECT_EQ(Read(path), kTyped);
}

TEST_F(FmtTest, Usage) {
  EXPECT_EQ(Fmt({"--chekc"}).err,
            "error: unexpected `--chekc`; did you mean `--check`?\nhelp: `--help` lists the options\n");
  EXPECT_EQ(Fmt({"--chekc"}).code, ExitCode::kUsage);
  EXPECT_EQ(Fmt({"--help"}).code, ExitCode::kDone);
}

}  // namespace
}  // namespace cleave::tools
