#include "tools/driver/output.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

// Everything in the folder but what belongs to the protocol, with the texts.
std::map<std::string, std::string> Contents(const fs::path& folder) {
  std::map<std::string, std::string> contents;
  if (!fs::exists(folder)) return contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().lexically_relative(folder).string();
    if (path.rfind(".cleave", 0) == 0 || entry.is_directory()) continue;
    std::ifstream in(entry.path());
    contents[path] = std::string(std::istreambuf_iterator<char>(in), {});
  }
  return contents;
}

// Runs WriteOutput in a process that ends, as if it were killed, before change number `k`. Returns whether it ended so.
bool WriteAndStop(const std::string& folder, const std::vector<OutputFile>& files, int k) {
  const pid_t child = fork();
  if (child == 0) {
    int changes = 0;
    const absl::Status written = WriteOutput(folder, files, [&] {
      if (changes++ == k) raise(SIGKILL);
    });
    _exit(written.ok() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
  return WIFSIGNALED(status);
}

TEST_F(OutputTest, StoppedAnywhereTheFolderIsOldOrNewOrRefused) {
  const std::vector<OutputFile> old_files = {
      {"run.sh", "old", true}, {"same", "same"}, {"rank_0/a.ir", "old"}, {"rank_1/a.ir", "old"}};
  const std::vector<OutputFile> new_files = {
      {"run.sh", "new", true}, {"same", "same"}, {"rank_0/a.ir", "new"}, {"custom/op.h", "new"}};
  const std::map<std::string, std::string> mine = {{"build/program.o", "mine"}, {"metrics.jsonl", "mine"}};
  const auto expected = [&](const std::vector<OutputFile>& files) {
    std::map<std::string, std::string> contents = mine;
    for (const OutputFile& file : files) contents[file.path] = file.text;
    return contents;
  };
  int old_folders = 0, new_folders = 0, refused = 0;
  for (int k = 0;; ++k) {
    SCOPED_TRACE(k);
    fs::remove_all(Folder());
    ASSERT_TRUE(WriteOutput(Folder(), old_files).ok());
    for (const auto& [path, text] : mine) Write("out/" + path, text);
    const auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
    fs::last_write_time(root_ / "out/same", past);
    const bool stopped = WriteAndStop(Folder(), new_files, k);
    const bool is_old = Contents(Folder()) == expected(old_files), is_new = Contents(Folder()) == expected(new_files);
    const bool is_refused = fs::exists(root_ / "out/.cleave_next");
    EXPECT_TRUE(is_old || is_new || is_refused);
    old_folders += is_old && !is_refused;
    new_folders += is_new && !is_refused;
    refused += is_refused;
    EXPECT_TRUE(CheckOutputFolder(Folder()).ok());
    // The next compile may be any, and finds everything as it should be.
    const std::vector<OutputFile>& next = k % 2 == 0 ? new_files : old_files;
    EXPECT_TRUE(WriteOutput(Folder(), next).ok());
    EXPECT_EQ(Contents(Folder()), expected(next));
    EXPECT_FALSE(fs::exists(root_ / "out/.cleave_next"));
    EXPECT_FALSE(fs::exists(root_ / "out/.cleave_staging"));
    EXPECT_EQ(fs::last_write_time(root_ / "out/same"), past);
    if (!stopped) break;
  }
  EXPECT_GT(old_folders, 5);
  EXPECT_GT(refused, 5);
  EXPECT_GE(new_folders, 2);
}

TEST_F(OutputTest, StoppedInTheFirstCompileTheFolderIsStillOurs) {
  const std::vector<OutputFile> files = {{"run.sh", "new", true}, {"rank_0/a.ir", "new"}};
  bool stopped = true;
  for (int k = 0; stopped; ++k) {
    SCOPED_TRACE(k);
    fs::remove_all(Folder());
    stopped = WriteAndStop(Folder(), files, k);
    EXPECT_TRUE(CheckOutputFolder(Folder()).ok());
    EXPECT_TRUE(WriteOutput(Folder(), {{"a", "1"}}).ok());
    EXPECT_EQ(Contents(Folder()), (std::map<std::string, std::string>{{"a", "1"}}));
  }
}

TEST_F(OutputTest, NobodyElsePutsFilesIntoWhatIsStaged) {
  // Another user can only begin a folder under the name; what lies in it is never taken.
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}}).ok());
  Write("out/.cleave_staging/run.sh", "rm -rf /");
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "2"}}).ok());
  EXPECT_FALSE(fs::exists(root_ / "out/run.sh"));
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "out/.cleave_staging");
  Write("elsewhere/a", "mine");
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "3"}}).ok());
  EXPECT_TRUE(fs::exists(root_ / "elsewhere/a"));
}

TEST_F(OutputTest, AFolderOfAnotherUserIsRefused) {
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}}).ok());
  EXPECT_TRUE(CheckOutputFolder(Folder(), geteuid()).ok());
  EXPECT_EQ(CheckOutputFolder(Folder(), geteuid() + 1),
            absl::FailedPreconditionError(absl::StrCat("the folder `", Folder(), "` belongs to user ", geteuid(),
                                                       ", who could change what is written")));
}

