// A rank's share of a mean over the whole batch: the sum of some values, divided by the number of all ranks' values. It
// is computed in double, in an order that depends only on the number of values.
#ifndef CLEAVE_RUNTIME_KERNELS_CUDA_MEAN_CUH_
#define CLEAVE_RUNTIME_KERNELS_CUDA_MEAN_CUH_

#include <algorithm>
#include <cstdint>

#include "runtime/device/cuda/cuda.h"
#include "runtime/kernels/cuda/group.cuh"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/kernels/losses.h"

namespace cleave::runtime {

constexpr int kMeanThreads = 256;

// Each block's sum of value(i) over the i that the mask counts; `parts` has one element per block.
template <typename Value>
__global__ void SumParts(Value value, int64_t count, SampleMask mask, double* parts) {
  double sum = 0.0;
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    const float weight = mask.values == nullptr ? 1.0f : mask.values[i / mask.rows_per_value];
    // Padding does not count, even when its value is not finite.
    if (weight != 0.0f) sum += static_cast<double>(weight) * static_cast<double>(value(i));
  }
  sum = GroupReduce<kMeanThreads>(sum, Sum());
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// Launched as one block. It is static because several files include it.
static __global__ void ShareOfParts(const double* parts, int count, double whole, float* share) {
  double sum = 0.0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kMeanThreads) sum += parts[i];
  sum = GroupReduce<kMeanThreads>(sum, Sum());
  if (threadIdx.x == 0) *share = static_cast<float>(sum / whole);
}

// Each block takes about 4096 values.
inline int64_t MeanBlocks(int64_t count) { return std::clamp<int64_t>((count + 4095) / 4096, 1, 1024); }

// Writes the share of the mean of value(0) .. value(count - 1). `parts`: MeanBlocks(count) elements.
template <typename Value>
void ShareOfMean(const Value& value, int64_t count, int64_t whole, const SampleMask& mask, double* parts,
                 float* share) {
  const int64_t blocks = MeanBlocks(count);
  Launch(SumParts<Value>, {blocks, kMeanThreads}, value, count, mask, parts);
  Launch(ShareOfParts, {1, kMeanThreads}, parts, static_cast<int>(blocks), static_cast<double>(whole), share);
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CUDA_MEAN_CUH_
