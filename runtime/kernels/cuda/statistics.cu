#include <algorithm>

#include "runtime/device/bfloat16.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/float16.h"
#include "runtime/device/memory.h"
#include "runtime/kernels/cuda/group.cuh"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/kernels/statistics.h"

namespace cleave::runtime {
namespace {

constexpr int kStatisticsThreads = 256;

// Each block's share of the elements; `parts` has one element per block.
template <typename T>
__global__ void StatisticsOfParts(const T* values, int64_t count, Statistics* parts) {
  // A float does not hold every int32_t.
  double squares = 0.0, zeros = 0.0, least = Min::kIdentity, most = Max::kIdentity;
  const Min min;
  const Max max;
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    const double value = static_cast<double>(values[i]);
    squares += value * value;
    if (value == 0.0) zeros += 1.0;
    least = min(least, value);
    most = max(most, value);
  }
  squares = GroupReduce<kStatisticsThreads>(squares, Sum());
  zeros = GroupReduce<kStatisticsThreads>(zeros, Sum());
  least = GroupReduce<kStatisticsThreads>(least, min);
  most = GroupReduce<kStatisticsThreads>(most, max);
  // The host knows the count.
  if (threadIdx.x == 0) parts[blockIdx.x] = {0.0, squares, zeros, least, most};
}

}  // namespace

template <typename T>
Statistics StatisticsOf(const T* values, int64_t count) {
  Statistics all;
  if (count == 0) return all;
  // Each block takes about 4096 elements.
  const int64_t blocks = std::clamp<int64_t>((count + 4095) / 4096, 1, 1024);
  ScratchLayout layout;
  const int64_t place = layout.Add<Statistics>(blocks);
  const ScratchMemory scratch(layout);
  Statistics* const parts = scratch.At<Statistics>(place);
  Launch(StatisticsOfParts<T>, {blocks, kStatisticsThreads}, values, count, parts);
  const Statistics* const on_host = OnHost(parts, blocks);
  for (int64_t i = 0; i < blocks; ++i) all.Add(on_host[i]);
  all.count = static_cast<double>(count);
  return all;
}

template Statistics StatisticsOf(const float*, int64_t);
template Statistics StatisticsOf(const BFloat16*, int64_t);
template Statistics StatisticsOf(const Float16*, int64_t);
template Statistics StatisticsOf(const int32_t*, int64_t);

}  // namespace cleave::runtime
