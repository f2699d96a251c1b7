// Random numbers of any shape as a source of samples.
#ifndef CLEAVE_RUNTIME_DATA_SYNTHETIC_H_
#define CLEAVE_RUNTIME_DATA_SYNTHETIC_H_

#include <cstdint>

#include "runtime/data/data.h"

namespace cleave::runtime {

// The first input is uniform with deviation 1, or integers below its limit. Every other one is a target that can be
// learnt: a float input is a fixed random function of the first, and so is a class ([batch] of integers) of a float
// first input; integers of the first input's shape are a fixed map of them.
DataSpec Synthetic(int64_t train_samples = 8192, int64_t test_samples = 0);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_SYNTHETIC_H_