TEST_F(OutputTest, AFolderThatEveryUserCanWriteToIsRefused) {
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}}).ok());
  fs::permissions(Folder(), fs::perms::others_write, fs::perm_options::add);
  const absl::Status refused = absl::FailedPreconditionError(absl::StrCat(
      "every user can write to the folder `", Folder(), "`, and so change what is written; `chmod o-w` ends it"));
  EXPECT_EQ(CheckOutputFolder(Folder()), refused);
  EXPECT_EQ(WriteOutput(Folder(), {{"a", "2"}}), refused);
  EXPECT_EQ(WritePlan(Folder(), "{}"), refused);
  fs::permissions(Folder(), fs::perms::others_write, fs::perm_options::remove);
  EXPECT_TRUE(WriteOutput(Folder(), {{"a", "2"}}).ok());
}

TEST_F(OutputTest, AFolderThatIsMadeIsNotForEveryUserWhateverTheUmaskIs) {
  const mode_t before = umask(0);
  EXPECT_TRUE(WriteOutput(Folder(), {{"a", "1"}}).ok());
  EXPECT_TRUE(WriteOutput(Folder(), {{"a", "2"}}).ok());
  umask(before);
  EXPECT_EQ(fs::status(Folder()).permissions() & fs::perms::others_write, fs::perms::none);
}

TEST_F(OutputTest, TheFolderMayBeALinkAndFilesInItAreReplacedNotFollowed) {
  fs::create_directories(root_ / "scratch");
  fs::create_directory_symlink(root_ / "scratch", Folder());
  Write("precious", "mine");
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}}).ok());
  fs::remove(root_ / "scratch/a");
  fs::create_symlink(root_ / "precious", root_ / "scratch/a");
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "mine"}}).ok());
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(root_ / "scratch/a")));
  EXPECT_TRUE(fs::is_symlink(Folder()));
  std::ifstream in(root_ / "precious");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "mine");
}

TEST_F(OutputTest, WhatStandsInTheWayIsFoundBeforeAnythingChanges) {
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}}).ok());
  fs::create_directories(root_ / "out/b");
  Write("out/c", "mine");
  Write("elsewhere/d", "mine");
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "out/link");
  for (const char* path : {"b", "c/d", "link/d"}) {
    SCOPED_TRACE(path);
    const absl::Status status = WriteOutput(Folder(), {{"a", "2"}, {path, "1"}});
    EXPECT_FALSE(status.ok());
    EXPECT_NE(std::string(status.message()).find(std::string("out/") + path), std::string::npos) << status;
    EXPECT_EQ(Read("a"), "1");
    EXPECT_FALSE(fs::exists(root_ / "out/.cleave_next"));
  }
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "2"}}).ok());
}

TEST_F(OutputTest, WhatTheUserPutInThePlaceOfAnObsoleteFileStays) {
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}, {"rank_1/b", "1"}}).ok());
  fs::remove(root_ / "out/a");
  Write("out/a/notes", "mine");
  fs::rename(root_ / "out/rank_1", root_ / "elsewhere");
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "out/rank_1");
  ASSERT_TRUE(WriteOutput(Folder(), {{"c", "1"}}).ok());
  EXPECT_EQ(Read("a/notes"), "mine");
  EXPECT_TRUE(fs::exists(root_ / "elsewhere/b"));
}

TEST_F(OutputTest, TwoCompilesAtOnceDoNotMix) {
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}}).ok());
  absl::Status second;
  bool is_first = true;
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "2"}}, [&] {
                // Behind the lock.
                if (fs::exists(root_ / "out/.cleave_staging") && std::exchange(is_first, false)) {
                  second = WriteOutput(Folder(), {{"a", "3"}});
                }
              }).ok());
  EXPECT_EQ(second.message(), "another compile is writing into the folder `" + Folder() + "` at this moment");
  EXPECT_EQ(Read("a"), "2");
}

TEST_F(OutputTest, AMissingRightIsGivenBack) {
  ASSERT_TRUE(WriteOutput(Folder(), {{"run.sh", "1", true}}).ok());
  fs::permissions(root_ / "out/run.sh", fs::perms::owner_exec, fs::perm_options::remove);
  ASSERT_TRUE(WriteOutput(Folder(), {{"run.sh", "1", true}}).ok());
  EXPECT_NE(fs::status(root_ / "out/run.sh").permissions() & fs::perms::owner_exec, fs::perms::none);
}

TEST_F(OutputTest, AnEditedManifestCannotReachOutside) {
  Write("precious", "mine");
  ASSERT_TRUE(WriteOutput(Folder(), {{"a", "1"}}).ok());
  Write("out/.cleave_files", "../precious\n" + (root_ / "precious").string() + "\na\n");
  ASSERT_TRUE(WriteOutput(Folder(), {{"b", "1"}}).ok());
  EXPECT_TRUE(fs::exists(root_ / "precious"));
  EXPECT_FALSE(fs::exists(root_ / "out/a"));
}

constexpr char kAPlan[] = "{\n \"format\": \"cleave-plan\",\n \"version\": 1\n}\n";

