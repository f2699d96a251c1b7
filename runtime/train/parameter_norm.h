// Private to runtime/train: the norm of all parameters together.
#ifndef CLEAVE_RUNTIME_TRAIN_PARAMETER_NORM_H_
#define CLEAVE_RUNTIME_TRAIN_PARAMETER_NORM_H_

#include <string>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

// Of the parameters as they lie on the ranks: one pass over what a rank holds, and one message. In a manual model, in
// which ranks may have parameters of their own, it is that of rank 0's.
class ParameterNorm {
 public:
  // Without those of the names `left_out`, and states that are called `<name>.…`.
  ParameterNorm(Comm& comm, const std::vector<ParameterView>& parameters, const std::vector<std::string>& left_out);

  double Squares() const;               // Of the pieces that this rank counts.
  double NormOf(double squares) const;  // Called by all ranks, each with its own `squares`; the same on all.

 private:
  struct Piece {
    Reals values;
    int64_t count;
  };

  Comm& comm_;
  std::vector<Piece> mine_;  // Those of which this rank has the first replica.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_PARAMETER_NORM_H_
