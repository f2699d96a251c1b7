// What the text of a model asks of the numbers that flags of its program change: `assert(beta1 < 1.0, …)`, and that
// `choose(momentum == 0.0, …)` is decided as it was. The program asks it again, of the numbers that it is given.
#ifndef CLEAVE_FRONTEND_EVALUATE_STATICS_DEMANDS_H_
#define CLEAVE_FRONTEND_EVALUATE_STATICS_DEMANDS_H_

#include <string>
#include <vector>

#include "frontend/value/value.h"
#include "ir/graph/scalar/scalar.h"
#include "ir/graph/training/training.h"

namespace cleave::frontend {

class Demands {
 public:
  // `otherwise`: the message where the condition does not hold, in which `{lr}` stands for the number of that name.
  void Add(const ir::Scalar& condition, std::string otherwise);

  // The value as it is for the numbers of the model, where it does not depend on the step; asks that it stay the same.
  // Any other value is returned as it is.
  Value Settled(const Value& value);

  const std::vector<ir::NumberDemand>& all() const { return all_; }

 private:
  std::vector<ir::NumberDemand> all_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_STATICS_DEMANDS_H_
