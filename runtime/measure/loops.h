// Private to runtime/measure: loops over memory where tensors lie. Implemented in cpu and in cuda.
#ifndef CLEAVE_RUNTIME_MEASURE_LOOPS_H_
#define CLEAVE_RUNTIME_MEASURE_LOOPS_H_

#include <cstdint>

#include "runtime/device/bfloat16.h"

namespace cleave::runtime {

// target[i] = -source[i]. Both are aligned to 16 bytes, and `count` is a multiple of 4.
void Negate(int64_t count, const float* source, float* target);

// Numbers between -1 and 1 of which neighbours differ: with zeros a GPU would take less power, and so run faster.
void FillMixed(int64_t count, float* target);
void FillMixed(int64_t count, BFloat16* target);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MEASURE_LOOPS_H_
