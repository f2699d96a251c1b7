// The program whose jobs get faults, and its data.
#ifndef CLEAVE_TESTS_FAULTS_PROGRAM_H_
#define CLEAVE_TESTS_FAULTS_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cleave::tests::faults {

constexpr int kRanks = 3;

// A compiled and built program.
struct Program {
  std::string folder;  // Of run.sh.
  std::string data;    // Of its data.
};

// Fails the test, or prints why, where the program cannot be built.
Program BuildProgram(const std::string& folder);

// The same program in `count` other folders, so that as many jobs can run at once. REQUIRES: no job runs: a process
// that is being started would have the copies open, and what is open for writing cannot be run.
std::vector<Program> Copies(const Program& program, int count);

// Data that train well, except that one value of `x` is `odd`.
void WriteData(const std::string& folder, std::optional<float> odd, uint64_t seed);

}  // namespace cleave::tests::faults

#endif  // CLEAVE_TESTS_FAULTS_PROGRAM_H_
