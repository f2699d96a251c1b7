// Sums of products by loops with one accumulator per result.
#include <algorithm>
#include <vector>

#include "runtime/einsum/nest.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// Moves `pointers` to place `number` of the nest, the last index fastest.
void MoveTo(const Nest& nest, size_t depth, int64_t number, std::vector<const float*>& pointers) {
  while (depth-- > 0) {
    const int64_t position = number % nest.sizes[depth];
    number /= nest.sizes[depth];
    for (size_t i = 0; i < pointers.size(); ++i) pointers[i] += position * nest.strides[depth][i];
  }
}

// Sum over `count` places of the product of what the pointers show, which move by their strides.
float SumAlong(const std::vector<const float*>& pointers, const std::vector<int64_t>& strides, int64_t count) {
  float sum = 0;
  if (pointers.size() == 1) {
    const float* const x = pointers[0];
    const int64_t step = strides[0];
#pragma omp simd reduction(+ : sum)
    for (int64_t n = 0; n < count; ++n) sum += x[n * step];
  } else if (pointers.size() == 2) {
    const float* const x = pointers[0];
    const float* const y = pointers[1];
    const int64_t step_x = strides[0], step_y = strides[1];
#pragma omp simd reduction(+ : sum)
    for (int64_t n = 0; n < count; ++n) sum += x[n * step_x] * y[n * step_y];
  } else {
    for (int64_t n = 0; n < count; ++n) {
      float product = 1;
      for (size_t i = 0; i < pointers.size(); ++i) product *= pointers[i][n * strides[i]];
      sum += product;
    }
  }
  return sum;
}

// The product of what the pointers show, summed over all of the nest, whose last index is innermost. `inner` is room
// for as many pointers.
float SumOver(const Nest& nest, const std::vector<const float*>& pointers, std::vector<const float*>& inner) {
  const size_t last = nest.sizes.size() - 1;
  int64_t outer = 1;
  for (size_t d = 0; d < last; ++d) outer *= nest.sizes[d];
  float sum = 0;
  for (int64_t n = 0; n < outer; ++n) {
    inner = pointers;
    MoveTo(nest, last, n, inner);
    sum += SumAlong(inner, nest.strides[last], nest.sizes[last]);
  }
  return sum;
}

}  // namespace

// Every result is a sum of its own. Threads share the results among them, in runs along the last index.
void SumByResult(const IndexedFormula& formula, const std::vector<EinsumInput>& inputs, float* result) {
  const Loops loops = LoopsOf(formula);
  const Nest& outer = loops.kept;
  const Nest& inner = loops.summed;
  const size_t last = outer.sizes.size() - 1;
  const int64_t run = outer.sizes[last];
  const int64_t results = ElementCount(outer.sizes);
  if (results == 0) return;
  const int64_t work = results * std::max<int64_t>(ElementCount(inner.sizes), 1);
  constexpr int64_t kParallelProducts = 16384;  // Below, starting threads costs more than it gains.
#pragma omp parallel for if (work >= kParallelProducts)
  for (int64_t n = 0; n < results / run; ++n) {
    std::vector<const float*> pointers;
    for (const EinsumInput& input : inputs) pointers.push_back(input.values.As<float>());
    MoveTo(outer, last, n, pointers);
    float* target = result;
    int64_t rest = n;
    for (size_t d = last; d-- > 0;) {
      target += rest % outer.sizes[d] * loops.result_strides[d];
      rest /= outer.sizes[d];
    }
    std::vector<const float*> room = pointers;
    for (int64_t j = 0; j < run; ++j) {
      target[j * loops.result_strides[last]] = SumOver(inner, pointers, room);
      for (size_t i = 0; i < pointers.size(); ++i) pointers[i] += outer.strides[last][i];
    }
  }
}

}  // namespace cleave::runtime
