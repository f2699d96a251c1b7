// Losses that train some parameters alone.
#ifndef CLEAVE_FRONTEND_EVALUATE_TRAINER_H_
#define CLEAVE_FRONTEND_EVALUATE_TRAINER_H_

#include <string>
#include <vector>

#include "base/source/source.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

// The sum of all losses of a model that train parameters with names of these patterns.
struct Trainer {
  ir::OpId loss;
  std::vector<std::string> patterns;  // Empty: all on which the sum depends.
  Span span;                          // Of the first of them.
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_TRAINER_H_
