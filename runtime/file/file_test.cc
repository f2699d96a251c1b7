#include "runtime/file/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

namespace cleave::runtime {
namespace {

std::string PathOf(const std::string& name) { return testing::TempDir() + name; }

// Why a file cannot be read; empty if it can.
std::string Mistake(const std::string& path, int64_t most_bytes) {
  const Result<std::vector<uint8_t>> content = ReadFile(path, most_bytes);
  if (content.ok()) return "";
  EXPECT_EQ(content.error().code, ExitCode::kInput);
  const std::string begin = "cannot read `" + path + "`: ";
  EXPECT_EQ(content.error().message.substr(0, begin.size()), begin);
  return content.error().message.substr(begin.size());
}

TEST(ReadFile, ReadsUpToTheLimit) {
  const std::string path = PathOf("some");
  std::ofstream(path) << "1234";
  EXPECT_EQ(ReadFile(path, 4).value(), (std::vector<uint8_t>{'1', '2', '3', '4'}));
  EXPECT_EQ(ReadFile(path).value().size(), 4u);
  EXPECT_EQ(Mistake(path, 3), "it has 4 bytes, and at most 3 are read");
}

TEST(ReadFile, AFileBeyondTheMemoryIsRefusedBeforeItIsRead) {
  const std::string path = PathOf("sparse");
  std::ofstream(path).close();
  ASSERT_EQ(truncate(path.c_str(), int64_t{1} << 42), 0);
  EXPECT_NE(Mistake(path, INT64_MAX).find("fit into the memory of this machine"), std::string::npos);
}

TEST(File, SaysWhenItBecameShorter) {
  const std::string path = PathOf("shrinking");
  std::ofstream(path) << "1234";
  const Result<File> file = File::Open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(truncate(path.c_str(), 3), 0);
  char bytes[4];
  EXPECT_FALSE(file.value().Read(1, 2, bytes).has_value());
  EXPECT_EQ(file.value().Read(0, 4, bytes)->message,
            "`" + path + "` became shorter while it was read: 1 bytes are missing at offset 3");
}

TEST(ReadFile, OnlyRegularFilesAreRead) {
  EXPECT_EQ(Mistake("/dev/zero", 4), "it is a device or a pipe, not a file");
  EXPECT_EQ(Mistake(testing::TempDir(), 4), "it is a directory, not a file");
  EXPECT_EQ(Mistake(PathOf("absent"), 4), "No such file or directory");
  const std::string pipe = PathOf("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Mistake(pipe, 4), "it is a device or a pipe, not a file");
  unlink(pipe.c_str());
}

}  // namespace
}  // namespace cleave::runtime
