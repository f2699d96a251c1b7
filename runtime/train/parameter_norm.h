// Private to runtime/train: the norm of all parameters together.
#ifndef CLEAVE_RUNTIME_TRAIN_PARAMETER_NORM_H_
#define CLEAVE_RUNTIME_TRAIN_PARAMETER_NORM_H_

#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

// Of the parameters as they lie on the ranks: one pass over what a rank holds, and one message. In a manual model, in
// which ranks may have parameters of their own, it is that of rank 0's.
class ParameterNorm {
 public:
  // Called by all ranks.
  ParameterNorm(Comm& comm, std::vector<ParameterView> parameters);

  double Squares() const;               // Of the pieces that this rank counts.
  double NormOf(double squares) const;  // Called by all ranks, each with its own `squares`; the same on all.

 private:
  Comm& comm_;
  std::vector<ParameterView> mine_;  // The pieces that no rank before this one holds too.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_PARAMETER_NORM_H_
