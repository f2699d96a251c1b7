// The programs whose jobs get faults, and their data.
#ifndef CLEAVE_TESTS_FAULTS_PROGRAM_H_
#define CLEAVE_TESTS_FAULTS_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cleave::tests::faults {

constexpr int kRanks = 3;
constexpr int kFewerRanks = 2;  // There is a program that trains on these, too (`--also`).
constexpr int64_t kSmallDisk = 1 << 20;

// A compiled and built program.
struct Program {
  std::string folder;               // Of run.sh.
  std::vector<std::string> inputs;  // The flags that name its data, or its parameters and prompts.
};

enum class Work {
  kTrain,     // Ranks have samples of their own,
  kPipeline,  // or layers of their own.
  kGenerate,  // Ranks continue texts for as long as they are left alone.
};
constexpr int kWorks = 3;

struct Programs {
  std::string data;             // What training reads.
  std::vector<Program> all;     // By Work.
  std::string small_disk = {};  // A folder on a file system of kSmallDisk bytes; empty where none can be made.

  const Program& of(Work work) const { return all[static_cast<size_t>(work)]; }
};

// Fails the test, or prints why, where a program cannot be built.
Programs BuildPrograms(const std::string& folder);

// The same programs in `count` other places, so that as many jobs can run at once. REQUIRES: no job runs: a process
// that is being started would have the copies open, and what is open for writing cannot be run.
std::vector<Programs> Copies(const Programs& programs, int count);

// Gives each of them a small disk, which this process and those that it starts can see. REQUIRES: there is one thread.
// Says what is not tested where no file system can be mounted.
void MountSmallDisks(std::vector<Programs>& all);

// Data that train well, except that one value of `x` is `odd`.
void WriteData(const std::string& folder, std::optional<float> odd, uint64_t seed);

}  // namespace cleave::tests::faults

#endif  // CLEAVE_TESTS_FAULTS_PROGRAM_H_
