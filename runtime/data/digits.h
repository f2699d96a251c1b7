// Digits that are drawn from the seed as a source of samples.
#ifndef CLEAVE_RUNTIME_DATA_DIGITS_H_
#define CLEAVE_RUNTIME_DATA_DIGITS_H_

#include <cstdint>

#include "runtime/data/data.h"

namespace cleave::runtime {

// Handwritten-like digits, 28x28, normalised like Mnist, made from the seed; no file.
DataSpec Digits(int64_t train_samples = 20000, int64_t test_samples = 4000);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_DIGITS_H_
