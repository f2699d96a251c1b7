// Units of micro-batches. Private to ir/transforms/distribute.
//
//   x [6, 8] in 2 micro-batches
//
//   x.largest = reduce_max_abs(x)       becomes   x.runs    = reshape(x)                    [2, 3, 8]
//   x.unit    = f8_unit(x.largest)                x.largest = reduce_max_abs(x.runs, 1, 2)  [2, 1, 1]
//   x.f8e4m3  = quantize(x, x.unit)               x.unit    = f8_unit(x.largest)            [2, 1, 1]
//   y = scaled_matmul(x.f8e4m3, …)                x.f8e4m3  = reshape(quantize(x.runs, x.unit))
//                                                 y = scaled_matmul(x.f8e4m3, …, x.unit, …)
//
// What a micro-batch computes then needs nothing of the others: it has one of the runs and the number that belongs to
// it, on however many ranks. Units of what does not depend on samples, such as weights, are one number as before.
#ifndef CLEAVE_IR_TRANSFORMS_DISTRIBUTE_UNITS_H_
#define CLEAVE_IR_TRANSFORMS_DISTRIBUTE_UNITS_H_

#include "absl/status/statusor.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {

// `distributed` as it is where nothing of 8 bits depends on samples, or there is one micro-batch. REQUIRES: FindRefusal
// has nothing against it.
absl::StatusOr<Distributed> WithUnitsOfMicroBatches(Distributed distributed);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DISTRIBUTE_UNITS_H_
