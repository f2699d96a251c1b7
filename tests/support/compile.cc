#include "tests/support/compile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include "base/json/json.h"
#include "codegen/fixtures/fast_make.h"
#include "gtest/gtest.h"

namespace cleave::tests {

CommandResult Compile(const std::vector<std::string>& arguments, const std::string& folder) {
  std::vector<std::string> command = {DataPath("tools/compile")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunCommand(command, folder);
}

namespace {

CommandResult MakeBy(const std::string& command, const std::string& out, const std::vector<std::string>& arguments) {
  std::vector<std::string> shell = {"sh", "-c", command + " \"$@\"", "make"};
  shell.insert(shell.end(), arguments.begin(), arguments.end());
  return RunCommand(shell, out);
}

}  // namespace

CommandResult Make(const std::string& out, const std::vector<std::string>& arguments) {
  return MakeBy(codegen::FastMake(), out, arguments);
}

CommandResult MakeByGcc(const std::string& out, const std::vector<std::string>& arguments) {
  return MakeBy(codegen::FastMakeByGcc(), out, arguments);
}

CommandResult MakeWithStandIn(const std::string& out, const std::vector<std::string>& arguments) {
  return MakeBy(codegen::FastMakeWithStandIn(), out, arguments);
}

CommandResult Start(const std::string& out, const std::vector<std::string>& flags,
                    const std::vector<std::string>& environment) {
  std::vector<std::string> command = {"./run.sh"};
  command.insert(command.end(), flags.begin(), flags.end());
  return RunCommand(command, out, environment);
}

CommandResult MakeLocal(const std::string& out) { return Make(out, {"COMM=local"}); }

CommandResult StartLocal(const std::string& out, std::vector<std::string> flags,
                         const std::vector<std::string>& environment) {
  flags.insert(flags.begin(), {"--launch", "local"});
  return Start(out, flags, environment);
}

std::vector<double> Losses(const std::string& out) {
  std::vector<double> losses;
  std::istringstream lines(ReadText(out + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const absl::StatusOr<Json> step = ParseStrictJson(line);
    const bool is_evaluation = step.ok() && (step->contains("validation") || step->contains("test"));
    EXPECT_TRUE(step.ok() && step->is_object() && (is_evaluation || step->contains("loss"))) << line;
    if (step.ok() && step->is_object() && step->contains("loss")) losses.push_back(step->at("loss").get<double>());
  }
  return losses;
}

TrainedModel TrainModel(const std::string& model, const std::vector<std::string>& arguments, const std::string& folder,
                        size_t steps) {
  const std::string out = folder + "/out";
  std::vector<std::string> command = {model, "--out", out};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const CommandResult compiled = Compile(command, folder);
  EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
  const CommandResult built = MakeLocal(out);
  EXPECT_EQ(built.exit_code, 0) << built.err;
  const CommandResult ran = StartLocal(out, {"--steps", std::to_string(steps)});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  TrainedModel trained{.diagnostics = compiled.err, .said = ran.out, .losses = {}};
  if (ran.exit_code == 0) trained.losses = Losses(out);
  return trained;
}

double LargestRelativeDifference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size() || a.empty()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]) / std::max(std::abs(b[i]), 1e-6);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

}  // namespace cleave::tests
