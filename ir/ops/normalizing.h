// What layer_norm and its gradients share. Inside of ir/ops only.
#ifndef CLEAVE_IR_OPS_NORMALIZING_H_
#define CLEAVE_IR_OPS_NORMALIZING_H_

#include <cstdint>

namespace cleave {

// Mean and 1 / sqrt(variance + epsilon) of a row.
struct RowMoments {
  double mean = 0;
  double inverse_deviation = 0;
};

RowMoments MomentsOf(const double* row, int64_t length, double epsilon);

}  // namespace cleave

#endif  // CLEAVE_IR_OPS_NORMALIZING_H_
