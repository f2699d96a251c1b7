// Whole runs of example_program under mpirun: the numbers, the files, the exit codes, and what happens when a rank
// misbehaves.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace cleave::runtime {
namespace {

struct Outcome {
  int exit = 0;
  double seconds = 0;
  std::string output;  // Standard output and error.
};

// `environment` is put in front: "RANKS=3 FAULT=nan:1".
Outcome Shell(const std::string& command) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.output.append(buffer, count);
  const int status = pclose(pipe);
  outcome.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

constexpr char kProgram[] = "runtime/train/example_program";

std::string Out() { return testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name(); }

Outcome Start(int started, int planned, const std::string& environment, const std::string& flags) {
  // Open MPI's sockets need a short path.
  return Shell("env TMPDIR=/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 RANKS=" +
               std::to_string(planned) + " " + environment + " mpirun --oversubscribe --bind-to none -n " +
               std::to_string(started) + " " + kProgram + " --out " + Out() + std::to_string(planned) + " " + flags);
}

Outcome OnRanks(int ranks, const std::string& environment, const std::string& flags) {
  return Start(ranks, ranks, environment, flags);
}

std::string Content(const std::string& path) { return Shell("cat " + path).output; }

std::vector<double> Losses(int ranks) {
  std::vector<double> losses;
  const std::string text = Content(Out() + std::to_string(ranks) + "/metrics.jsonl");
  for (size_t at = text.find("\"loss\":"); at != std::string::npos; at = text.find("\"loss\":", at + 1)) {
    losses.push_back(std::atof(text.c_str() + at + 7));
  }
  return losses;
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Train, LossesAndAccuracyAreTheSameOnAnyNumberOfRanks) {
  ASSERT_EQ(OnRanks(1, "", "").exit, 0);
  const std::vector<double> expected = Losses(1);
  ASSERT_EQ(expected.size(), 60u);
  EXPECT_LT(expected.back(), 0.6 * expected.front());
  const std::string test = "\"test\":{\"accuracy\":0.";
  ASSERT_EQ(Count(Content(Out() + "1/run.json"), test), 1);
  for (const int ranks : {2, 3, 7, 8}) {
    const Outcome outcome = OnRanks(ranks, "", "");
    ASSERT_EQ(outcome.exit, 0) << outcome.output;
    const std::vector<double> losses = Losses(ranks);
    ASSERT_EQ(losses.size(), expected.size());
    for (size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], expected[i], 1e-5 * expected[i]) << ranks << " ranks, step " << i;
    EXPECT_EQ(Count(outcome.output, " | test accuracy 0."), 3);
    EXPECT_EQ(Count(outcome.output, "nan"), 0);
    EXPECT_EQ(Count(Content(Out() + std::to_string(ranks) + "/metrics.jsonl"), "nan"), 0);
    EXPECT_EQ(Count(outcome.output, "done: 60 steps"), 1);
  }
}

TEST(Train, EvaluationsAreTheSameOnAnyNumberOfRanksAndChangeNothing) {
  for (const int ranks : {1, 3}) {
    ASSERT_EQ(OnRanks(ranks, "", "--steps 25").exit, 0);
    const std::vector<double> expected = Losses(ranks);
    const Outcome outcome = OnRanks(ranks, "", "--steps 25 --eval-every 7");
    ASSERT_EQ(outcome.exit, 0) << outcome.output;
    const std::string metrics = Out() + std::to_string(ranks) + "/metrics.jsonl";
    EXPECT_EQ(Count(Content(metrics), "\"samples\":450,\"test\":{\"loss\":"), 3);
    Shell("sed -i /test/d " + metrics);
    EXPECT_EQ(Losses(ranks), expected) << ranks << " ranks";
    for (const char* const step : {"7", "14", "21", "25"}) {
      EXPECT_EQ(Count(outcome.output, std::string("\nstep ") + step + "/25 | test loss "), 1) << outcome.output;
    }
    EXPECT_EQ(Count(Content(Out() + std::to_string(ranks) + "/run.json"), "\"test\":{\"loss\":"), 1);
  }
}

