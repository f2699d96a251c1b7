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
    const char answer = LockFolder(folder).has_value() ? 'n' : 'y';
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

TEST(LockFolder, TheSecondIsToldWhoTheFirstIsAndADeadOneDoesNotCount) {
  const std::string folder = FreshFolder() + "/made/here";
  const pid_t first = Holder(folder);
  const std::optional<Error> refused = LockFolder(folder);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, ExitCode::kEnvironment);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  EXPECT_EQ(refused->message.rfind("another job uses the folder `" + folder + "`: host " + host + ", process " +
                                       std::to_string(first) + ", since 2",
                                   0),
            0u)
      << refused->message;
  kill(first, SIGKILL);
  waitpid(first, nullptr, 0);
  EXPECT_FALSE(LockFolder(folder).has_value());
  // The file names this process now.
  std::string content;
  std::getline(std::ifstream(folder + "/.cleave_lock"), content);
  EXPECT_NE(content.find(", process " + std::to_string(getpid()) + ","), std::string::npos) << content;
}

TEST(LockFolder, AFolderThatCannotBeWrittenTo) {
  const std::optional<Error> refused = LockFolder("/proc/nothing");
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, ExitCode::kEnvironment);
  EXPECT_EQ(refused->message.rfind("cannot write to the folder `/proc/nothing`: ", 0), 0u) << refused->message;
}

}  // namespace
}  // namespace cleave::runtime
