// When a loop is worth several threads.
#ifndef CLEAVE_RUNTIME_KERNELS_CPU_PARALLEL_H_
#define CLEAVE_RUNTIME_KERNELS_CPU_PARALLEL_H_

#include <cstdint>

namespace cleave::runtime {

// Elements touched below which starting threads costs more than it gains (some 5 microseconds).
constexpr int64_t kParallelElements = 16384;

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CPU_PARALLEL_H_