TEST_F(OutputTest, APlanAloneIsTheOnlyFile) {
  ASSERT_TRUE(WritePlan(Folder() + "/deep/er", kAPlan).ok());
  EXPECT_EQ(Read("deep/er/plan.json"), kAPlan);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ / "out/deep/er"), fs::directory_iterator()), 1);
}

TEST_F(OutputTest, WhatAPlanThatWasKilledHasLeftIsRemoved) {
  Write("out/.plan.json.1234", "{\"form");
  ASSERT_TRUE(CheckOutputFolder(Folder()).ok());
  ASSERT_TRUE(WritePlan(Folder(), kAPlan).ok());
  ASSERT_TRUE(WriteOutput(Folder(), {{"program.cc", "1"}}).ok());
  EXPECT_FALSE(fs::exists(root_ / "out/.plan.json.1234"));
  // Another name is that of somebody else's file.
  fs::remove_all(root_ / "out");
  Write("out/.plan.json.old", "mine");
  EXPECT_FALSE(CheckOutputFolder(Folder()).ok());
}

TEST_F(OutputTest, APlanReplacesAPlanBesideOtherFiles) {
  Write("out/notes.txt", "mine");
  ASSERT_TRUE(WritePlan(Folder(), kAPlan).ok());
  ASSERT_TRUE(WritePlan(Folder(), std::string(kAPlan) + "\n").ok());
  EXPECT_EQ(Read("plan.json"), std::string(kAPlan) + "\n");
  EXPECT_EQ(Read("notes.txt"), "mine");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ / "out"), fs::directory_iterator()), 2);
}

TEST_F(OutputTest, APlanDoesNotReplaceThatOfAProgram) {
  ASSERT_TRUE(WriteOutput(Folder(), {{"plan.json", kAPlan}, {"program.cc", "1"}}).ok());
  const absl::Status refused = WritePlan(Folder(), std::string(kAPlan) + "\n");
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            absl::StrCat("the folder `", Folder(), "` holds a program, of which its plan.json is a part"));
  EXPECT_EQ(Read("plan.json"), kAPlan);
  fs::remove_all(root_ / "out");
  fs::create_directories(root_ / "out/.cleave_next");
  EXPECT_EQ(CheckPlanFolder(Folder()).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(OutputTest, APlanDoesNotReplaceWhatIsNone) {
  Write("out/plan.json", "{\"weekend\": \"hiking\"}");
  EXPECT_EQ(WritePlan(Folder(), kAPlan).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Read("plan.json"), "{\"weekend\": \"hiking\"}");
  fs::remove(root_ / "out/plan.json");
  fs::create_directory(root_ / "out/plan.json");
  EXPECT_FALSE(WritePlan(Folder(), kAPlan).ok());
  Write("file", "");
  EXPECT_EQ(WritePlan((root_ / "file").string(), kAPlan).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(CheckPlanFolder(root_.string(), geteuid() + 1).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(OutputTest, ALinkInThePlaceOfAPlanIsReplaced) {
  Write("elsewhere.json", kAPlan);
  fs::create_directories(root_ / "out");
  fs::create_symlink("../elsewhere.json", root_ / "out/plan.json");
  ASSERT_TRUE(WritePlan(Folder(), std::string(kAPlan) + "\n").ok());
  EXPECT_FALSE(fs::is_symlink(root_ / "out/plan.json"));
  std::ostringstream elsewhere;
  elsewhere << std::ifstream(root_ / "elsewhere.json").rdbuf();
  EXPECT_EQ(elsewhere.str(), kAPlan);
}

// Before each change of the file system there is the whole of the last plan, and nothing else of ours in the end.
TEST_F(OutputTest, APlanIsReplacedInOneStep) {
  ASSERT_TRUE(WritePlan(Folder(), kAPlan).ok());
  int changes = 0;
  ASSERT_TRUE(WritePlan(Folder(), std::string(kAPlan) + "\n", [&] {
                EXPECT_EQ(Read("plan.json"), kAPlan);
                ++changes;
              }).ok());
  EXPECT_GE(changes, 3);
}

TEST_F(OutputTest, APlanThatCannotBeWrittenLeavesTheLast) {
  ASSERT_TRUE(WritePlan(Folder(), kAPlan).ok());
  const std::string next = absl::StrCat(".plan.json.", getpid());
  const absl::Status failed = WritePlan(Folder(), "{}", [&] {
    if (!fs::exists(root_ / "out" / next)) fs::create_directory(root_ / "out" / next);
  });
  EXPECT_EQ(failed.message(), absl::StrCat("cannot write `", Folder(), "/plan.json`: File exists"));
  EXPECT_EQ(Read("plan.json"), kAPlan);
}

TEST_F(OutputTest, ACompileTakesAFolderThatHoldsAPlanAlone) {
  ASSERT_TRUE(WritePlan(Folder(), kAPlan).ok());
  ASSERT_TRUE(WriteOutput(Folder(), {{"plan.json", "2"}, {"program.cc", "2"}}).ok());
  EXPECT_EQ(Read("plan.json"), "2");
}

}  // namespace
}  // namespace cleave::tools
