// Sums of products that are no products of matrices. Each result is one thread's sum, or one block's where there are
// few results of many products each; products are added in an order that depends on the sizes only.
#include "runtime/device/cuda/cuda.h"
#include "runtime/einsum/nest.h"  // IWYU pragma: associated
#include "runtime/error/error.h"
#include "runtime/kernels/cuda/group.cuh"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// Limits of what kernels take as arguments.
constexpr int kMostIndexes = 16;
constexpr int kMostInputs = 8;

struct DeviceNest {
  int depth = 0;
  int64_t count = 1;  // The number of all places.
  int64_t sizes[kMostIndexes] = {};
  int64_t strides[kMostIndexes][kMostInputs] = {};
};

struct Sums {
  int inputs = 0;
  const float* values[kMostInputs] = {};
  DeviceNest kept;
  DeviceNest summed;
  int64_t result_strides[kMostIndexes] = {};
};

DeviceNest OnDevice(const Nest& nest) {
  DeviceNest on_device;
  on_device.depth = static_cast<int>(nest.sizes.size());
  on_device.count = ElementCount(nest.sizes);
  for (size_t d = 0; d < nest.sizes.size(); ++d) {
    on_device.sizes[d] = nest.sizes[d];
    for (size_t i = 0; i < nest.strides[d].size(); ++i) on_device.strides[d][i] = nest.strides[d][i];
  }
  return on_device;
}

// Calls visit(i) for each input. Arrays of a thread stay in registers, because every i is a constant.
template <typename Visit>
__device__ inline void ForEachInput(const Sums& sums, Visit visit) {
#pragma unroll
  for (int i = 0; i < kMostInputs; ++i) {
    if (i < sums.inputs) visit(i);
  }
}

// The places of the inputs' elements, from `at` on, that belong to place `number` of the nest.
__device__ inline void MoveTo(const Sums& sums, const DeviceNest& nest, int64_t number, int64_t* at) {
  for (int d = nest.depth - 1; d >= 0; --d) {
    const int64_t position = number % nest.sizes[d];
    number /= nest.sizes[d];
    ForEachInput(sums, [&](int i) { at[i] += position * nest.strides[d][i]; });
  }
}

// The sum over places first, first + step, … of the summed indexes, of result number `result`.
__device__ inline float PartOfSum(const Sums& sums, int64_t result, int64_t first, int64_t step) {
  int64_t begin[kMostInputs] = {};
  MoveTo(sums, sums.kept, result, begin);
  float sum = 0.0f;
  for (int64_t n = first; n < sums.summed.count; n += step) {
    int64_t at[kMostInputs];
    ForEachInput(sums, [&](int i) { at[i] = begin[i]; });
    MoveTo(sums, sums.summed, n, at);
    float product = 1.0f;
    ForEachInput(sums, [&](int i) { product *= sums.values[i][at[i]]; });
    sum += product;
  }
  return sum;
}

__device__ inline int64_t PlaceOfResult(const Sums& sums, int64_t number) {
  int64_t place = 0;
  for (int d = sums.kept.depth - 1; d >= 0; --d) {
    place += number % sums.kept.sizes[d] * sums.result_strides[d];
    number /= sums.kept.sizes[d];
  }
  return place;
}

__global__ void SumByThread(Sums sums, float* result) {
  for (int64_t n = FirstElement(); n < sums.kept.count; n += ElementStride()) {
    result[PlaceOfResult(sums, n)] = PartOfSum(sums, n, 0, 1);
  }
}

__global__ void SumByBlock(Sums sums, float* result) {
  for (int64_t n = blockIdx.x; n < sums.kept.count; n += gridDim.x) {
    const float sum = GroupReduce<kThreadsPerBlock>(PartOfSum(sums, n, threadIdx.x, kThreadsPerBlock), Sum());
    if (threadIdx.x == 0) result[PlaceOfResult(sums, n)] = sum;
  }
}

}  // namespace

void SumByResult(const IndexedFormula& formula, const std::vector<EinsumInput>& inputs, float* result) {
  if (formula.sizes.size() >= kMostIndexes || inputs.size() > kMostInputs) {
    Die(ExitCode::kInput, Format("an einsum of %zu tensors with %zu indexes: on a GPU there are at most %d and %d",
                                 inputs.size(), formula.sizes.size(), kMostInputs, kMostIndexes - 1));
  }
  const Loops loops = LoopsOf(formula);
  Sums sums;
  sums.inputs = static_cast<int>(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) sums.values[i] = inputs[i].values.As<float>();
  sums.kept = OnDevice(loops.kept);
  sums.summed = OnDevice(loops.summed);
  for (size_t d = 0; d < loops.result_strides.size(); ++d) sums.result_strides[d] = loops.result_strides[d];
  constexpr int64_t kFewResults = 4096;
  if (sums.kept.count < kFewResults && sums.summed.count >= kThreadsPerBlock) {
    Launch(SumByBlock, {sums.kept.count, kThreadsPerBlock}, sums, result);
  } else {
    Launch(SumByThread, ForElements(sums.kept.count), sums, result);
  }
}

}  // namespace cleave::runtime
