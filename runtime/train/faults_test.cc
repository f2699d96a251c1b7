// Ranks of example_program.cc that die, crash and stand still: before they join, when they have joined and while they
// train, in each way in which ranks meet. All ranks must end soon, at most one may print a reason, and nothing may look
// as if it were complete.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/rendezvous/free_port.h"

namespace cleave::runtime {
namespace {

// The time includes the start of the job, on a machine that also does other things.
constexpr double kSoon = 10;

struct Outcome {
  int exit = 0;
  double seconds = 0;
  std::string output;  // Standard output and error.
};

Outcome Shell(const std::string& command) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome;
  std::FILE* pipe = popen(("exec 2>&1; " + command).c_str(), "r");
  char buffer[4096];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.output.append(buffer, count);
  const int status = pclose(pipe);
  outcome.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string Flags() {
  return " --quiet --epochs 1000 --out " + testing::TempDir() + "/" +
         testing::UnitTest::GetInstance()->current_test_info()->name();
}

constexpr char kEnvironment[] =
    "env TMPDIR=/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 RANKS=3 ";

// Three ranks with the fault, of which rank 1 is always the one that has it.
Outcome UnderMpirun(const std::string& settings) {
  return Shell(kEnvironment + settings +
               " timeout 60 mpirun --oversubscribe --bind-to none -n 3 "
               "runtime/train/example_program" +
               Flags());
}

Outcome ByGloo(const std::string& settings) {
  return Shell(std::string("export MASTER_ADDR=127.0.0.1 WORLD_SIZE=3 MASTER_PORT=") + FreePort() +
               "; for rank in 0 1 2; do RANK=$rank LOCAL_RANK=$rank " + kEnvironment + settings +
               " timeout 60 runtime/train/example_program_gloo" + Flags() +
               " & pids=\"$pids $!\"; done; code=0; for pid in $pids; do wait $pid || code=$?; done; exit $code");
}

Outcome Locally(const std::string& settings) {
  return Shell(kEnvironment + settings + " timeout 60 runtime/train/example_program_local" + Flags());
}

void ExpectEnd(const Outcome& outcome, int messages) {
  EXPECT_NE(outcome.exit, 0);
  EXPECT_NE(outcome.exit, 124) << "the job hung";
  EXPECT_LT(outcome.seconds, kSoon);
  EXPECT_EQ(Count(outcome.output, "error: "), messages) << outcome.output;
  EXPECT_EQ(Count(outcome.output, "done:"), 0) << outcome.output;
}

TEST(Mpi, ARankThatDiesBeforeItJoinsOrAfter) {
  // mpirun says which rank was killed.
  ExpectEnd(UnderMpirun("FAULT=before:1"), 0);
  ExpectEnd(UnderMpirun("FAULT=init:1"), 0);
}

TEST(Gloo, ARankThatDiesBeforeItJoinsIsMissed) {
  const Outcome outcome = ByGloo("CLEAVE_JOIN_TIMEOUT=2 FAULT=before:1");
  ExpectEnd(outcome, 1);
  EXPECT_EQ(Count(outcome.output, "rank 1"), 1) << outcome.output;
}

TEST(Gloo, ARankThatDiesWhenAllHaveJoined) {
  const Outcome outcome = ByGloo("FAULT=init:1");
  ExpectEnd(outcome, 1);
  EXPECT_EQ(Count(outcome.output, "error: rank 1 "), 1) << outcome.output;
}

TEST(Gloo, ARankThatDiesInTraining) {
  const Outcome outcome = ByGloo("FAULT=kill:1");
  ExpectEnd(outcome, 1);
  EXPECT_EQ(Count(outcome.output, "error: rank 1 "), 1) << outcome.output;
}

TEST(Local, TrainsLikeProcesses) {
  const Outcome outcome = Shell(std::string(kEnvironment) +
                                "timeout 60 runtime/train/example_program_local --steps 20 --log-every 10 --out " +
                                testing::TempDir() + "/local");
  EXPECT_EQ(outcome.exit, 0) << outcome.output;
  EXPECT_EQ(Count(outcome.output, "done: 20 steps"), 1) << outcome.output;
  const Outcome alone = Shell("env RANKS=1 OMP_NUM_THREADS=1 runtime/train/example_program_local --steps 20 --out " +
                              testing::TempDir() + "/alone");
  EXPECT_EQ(alone.exit, 0) << alone.output;
  // The losses of the last step, to four digits.
  const auto last_loss = [](const std::string& folder) {
    const std::string text = Shell("tail -n 1 " + testing::TempDir() + folder + "/metrics.jsonl").output;
    return std::atof(text.c_str() + text.find("\"loss\":") + 7);
  };
  EXPECT_GT(last_loss("/alone"), 0);
  EXPECT_NEAR(last_loss("/local"), last_loss("/alone"), 1e-4);
}

TEST(Local, ARankThatDiesTakesTheOthersWithIt) {
  // All ranks are one process, which prints no last message.
  ExpectEnd(Locally("FAULT=init:1"), 0);
  ExpectEnd(Locally("FAULT=kill:1"), 0);
}

TEST(Local, ARankThatCrashesIsNamed) {
  const Outcome outcome = Locally("FAULT=crash:1");
  ExpectEnd(outcome, 1);
  EXPECT_EQ(Count(outcome.output, "error: rank 1: Segmentation fault in `h1.relu` (example.model:7)\n"), 1)
      << outcome.output;
}

TEST(Local, ARankThatStandsStillIsNamedAndSoIsWhatTheOthersWaitIn) {
  const Outcome outcome = Locally("CLEAVE_TIMEOUT=1 FAULT=stall:1");
  ExpectEnd(outcome, 1);
  EXPECT_EQ(outcome.exit, 6);
  EXPECT_EQ(Count(outcome.output, "error: rank 1 stands still in `h1.relu` (example.model:7) since "), 1)
      << outcome.output;
  EXPECT_EQ(Count(outcome.output, " waits in all_reduce for `loss` (example.model:10)"), 2) << outcome.output;
}

TEST(Local, AMistakeThatAllSeeIsSaidOnce) {
  const Outcome outcome = Locally("SAMPLES=99");
  ExpectEnd(outcome, 1);
  EXPECT_EQ(outcome.exit, 3);
}

TEST(Local, ALossThatIsNotFiniteNamesTheRank) {
  const Outcome outcome = Locally("FAULT=nan:1");
  ExpectEnd(outcome, 1);
  EXPECT_EQ(outcome.exit, 7);
  EXPECT_EQ(Count(outcome.output, "in `h1.relu` (example.model:7), element 5 of rank 1's piece\n"), 1)
      << outcome.output;
}

}  // namespace
}  // namespace cleave::runtime
