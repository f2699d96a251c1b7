// Whether the program of a layered model trains as the model does: compiled, started, and compared with the program of
// one rank that takes its batch at once, keeps everything, and repeats its layers one by one.
#ifndef CLEAVE_TESTS_PROPERTIES_LAYERED_CHECK_H_
#define CLEAVE_TESTS_PROPERTIES_LAYERED_CHECK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/properties/layered_model.h"

namespace cleave::tests::properties {

struct LayeredOutcome {
  std::string refused;  // The code of the error with which it was refused, "E0315".
  std::string failure;  // What is wrong, and is the compiler's mistake or that of its program.
};

// What is compared. kProgram: that there is a program, with its proof, or a refusal that names a setting. kTraining:
// also what it trains, and that it takes the memory that is predicted.
enum class LayeredDepth { kProgram, kTraining };

// Losses of four steps, and parameters and states of the optimizer behind them, equal those of the reference within
// rounding. `folder`: exists; programs of earlier models in it are replaced, so that the runtime is compiled once.
LayeredOutcome CheckLayered(const LayeredModel& model, const std::string& folder,
                            LayeredDepth depth = LayeredDepth::kTraining);

struct LayeredReport {
  int64_t equal = 0;                       // Or compiled, where nothing more is asked.
  std::map<std::string, int64_t> refused;  // By code.
  std::vector<std::string> failures;       // With the seed, the command and the text.

  std::string Text() const;
};

// Checks the models of so many seeds, each in a process of its own, so that a crash is the failure of one model. Where
// only programs are made, models without stages are left out.
// Failures are printed as they come.
LayeredReport CheckLayered(uint64_t first_seed, int64_t count, const std::string& folder,
                           LayeredDepth depth = LayeredDepth::kTraining);

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_LAYERED_CHECK_H_
