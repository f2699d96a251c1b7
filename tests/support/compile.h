// Compiles and runs models with the real compiler, for end-to-end tests.
#ifndef CLEAVE_TESTS_SUPPORT_COMPILE_H_
#define CLEAVE_TESTS_SUPPORT_COMPILE_H_

#include <string>
#include <vector>

#include "tests/support/command.h"

namespace cleave::tests {

// Runs //tools:compile with `arguments` in `folder`.
CommandResult Compile(const std::vector<std::string>& arguments, const std::string& folder);

// FastMake (codegen/fixtures/fast_make.h) with `arguments` in an output folder.
CommandResult Make(const std::string& out, const std::vector<std::string>& arguments = {});

// The same by FastMakeByGcc, and by FastMakeWithStandIn.
CommandResult MakeByGcc(const std::string& out, const std::vector<std::string>& arguments = {});
CommandResult MakeWithStandIn(const std::string& out, const std::vector<std::string>& arguments);

// `./run.sh` with `flags` in an output folder.
CommandResult Start(const std::string& out, const std::vector<std::string>& flags = {},
                    const std::vector<std::string>& environment = {});

// The same two for ranks that are started without a launcher and send through memory, which takes half of the time:
// for tests that are about something else than how ranks start and send.
CommandResult MakeLocal(const std::string& out);
CommandResult StartLocal(const std::string& out, std::vector<std::string> flags = {},
                         const std::vector<std::string>& environment = {});

// The losses of metrics.jsonl in `out`, one per step, without those of evaluations.
std::vector<double> Losses(const std::string& out);

// The result of training a model: the compiler's diagnostics, the program's output, and a loss for each step.
struct TrainedModel {
  std::string diagnostics;
  std::string said;
  std::vector<double> losses;
};

// Compiles `model` with `arguments` into folder/out, builds it there and trains it for `steps` steps with MakeLocal and
// StartLocal. A step that fails fails the test, and leaves no losses.
TrainedModel TrainModel(const std::string& model, const std::vector<std::string>& arguments, const std::string& folder,
                        size_t steps);

// max |a - b| / max(|b|, tiny) over the steps; infinite if the numbers of steps differ.
double LargestRelativeDifference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace cleave::tests

#endif  // CLEAVE_TESTS_SUPPORT_COMPILE_H_
