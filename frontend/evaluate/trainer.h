// Losses that train some parameters alone.
#ifndef CLEAVE_FRONTEND_EVALUATE_TRAINER_H_
#define CLEAVE_FRONTEND_EVALUATE_TRAINER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/source/source.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

// In which steps losses train: of every `every` steps behind the first `after` the first `turns`.
struct Turns {
  int64_t every = 1;
  int64_t after = 0;
  int64_t turns = 1;

  bool operator==(const Turns&) const = default;
};

// The sum of all losses of a model that train parameters with names of these patterns.
struct Trainer {
  ir::OpId loss;
  std::vector<std::string> patterns;  // Empty: all on which the sum depends.
  Span span;                          // Of the first of them.
  Turns turns = {};
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_TRAINER_H_
