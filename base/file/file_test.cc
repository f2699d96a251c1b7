#include "base/file/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace cleave {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + name) << text;
    return folder_ + name;
  }

  static absl::Status StatusOf(const std::string& path, Pipes pipes = Pipes::kRefused) {
    return ReadFile(path, {.what = "plan file", .most_bytes = 8, .pipes = pipes}).status();
  }

  const std::string folder_ = testing::TempDir() + "/file_test/";
};

TEST_F(FileTest, ReadsUpToTheLimit) {
  const std::string path = Write("a", "12345678");
  EXPECT_EQ(*ReadFile(path, {.what = "plan file", .most_bytes = 8}), "12345678");
  EXPECT_EQ(*ReadFile(Write("empty", ""), {.what = "plan file", .most_bytes = 8}), "");
  Write("a", "123456789");
  EXPECT_EQ(StatusOf(path), absl::ResourceExhaustedError("`" + path + "` has 9 bytes; a plan file has at most 8"));
}

TEST_F(FileTest, ReadsNothingOfASparseFile) {
  const std::string path = Write("sparse", "");
  ASSERT_EQ(truncate(path.c_str(), int64_t{1} << 40), 0);
  EXPECT_EQ(StatusOf(path).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(FileTest, SaysWhatAFileIsInstead) {
  EXPECT_EQ(StatusOf("/dev/zero"), absl::FailedPreconditionError("`/dev/zero` is a device, not a plan file"));
  EXPECT_EQ(StatusOf(folder_).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(StatusOf(folder_ + "absent"),
            absl::NotFoundError("cannot read `" + folder_ + "absent`: no such file or directory"));
  ASSERT_EQ(symlink("loop", (folder_ + "loop").c_str()), 0);
  EXPECT_EQ(StatusOf(folder_ + "loop").code(), absl::StatusCode::kUnavailable);
}

TEST_F(FileTest, EscapesWhatATerminalWouldActOn) { EXPECT_EQ(QuotedPath("a\x1b[31m"), "`a\\x1b[31m`"); }

TEST_F(FileTest, ReadsAPipeWhereItIsAllowed) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_EQ(StatusOf(path), absl::FailedPreconditionError("`" + path + "` is a pipe, not a plan file"));
  ASSERT_EQ(write(ends[1], "1234", 4), 4);
  close(ends[1]);
  EXPECT_EQ(*ReadFile(path, {.what = "plan file", .most_bytes = 8, .pipes = Pipes::kRead}), "1234");
  close(ends[0]);
}

TEST_F(FileTest, StopsAPipeWithoutEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "123456789", 9), 9);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_EQ(StatusOf(path, Pipes::kRead),
            absl::ResourceExhaustedError("`" + path + "` has more than 8 bytes; a plan file has at most 8"));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(FileTest, DoesNotWaitForAPipeThatNobodyWritesTo) {
  const std::string path = folder_ + "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(*ReadFile(path, {.what = "plan file", .most_bytes = 8, .pipes = Pipes::kRead}), "");
}

}  // namespace
}  // namespace cleave