TEST(Train, FlagsDecideLengthAndOutput) {
  EXPECT_EQ(Count(OnRanks(1, "", "--steps 25 --log-every 5").output, " | loss "), 5);
  EXPECT_EQ(Losses(1).size(), 25u);
  const Outcome quiet = OnRanks(1, "", "--epochs 1 --quiet");
  EXPECT_EQ(quiet.output, "");
  EXPECT_EQ(Losses(1).size(), 20u);
  const std::vector<double> seed1 = Losses(1);
  OnRanks(1, "", "--epochs 1 --seed 2");
  EXPECT_NE(Losses(1), seed1);
  OnRanks(1, "", "--steps 70");
  EXPECT_EQ(Losses(1).size(), 70u);
  // More steps than can be counted.
  OnRanks(1, "", "--epochs 9223372036854775807 --steps 7");
  EXPECT_EQ(Losses(1).size(), 7u);
  // Every rank prints the loss, and one writes it.
  EXPECT_EQ(Count(OnRanks(3, "", "--steps 4 --log-every 2 --log-ranks all").output, " | loss "), 6);
  EXPECT_EQ(Losses(3).size(), 4u);
  EXPECT_EQ(Count(OnRanks(3, "", "--steps 4 --log-every 2").output, " | loss "), 2);
}

TEST(Train, AProfileHasAllOpsOfAllRanksAndChangesNothing) {
  ASSERT_EQ(OnRanks(2, "", "--steps 5 --log-every 0").exit, 0);
  const std::vector<double> expected = Losses(2);
  const std::string trace = Out() + ".json";
  const Outcome outcome = OnRanks(2, "", "--steps 5 --log-every 0 --profile " + trace);
  ASSERT_EQ(outcome.exit, 0) << outcome.output;
  EXPECT_EQ(Losses(2), expected);
  EXPECT_EQ(Count(outcome.output, "profile of 4 steps on rank 0: "), 1) << outcome.output;
  EXPECT_EQ(Count(outcome.output, "\nh1.grad_weight "), 1) << outcome.output;
  const std::string run = Content(Out() + "2/run.json");
  EXPECT_EQ(Count(run, "{\"op\":\"h1.grad_weight\",\"place\":\"example.model:7\",\"calls\":1,"), 1) << run;
  EXPECT_EQ(Count(run, "\"flops\":"), 5) << run;  // Of the products.
  EXPECT_EQ(Count(run, "\"sent_bytes\":"), 4)
      << run;  // Of the ranks, of all_reduce, and of the ops gradients and loss.
  // Seven ops of a step, on each rank.
  const std::string events = Content(trace);
  EXPECT_EQ(Count(events, "\"ph\":\"X\""), 2 * 4 * (7 + 1)) << events;
  EXPECT_EQ(Count(events, ",\"name\":\"step 5\",\"cat\":\"step\","), 2);
  EXPECT_EQ(Count(events, ",\"name\":\"gradients\",\"cat\":\"collectives\","), 2 * 4);
  EXPECT_EQ(Count(events, ",\"name\":\"h1.relu\",\"cat\":\"ops\","), 2 * 4);
  EXPECT_EQ(Count(events, "\"name\":\"rank 1, measured\""), 1);
  EXPECT_GE(Count(events, "\"name\":\"allocated\",\"args\":{\"bytes\":"), 2);

  const Outcome unwritten = OnRanks(2, "", "--steps 2 --profile /proc/nothing/trace.json");
  EXPECT_EQ(unwritten.exit, 5);
  EXPECT_EQ(Count(unwritten.output, "error: rank 0: cannot write the profile to `/proc/nothing/trace.json`: "), 1)
      << unwritten.output;
}

