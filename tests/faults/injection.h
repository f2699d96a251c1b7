// One fault in one job: the job is started by run.sh as a user would, something goes wrong, and the job must end in
// time, say what happened, and leave no process behind.
//
//   const Programs programs = BuildPrograms(folder);
//   for (const Injection& injection : Injections(30, seed)) {
//     if (std::optional<std::string> failure = Try(injection, programs)) …
//   }
#ifndef CLEAVE_TESTS_FAULTS_INJECTION_H_
#define CLEAVE_TESTS_FAULTS_INJECTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/program.h"

namespace cleave::tests::faults {

enum class Fault {
  kKill,         // A rank gets SIGKILL while it trains,
  kKillJoining,  // or while it starts.
  kStop,         // A rank is stopped for good.
  kSlow,         // A rank is stopped now and then: nothing must happen.
  kNotFinite,    // A sample is not finite, or becomes so in an op.
  kFullDisk,     // A file that the job writes takes no more.
  kLostFile,     // A file of the data is not there.
  kTaken,        // The port where ranks meet is another program's; without ports, a folder cannot be written to.
  kTwoJobs,      // A second job is started in the folder of the first.
  kSignal,       // run.sh gets SIGHUP, SIGINT or SIGTERM,
  kKillScript,   // or SIGKILL.
  kKillSaving,   // All processes get SIGKILL while ranks save after each step.
  kTerminate,    // A job that saves gets SIGTERM: run.sh, its group, each of its processes, or a rank.
  kDamage,       // Some bytes of the last checkpoint are others, or missing.
  kRestart,      // Several of these come to a job that begins again by itself, some with room for fewer ranks.
  kNoRoom,       // The disk of the checkpoints is full for a while, of a job that begins again.
};
constexpr int kFaults = 16;

enum class Way { kMpirun, kRankTable, kDynamic, kLocal };
constexpr int kWays = 4;

struct Injection {
  Fault fault = Fault::kKill;
  Way way = Way::kMpirun;
  int rank = 0;  // That has the fault.
  Work work = Work::kTrain;
  int milliseconds = 0;  // Between the first step, or the start, and the fault.
  uint64_t number = 0;   // Decides what else is random.
};

// "kill of rank 1 after 120 ms, by rank table"
std::string ToString(const Injection& injection);

// `count` injections: every fault with every way, in an order that `seed` gives, again and again; with random work.
// `only`: this fault alone.
std::vector<Injection> Injections(int count, uint64_t seed, std::optional<Fault> only = std::nullopt);

// What was wrong with the end of the job; nullopt: nothing.
std::optional<std::string> Try(const Injection& injection, const Programs& programs);

}  // namespace cleave::tests::faults

#endif  // CLEAVE_TESTS_FAULTS_INJECTION_H_
