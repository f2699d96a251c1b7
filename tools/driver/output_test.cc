#include "tools/driver/output.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

class OutputTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }

  std::string Folder() const { return (root_ / "out").string(); }
  std::string Read(const std::string& path) const {
    std::ifstream in(root_ / "out" / path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  int EntriesBeside() const {
    int entries = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(root_)) ++entries;
    return entries;
  }

  fs::path root_ = fs::path(testing::TempDir()) / "output_test";
};

TEST_F(OutputTest, WritesFilesAndFoldersAndLeavesNothingBeside) {
  ASSERT_TRUE(WriteOutput(Folder(), {{"run.sh", "#!/bin/sh\n", true}, {"rank_0/graph.ir", "graph"}}).ok());
  EXPECT_EQ(Read("rank_0/graph.ir"), "graph");
  EXPECT_NE(fs::status(root_ / "out/run.sh").permissions() & fs::perms::owner_exec, fs::perms::none);
  EXPECT_EQ(EntriesBeside(), 1);
}

TEST_F(OutputTest, KeepsTheTimeOfWhatHasNotChanged) {
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}, {"b", "1"}}).ok());
  const auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(root_ / "out/a", past);
  fs::last_write_time(root_ / "out/b", past);
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}, {"b", "2"}}).ok());
  EXPECT_EQ(fs::last_write_time(root_ / "out/a"), past);
  EXPECT_NE(fs::last_write_time(root_ / "out/b"), past);
}

TEST_F(OutputTest, RemovesWhatAnEarlierCompileLeftAndNothingElse) {
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}, {"rank_1/graph.ir", "1"}}).ok());
  Write("out/metrics.jsonl", "mine");
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}}).ok());
  EXPECT_FALSE(fs::exists(root_ / "out/rank_1"));
  EXPECT_EQ(Read("metrics.jsonl"), "mine");
}

TEST_F(OutputTest, RefusesAFolderThatIsNotOurs) {
  Write("out/thesis.tex", "years");
  EXPECT_EQ(CheckOutputFolder(Folder()).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(WriteOutput(Folder(), {{"a", "1"}}).ok());
  EXPECT_FALSE(fs::exists(root_ / "out/a"));
}

TEST_F(OutputTest, TakesAnEmptyFolder) {
  fs::create_directories(Folder());
  EXPECT_TRUE(WriteOutput(Folder(), {{"a", "1"}}).ok());
}

TEST_F(OutputTest, SaysWhatCouldNotBeWritten) {
  Write("file", "no folder");
  const absl::Status status = WriteOutput((root_ / "file/out").string(), {{"a", "1"}});
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find("file"), std::string::npos) << status;
}

TEST_F(OutputTest, AnEditedManifestCannotReachOutside) {
  Write("precious", "mine");
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}}).ok());
  Write("out/.cleave_files", "../precious\n" + (root_ / "precious").string() + "\na\n");
  ASSERT_TRUE(WriteOutput(Folder(), {{"b", "1"}}).ok());
  EXPECT_TRUE(fs::exists(root_ / "precious"));
  EXPECT_FALSE(fs::exists(root_ / "out/a"));
}

}  // namespace
}  // namespace cleave::tools
