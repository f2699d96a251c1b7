// Programs that save and go on, for tests of checkpoints.
#ifndef CLEAVE_TESTS_END_TO_END_RESUMING_H_
#define CLEAVE_TESTS_END_TO_END_RESUMING_H_

#include <string>
#include <vector>

#include "tests/support/command.h"

namespace cleave::tests {

// A compiled program whose ranks are threads.
struct LocalProgram {
  std::string name;
  std::string path;
};

// Compiles and builds it once in a process: `arguments` are those of the compiler. A step that fails fails the test.
LocalProgram BuildLocal(const std::string& name, const std::string& model, const std::vector<std::string>& arguments);

// tests/end_to_end/resumed.model, which has 21 steps in 3 epochs, on one rank and on two.
LocalProgram OnOneRank();
LocalProgram OnTwoRanks();

// Trains with --out `out` and `flags`, which are separated by spaces. `prelude`: what a shell does first.
CommandResult Train(const LocalProgram& program, const std::string& out, const std::string& flags,
                    const std::string& prelude = "");

// The names of the checkpoints, and whatever else is there, in order.
std::vector<std::string> NamesIn(const std::string& folder);

// metrics.jsonl without what differs from run to run.
std::string MetricsWithoutSeconds(const std::string& out);

// Expects that two checkpoints, or folders of them, have the same files with the same bytes.
void ExpectSameFiles(const std::string& folder, const std::string& expected);

}  // namespace cleave::tests

#endif  // CLEAVE_TESTS_END_TO_END_RESUMING_H_