TEST(Train, WithoutMpirun) {
  EXPECT_EQ(Shell(std::string("env -u OMPI_COMM_WORLD_SIZE RANKS=1 ") + kProgram + " --quiet --out " + Out()).exit, 0);
  const Outcome outcome = Shell(std::string("RANKS=8 ") + kProgram + " --out " + Out());
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(outcome.output,
            "error: the plan has 8 ranks (m0=8) and the program was started without mpirun: start it with `mpirun -n 8 "
            "runtime/train/example_program`\n");
}

TEST(Train, AnotherNumberOfRanksThanThePlan) {
  for (const auto& [started, planned] : {std::pair(3, 4), {4, 3}, {2, 1}}) {
    const Outcome outcome = Start(started, planned, "", "");
    EXPECT_EQ(outcome.exit, 3);
    EXPECT_EQ(Count(outcome.output, "error: the plan has " + std::to_string(planned) + " rank"), 1) << outcome.output;
    EXPECT_EQ(Count(outcome.output, "mpirun started " + std::to_string(started)), 1);
    EXPECT_LT(outcome.seconds,
              10);  // The time includes the start of the job, on a machine that also does other things.
  }
}

TEST(Train, UnknownFlag) {
  const Outcome outcome = OnRanks(3, "", "--speed 5");
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_EQ(Count(outcome.output, "error: unknown flag `--speed`; did you mean `--seed`?\nusage: "), 1)
      << outcome.output;
}

TEST(Train, HelpNeedsNoMpirun) {
  const Outcome outcome = Shell(std::string("RANKS=8 ") + kProgram + " --help");
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_EQ(outcome.output.rfind("usage: ", 0), 0u);
}

TEST(Train, DataErrorsAreOneMessage) {
  const Outcome outcome = OnRanks(3, "SAMPLES=99", "");
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(Count(outcome.output, "error: digits has 99 training samples, fewer than one batch of 100\n"), 1)
      << outcome.output;
  const Outcome given = OnRanks(2, "", "--data /nowhere");
  EXPECT_EQ(given.exit, 2);
  EXPECT_EQ(Count(given.output, "error: `--data` is given, and the program makes its data itself\n"), 1)
      << given.output;
}

TEST(Train, AFolderThatCannotBeWritten) {
  const Outcome outcome = OnRanks(2, "", "--out /proc/nothing");
  EXPECT_EQ(outcome.exit, 5);
  EXPECT_EQ(Count(outcome.output, "error: rank 0: cannot write to the folder `/proc/nothing`: "), 1) << outcome.output;
}

TEST(Train, ALossThatIsNotFiniteNamesStepTensorLineAndRank) {
  for (const int ranks : {1, 3}) {
    const std::string bad = std::to_string(ranks - 1);
    const Outcome outcome = OnRanks(ranks, "FAULT=nan:" + bad, "");
    EXPECT_EQ(outcome.exit, 7);
    EXPECT_EQ(Count(outcome.output,
                    "error: step 3: the loss is nan; the first value that is not finite is nan in `h1.relu` "
                    "(example.model:7), element 5 of rank " +
                        bad + "'s piece\n"),
              1)
        << outcome.output;
    EXPECT_EQ(Losses(ranks).size(), 2u);
    EXPECT_EQ(Content(Out() + std::to_string(ranks) + "/run.json").rfind("{\"exit\":7,\"steps\":2,", 0), 0u);
  }
}

// Rank `bad` of two has a parameter that is not finite from step 3 on.
void ExpectAParameterEndsTheJob(const std::string& bad, const std::string& flags) {
  const Outcome outcome = OnRanks(2, "FAULT=weight:" + bad, flags);
  EXPECT_EQ(outcome.exit, 7);
  EXPECT_EQ(Count(outcome.output,
                  "error: after the update of step 3 the first value that is not finite is inf in `h1.weight` "
                  "(example.model:14), element 3 of rank " +
                      bad + "'s piece\n"),
            1)
      << outcome.output;
}

