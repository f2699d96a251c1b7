// Dropout that does not depend on how a tensor is cut: what is dropped is a function of the stream and of the element's
// index in the whole tensor.
#ifndef CLEAVE_RUNTIME_KERNELS_DROPOUT_H_
#define CLEAVE_RUNTIME_KERNELS_DROPOUT_H_

#include "runtime/mesh/mesh.h"
#include "runtime/random/random.h"

namespace cleave::runtime {

// Each element of a rank's piece is 0 with probability `rate`, else x / (1 - rate); at step 0, which is testing, y = x.
// REQUIRES: 0 <= rate < 1.
void Dropout(const Stream& stream, const Region& piece, float rate, const float* x, float* y);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_DROPOUT_H_
