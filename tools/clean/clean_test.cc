#include "tools/clean/clean.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  ExitCode code;
  std::string out, err;
};

Outcome Clean(const std::vector<std::string>& words = {}) {
  std::ostringstream out, err;
  const ExitCode code = RunClean("cleave clean", "Removes the cache.", words, out, err);
  return {code, out.str(), err.str()};
}

class CleanTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
    setenv("HOME", root_.c_str(), 1);
    unsetenv("XDG_CACHE_HOME");
  }
  void Write(const std::string& path, size_t bytes) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << std::string(bytes, 'x');
  }
  fs::path root_ = fs::path(testing::TempDir()) / "clean_test";
  fs::path cache_ = root_ / ".cache/cleave/runtime";
};

TEST_F(CleanTest, SaysWhatItRemoves) {
  Write(".cache/cleave/runtime/key_1/libruntime.a", 1000);
  Write(".cache/cleave/runtime/key_1/deep/er.o", 234);
  Write(".cache/cleave/runtime/key_2/libruntime.a", 1);
  Write(".cache/cleave/packages_present", 7);
  const Outcome outcome = Clean();
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.err;
  EXPECT_EQ(outcome.out, absl::StrCat("removed 3 files, 1,235 bytes, from ", cache_.string(), "\n"));
  EXPECT_FALSE(fs::exists(cache_));
  EXPECT_TRUE(fs::exists(root_ / ".cache/cleave/packages_present"));
}

TEST_F(CleanTest, DoesNothingWhereThereIsNoCache) {
  const Outcome outcome = Clean();
  EXPECT_EQ(outcome.code, ExitCode::kDone);
  EXPECT_EQ(outcome.out, absl::StrCat("there is no cache at ", cache_.string(), "\n"));
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(CleanTest, XdgCacheHomeNamesThePlaceIfItIsAbsolute) {
  Write("elsewhere/cleave/runtime/key/a", 5);
  Write(".cache/cleave/runtime/key/a", 6);
  setenv("XDG_CACHE_HOME", (root_ / "elsewhere").c_str(), 1);
  EXPECT_EQ(Clean().code, ExitCode::kDone);
  EXPECT_FALSE(fs::exists(root_ / "elsewhere/cleave/runtime"));
  EXPECT_TRUE(fs::exists(cache_ / "key/a"));
  setenv("XDG_CACHE_HOME", "elsewhere", 1);
  EXPECT_EQ(Clean().code, ExitCode::kDone);
  EXPECT_FALSE(fs::exists(cache_));
}

TEST_F(CleanTest, LinksAreRemovedNotFollowed) {
  Write("thesis/years.tex", 9);
  fs::create_directories(cache_ / "key");
  fs::create_directory_symlink(root_ / "thesis", cache_ / "link");
  fs::create_directory_symlink(root_ / "thesis", cache_ / "key/link");
  fs::create_symlink(root_ / "thesis/years.tex", cache_ / "key/file");
  const Outcome outcome = Clean();
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.err;
  EXPECT_EQ(outcome.out, absl::StrCat("removed 3 files, 0 bytes, from ", cache_.string(), "\n"));
  EXPECT_TRUE(fs::exists(root_ / "thesis/years.tex"));
}

TEST_F(CleanTest, ALinkInThePlaceOfTheCacheIsRefused) {
  Write("thesis/years.tex", 9);
  fs::create_directories(cache_.parent_path());
  fs::create_directory_symlink(root_ / "thesis", cache_);
  const Outcome outcome = Clean();
  EXPECT_EQ(outcome.code, ExitCode::kEnvironment);
  EXPECT_EQ(outcome.err, absl::StrCat("error: `", cache_.string(), "` is a symbolic link, which is not followed\n"));
  EXPECT_TRUE(fs::exists(root_ / "thesis/years.tex"));
}

TEST_F(CleanTest, AFileInThePlaceOfTheCacheIsRefused) {
  Write(".cache/cleave/runtime", 3);
  EXPECT_EQ(Clean().err, absl::StrCat("error: `", cache_.string(), "` is not a folder\n"));
  EXPECT_TRUE(fs::exists(cache_));
}

TEST_F(CleanTest, WithoutAHomeThereIsNoPlace) {
  unsetenv("HOME");
  const Outcome outcome = Clean();
  EXPECT_EQ(outcome.code, ExitCode::kEnvironment);
  EXPECT_EQ(outcome.err, "error: neither XDG_CACHE_HOME nor HOME says where the cache is\n");
}

TEST_F(CleanTest, WhatCannotBeRemovedIsReported) {
  if (geteuid() == 0) GTEST_SKIP() << "root removes everything";
  Write(".cache/cleave/runtime/key/a", 6);
  fs::permissions(cache_ / "key", fs::perms::owner_read | fs::perms::owner_exec);
  const Outcome outcome = Clean();
  fs::permissions(cache_ / "key", fs::perms::owner_all);
  EXPECT_EQ(outcome.code, ExitCode::kEnvironment);
  EXPECT_EQ(outcome.out, absl::StrCat("removed 0 files, 0 bytes, from ", cache_.string(), "\n"));
  EXPECT_EQ(outcome.err, absl::StrCat("error: cannot remove all of `", cache_.string(), "`: Permission denied\n"));
}

TEST_F(CleanTest, Usage) {
  Write(".cache/cleave/runtime/key/a", 6);
  EXPECT_EQ(Clean({"everything"}).code, ExitCode::kUsage);
  EXPECT_TRUE(fs::exists(cache_));
}

}  // namespace
}  // namespace cleave::tools
