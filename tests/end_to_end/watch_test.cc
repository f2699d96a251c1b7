// Gradients, states of the optimizer and any value by its name: what is shown and what metrics.jsonl says of it agree
// with each other and with the training, on any number of ranks.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr char kNetwork[] = R"(model Network(batch: int = 8) {
    input x: f32[batch, 8];
    input target: f32[batch, 4];
    param w: f32[8, 8] = xavier_uniform();
    param v: f32[8, 4] = xavier_uniform();
    let h = matmul(x, w);
    let y = relu(h);
    loss mse(matmul(y, v), target); LOOKS
}
train Network { data = synthetic(train = 24, test = 0); optimizer = OPTIMIZER; epochs = 1; log_every = 1; }
parallel { PINS }
)";

// Every tensor that was printed under a headline that begins with `name` and a space, one after another.
std::vector<std::vector<double>> Printed(const std::string& out, const std::string& name) {
  std::vector<std::vector<double>> tensors;
  bool inside = false;
  for (const absl::string_view line : absl::StrSplit(out, '\n')) {
    if (absl::StrContains(line, ") =")) {
      inside = absl::StartsWith(line, absl::StrCat(name, " ["));
      if (inside) tensors.emplace_back();
    } else if (!absl::StartsWith(line, "[") && !absl::StartsWith(line, " ")) {
      inside = false;
    } else if (inside) {
      for (const absl::string_view word : absl::StrSplit(line, absl::ByAnyChar("[], "), absl::SkipEmpty())) {
        double number = 0;
        EXPECT_TRUE(absl::SimpleAtod(word, &number)) << line;
        tensors.back().push_back(number);
      }
    }
  }
  return tensors;
}

struct Plan {
  int ranks = 1;
  std::string pins;
};

// The batch is cut, the contracted dimension of the first product, its columns; on four ranks in two ways at once.
const Plan kPlans[] = {{1, ""},
                       {2, "search = propagate; pin \"x\" = layout(\"m0\", _);"},
                       {2, "search = propagate; pin \"w\" = layout(\"m0\", _);"},
                       {2, "search = propagate; pin \"w\" = layout(_, \"m0\");"},
                       {4, "search = propagate; pin \"x\" = layout(\"m0\", _); pin \"w\" = layout(_, \"m1\");"},
                       {4, "search = propagate; pin \"w\" = layout(\"m0\", \"m1\");"},
                       {1, "micro_batches = 3;"},
                       {2, "search = propagate; pin \"x\" = layout(\"m0\", _); micro_batches = 3;"},
                       {4, "stages = 2; micro_batches = 3; pipeline_schedule = zero_bubble;"}};

class Watching : public testing::Test {
 protected:
  static void SetUpTestSuite() { folder_ = FreshFolder("watching"); }

  static std::string Text(const std::string& optimizer, const std::string& looks, const std::string& pins) {
    return absl::StrReplaceAll(kNetwork, {{"OPTIMIZER", optimizer}, {"LOOKS", looks}, {"PINS", pins}});
  }

  // Trains, and returns what was printed.
  std::string Train(const std::string& text, int ranks, const std::vector<std::string>& more,
                    const std::string& target = "cpu") {
    const std::string out = absl::StrCat(folder_, "/", target);
    WriteText(folder_ + "/m.model", text);
    std::vector<std::string> command = {"m.model", "--devices", absl::StrCat(ranks), "--target", target, "--out",
                                        out,       "--quiet"};
    command.insert(command.end(), more.begin(), more.end());
    const CommandResult compiled = Compile(command, folder_);
    EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
    const CommandResult built = target == "cuda" ? MakeWithStandIn(out, {"COMM=local"}) : MakeLocal(out);
    EXPECT_EQ(built.exit_code, 0) << built.err;
    const CommandResult ran = StartLocal(out, {}, {"OMP_NUM_THREADS=1"});
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    return ran.out;
  }

  // The objects of metrics.jsonl, one for each step.
  static std::vector<Json> Steps(const std::string& target = "cpu") {
    std::vector<Json> steps;
    for (const absl::string_view line :
         absl::StrSplit(ReadText(absl::StrCat(folder_, "/", target, "/metrics.jsonl")), '\n', absl::SkipEmpty())) {
      steps.push_back(*ParseStrictJson(line));
    }
    EXPECT_EQ(steps.size(), 3u);
    return steps;
  }

  static std::string folder_;
};

std::string Watching::folder_;

void ExpectNear(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value, expected, 2e-5 * std::max(1.0, std::abs(expected))) << what;
}

