// Says when a loop should run in several threads.
#ifndef CLEAVE_RUNTIME_KERNELS_CPU_PARALLEL_H_
#define CLEAVE_RUNTIME_KERNELS_CPU_PARALLEL_H_

#include <cstdint>

namespace cleave::runtime {

// Below this number of elements, starting threads costs more than it gains (about 5 microseconds).
constexpr int64_t kParallelElements = 16384;

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CPU_PARALLEL_H_
