#include "runtime/lock/lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace cleave::runtime {
namespace {

std::string FreshFolder() {
  std::string name = testing::TempDir() + "/lock_XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  return name;
}

// A process that has the lock and waits; returns when it has it.
pid_t Holder(const std::string& folder) {
  int has_it[2];
  EXPECT_EQ(pipe(has_it), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Result<FolderLock> lock = FolderLock::Take(folder);
    const char answer = lock.ok() ? 'y' : 'n';
    if (write(has_it[1], &answer, 1) == 1) pause();
    _exit(1);
  }
  char answer = 0;
  EXPECT_EQ(read(has_it[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  close(has_it[0]);
  close(has_it[1]);
  return child;
}

TEST(FolderLock, TheSecondIsToldWhoTheFirstIsAndADeadOneDoesNotCount) {
  const std::string folder = FreshFolder() + "/made/here";
  const pid_t first = Holder(folder);
  const Result<FolderLock> refused = FolderLock::Take(folder);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ExitCode::kEnvironment);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  EXPECT_EQ(refused.error().message.rfind("another job uses the folder `" + folder + "`: host " + host + ", process " +
                                              std::to_string(first) + ", since 2",
                                          0),
            0u)
      << refused.error().message;
  kill(first, SIGKILL);
  waitpid(first, nullptr, 0);
  const Result<FolderLock> taken = FolderLock::Take(folder);
  EXPECT_TRUE(taken.ok());
  // The file names this process now.
  std::string content;
  std::getline(std::ifstream(folder + "/.cleave_lock"), content);
  EXPECT_NE(content.find(", process " + std::to_string(getpid()) + ","), std::string::npos) << content;
}

TEST(FolderLock, AFolderThatCannotBeWrittenTo) {
  const Result<FolderLock> refused = FolderLock::Take("/proc/nothing");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ExitCode::kEnvironment);
  EXPECT_EQ(refused.error().message.rfind("cannot write to the folder `/proc/nothing`: ", 0), 0u)
      << refused.error().message;
}

}  // namespace
}  // namespace cleave::runtime