// By the rule of the optimizer, gradients and states are what takes a parameter from one step to the next.
void ExpectUpdates(const std::string& out) {
  const auto w = Printed(out, "w"), gradient = Printed(out, "w.grad"), momentum = Printed(out, "w.momentum");
  ASSERT_EQ(w.size(), 3u) << out;
  ASSERT_EQ(gradient.size(), 3u) << out;
  ASSERT_EQ(momentum.size(), 3u) << out;
  for (size_t step = 0; step < 3; ++step) {
    ASSERT_EQ(w[step].size(), 64u);
    for (size_t i = 0; i < 64; ++i) {
      const double before = step == 0 ? 0 : momentum[step - 1][i];
      ExpectNear(momentum[step][i], 0.9 * before + gradient[step][i], "momentum");
      if (step < 2) ExpectNear(w[step + 1][i], w[step][i] - 0.5 * momentum[step][i], "w");
    }
  }
}

// What was watched, from the numbers that were printed.
void ExpectStatistics(const Json& watched, const std::vector<double>& values, const std::string& name) {
  ASSERT_TRUE(watched.contains(name)) << watched.dump();
  double squares = 0, zeros = 0, least = values[0], most = values[0];
  for (const double value : values) {
    squares += value * value;
    zeros += value == 0;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  const Json& found = watched.at(name);
  ExpectNear(found.at("norm").get<double>(), std::sqrt(squares), name);
  ExpectNear(found.at("min").get<double>(), least, name);
  ExpectNear(found.at("max").get<double>(), most, name);
  EXPECT_EQ(found.at("zeros").get<double>(), zeros / static_cast<double>(values.size())) << name;
}

TEST_F(Watching, StatisticsAreThoseOfTheWholeTensors) {
  const std::vector<std::string> watch = {"--watch", "*.grad", "--watch", "y.*",
                                          "--watch", "w",      "--watch", "w.momentum"};
  const std::string looks = "print(w); print(w.grad); print(h.grad); print(y); print(w.momentum);";
  for (const std::string target : {"cpu", "cuda"}) {
    for (const Plan& plan : kPlans) {
      if (target == "cuda" && &plan != &kPlans[1] && &plan != &kPlans[6] && &plan != &kPlans[8]) continue;
      SCOPED_TRACE(absl::StrCat(target, " ", plan.ranks, " ranks ", plan.pins));
      const std::string out =
          Train(Text("momentum(lr = 0.5, momentum = 0.9)", looks, plan.pins), plan.ranks, watch, target);
      ExpectUpdates(out);
      const std::vector<Json> steps = Steps(target);
      for (size_t step = 0; step < steps.size(); ++step) {
        const Json& watched = steps[step].at("watch");
        for (const std::string name : {"w", "w.grad", "h.matmul.grad", "y.relu", "w.momentum"}) {
          ExpectStatistics(watched, Printed(out, name).at(step), name);
        }
        EXPECT_TRUE(watched.contains("v.grad"));
        EXPECT_FALSE(watched.contains("h.matmul"));
      }
    }
  }
}

TEST_F(Watching, WatchingChangesNoTrainingAndTheNormOfTheParametersIsAlwaysThere) {
  std::vector<double> norms;
  for (const Plan& plan : {kPlans[1], kPlans[5]}) {
    SCOPED_TRACE(absl::StrCat(plan.ranks, " ranks ", plan.pins));
    const std::string text = Text("adam(lr = 0.1)", "print(w); print(v);", plan.pins);
    const std::string out = Train(text, plan.ranks, {});
    const std::vector<Json> plain = Steps();
    Train(text, plan.ranks, {"--watch", "*"});
    const std::vector<Json> watched = Steps();
    for (size_t step = 0; step < plain.size(); ++step) {
      // What is stored is rounded where it might have stayed in a register.
      const double loss = plain[step].at("loss").get<double>();
      EXPECT_NEAR(watched[step].at("loss").get<double>(), loss, 1e-5 * loss);
      EXPECT_FALSE(plain[step].contains("watch"));
      EXPECT_GT(watched[step].at("watch").size(), 20u);
      double squares = 0;
      for (const std::string name : {"w", "v"}) {
        const std::vector<double> values = Printed(out, name).at(step);
        for (const double value : values) squares += value * value;
      }
      const double norm = plain[step].at("parameter_norm").get<double>();
      ExpectNear(norm, std::sqrt(squares), "parameter_norm");
      if (norms.size() < plain.size()) norms.push_back(norm);
      EXPECT_NEAR(norm, norms[step], 1e-5 * norms[step]) << "the first plan";
    }
  }
}

}  // namespace
}  // namespace cleave::tests
