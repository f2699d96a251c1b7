// Optimizers for tests that do not know the language, in which those of users are written.
//
//   absl::StatusOr<Graph> graph = Differentiate(forward, {.kind = TestOptimizer::Kind::kMomentum, .rate = 0.1});
#ifndef CLEAVE_IR_TESTING_OPTIMIZERS_H_
#define CLEAVE_IR_TESTING_OPTIMIZERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/training.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {

// Gradient descent; with a velocity of decay 0.9; Adam with decays 0.9 and 0.999. Decay of weights is decoupled.
struct TestOptimizer {
  enum class Kind { kSgd, kMomentum, kAdam };
  Kind kind = Kind::kSgd;
  double rate = 0.01;
  std::string schedule = {};  // A ScalarText in `step` that takes the place of `rate`.
  double weight_decay = 0;
  double epsilon = 1e-8;  // Adam's.
  bool clips = false;     // Gradients are made shorter by a factor that all of them make.

  bool operator==(const TestOptimizer&) const = default;
};

// Its updates of all parameters of `forward` that have a gradient.
Updates UpdatesBy(const TestOptimizer& optimizer, const Graph& forward);

absl::StatusOr<Graph> Differentiate(Graph forward, const TestOptimizer& optimizer);

// Puts its name and its learning rate into `training`.
void SetOptimizer(const TestOptimizer& optimizer, Training& training);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_OPTIMIZERS_H_