TEST(Train, AParameterThatIsNotFiniteAfterTheLastUpdate) { ExpectAParameterEndsTheJob("1", "--steps 3"); }

TEST(Train, AParameterThatIsNotFiniteEndsTheNextLoggedStep) {
  ExpectAParameterEndsTheJob("0", "--steps 20 --log-every 1");
}

TEST(Train, AKilledRankEndsTheJob) {
  const Outcome outcome = OnRanks(3, "FAULT=kill:1", "");
  EXPECT_NE(outcome.exit, 0);
  EXPECT_LT(outcome.seconds, 10);  // The time includes the start of the job, on a machine that also does other things.
  EXPECT_EQ(Count(outcome.output, "done:"), 0);
  EXPECT_EQ(Count(Content(Out() + "3/run.json"), "No such file"), 1);
}

TEST(Train, ACrashedRankNamesItsOp) {
  const Outcome outcome = OnRanks(3, "FAULT=crash:1", "");
  EXPECT_NE(outcome.exit, 0);
  EXPECT_LT(outcome.seconds, 10);  // The time includes the start of the job, on a machine that also does other things.
  EXPECT_EQ(Count(outcome.output, "error: rank 1: Segmentation fault in `h1.relu` (example.model:7)\n"), 1)
      << outcome.output;
}

TEST(Train, AStalledRankEndsTheJobAndIsNamed) {
  const Outcome outcome = OnRanks(3, "CLEAVE_TIMEOUT=3 FAULT=stall:1", "");
  EXPECT_EQ(outcome.exit, 6);
  EXPECT_LT(outcome.seconds, 15);
  EXPECT_EQ(Count(outcome.output, "error: rank 1 stands still in `h1.relu` (example.model:7) since "), 1)
      << outcome.output;
}

TEST(Train, AStoppedRankIsNamedByOneThatWaitsForIt) {
  const Outcome outcome = OnRanks(3, "CLEAVE_TIMEOUT=3 FAULT=freeze:1", "");
  EXPECT_EQ(outcome.exit, 6);
  EXPECT_EQ(Count(outcome.output, "error: "), 1) << outcome.output;
  EXPECT_EQ(Count(outcome.output, "error: rank 0 waits in all_reduce for `loss` (example.model:10) since "), 1)
      << outcome.output;
  EXPECT_EQ(Count(outcome.output, " s; rank 1 is missing: it does not answer"), 1) << outcome.output;
}

TEST(Train, AFullDiskIsAnErrorAtTheFirstStep) {
  const std::string out = Out() + "2";
  Shell("mkdir -p " + out + " && ln -sf /dev/full " + out + "/metrics.jsonl");
  const Outcome outcome = OnRanks(2, "", "");
  EXPECT_EQ(outcome.exit, 5);
  EXPECT_EQ(
      Count(outcome.output, "error: cannot write to `" + out + "/metrics.jsonl` (rank 0): No space left on device\n"),
      1)
      << outcome.output;
}

TEST(Train, ASecondJobInTheFolderIsRefused) {
  const std::string out = Out() + "2";
  // The lock of a job that ended badly does not count.
  Shell("mkdir -p " + out + " && echo 'host elsewhere, process 1, since 2026-01-01 00:00:00' > " + out +
        "/.cleave_lock");
  EXPECT_EQ(OnRanks(2, "", "--steps 2").exit, 0);
  const Outcome outcome =
      Shell("exec 9<>" + out + "/.cleave_lock; flock 9; echo 'host h, process 7, since then' >&9; " +
            "env TMPDIR=/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 RANKS=2 "
            "mpirun --oversubscribe -n 2 " +
            kProgram + " --out " + out);
  EXPECT_EQ(outcome.exit, 5);
  EXPECT_EQ(Count(outcome.output,
                  "error: rank 0: another job uses the folder `" + out + "`: host h, process 7, since then\n"),
            1)
      << outcome.output;
}

}  // namespace
}  // namespace cleave::runtime
