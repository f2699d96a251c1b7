// Reductions of local tensors over some of their dimensions.
//
//   ReduceSum(gradient, {64, 512}, {0}, bias_gradient);   // Sums over the rows.
//
// Row-major; computed in f32. The order of summation depends on the shape only, not on the number of threads. With no
// elements a sum is 0, a maximum is -infinity and a minimum is infinity.
#ifndef CLEAVE_RUNTIME_KERNELS_REDUCE_H_
#define CLEAVE_RUNTIME_KERNELS_REDUCE_H_

#include <cstdint>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/device/reals.h"

namespace cleave::runtime {

void ReduceSum(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y);
void ReduceMax(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y);
// y = the largest |x|; 0 where there are no elements.
void ReduceMaxAbs(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y);
void ReduceMin(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, float* y);

// y = the sum of the squares of all elements.
void SumOfSquares(const float* x, int64_t count, float* y);

// The same for several tensors at once, with the same digits: a tensor of `count` elements, and where its sum goes.
struct SquaredTensor {
  const float* x;
  int64_t count;
  float* y;
};
void SumsOfSquares(const std::vector<SquaredTensor>& tensors);

// unit = the least power of two u, of f32's normal numbers, with |x| <= u * largest_number for all elements: numbers of
// 8 bits, of which that is the largest one, have it as their unit.
void UnitOf(ConstReals x, int64_t count, float largest_number, float* unit);

// The same for several tensors at once: the arguments for each of them.
struct MeasuredTensor {
  ConstReals x = nullptr;
  int64_t count = 0;
  float largest_number = 1;
  float* unit = nullptr;
};
void UnitsOf(const std::vector<MeasuredTensor>& tensors);

// Sums divided by `count`: the elements of the whole tensor that make one mean, of which this rank may hold only some.
void ReduceMean(ConstReals x, const std::vector<int64_t>& shape, const std::vector<int>& axes, int64_t count, float* y);

// total = part where it is the first, else both combined, element by element: what a step makes of the parts of its
// micro-batches. T is float, int32_t, BFloat16 or Float16; of 16 bits it is combined in f32 and rounded each time.
template <typename T>
void Accumulate(Reduction reduction, bool first, const T* part, int64_t count, T* total);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_REDUCE_H_
