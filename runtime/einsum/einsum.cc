#include "runtime/einsum/einsum.h"

#include <algorithm>
#include <set>

#include "runtime/einsum/formula.h"
#include "runtime/einsum/product.h"
#include "runtime/kernels/movement.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// A loop nest over some indexes: their sizes, and the strides of every input.
struct Nest {
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> strides;  // [index][input]
};

Nest NestOver(const std::vector<int>& indexes, const IndexedFormula& formula) {
  std::vector<std::vector<int64_t>> by_input;
  for (const Term& term : formula.inputs) by_input.push_back(StridesOf(term, formula.sizes));
  Nest nest;
  for (const int index : indexes) {
    nest.sizes.push_back(formula.sizes[static_cast<size_t>(index)]);
    nest.strides.emplace_back();
    for (const std::vector<int64_t>& strides : by_input) {
      nest.strides.back().push_back(strides[static_cast<size_t>(index)]);
    }
  }
  return nest;
}

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

// The indexes of the result, neighbours last, and those that are summed over, the longest last.
void SortIndexes(const IndexedFormula& formula, std::vector<int>& kept, std::vector<int>& summed) {
  const std::set<int> in_result(formula.result.begin(), formula.result.end());
  kept.assign(in_result.begin(), in_result.end());
  const std::vector<int64_t> strides = StridesOf(formula.result, formula.sizes);
  std::sort(kept.begin(), kept.end(),
            [&](int a, int b) { return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)]; });
  for (int index = 0; index < static_cast<int>(formula.sizes.size()); ++index) {
    if (in_result.count(index) == 0) summed.push_back(index);
  }
  std::stable_sort(summed.begin(), summed.end(), [&](int a, int b) {
    return formula.sizes[static_cast<size_t>(a)] < formula.sizes[static_cast<size_t>(b)];
  });
  // An index of one element, so that there is always a last one.
  if (kept.empty()) kept.push_back(static_cast<int>(formula.sizes.size()));
  if (summed.empty()) summed.push_back(static_cast<int>(formula.sizes.size()));
}

// Every result is a sum of its own, so threads share the results, run by run along the last index.
void SumByResult(IndexedFormula formula, const std::vector<EinsumInput>& inputs, float* result) {
  std::vector<int> kept, summed;
  SortIndexes(formula, kept, summed);
  formula.sizes.push_back(1);
  const Nest outer = NestOver(kept, formula);
  const Nest inner = NestOver(summed, formula);
  const std::vector<int64_t> result_strides = StridesOf(formula.result, formula.sizes);
  const size_t last = kept.size() - 1;
  const int64_t run = outer.sizes[last];
  const int64_t results = ElementCount(outer.sizes);
  if (results == 0) return;
  const int64_t work = results * std::max<int64_t>(ElementCount(inner.sizes), 1);
  constexpr int64_t kParallelProducts = 16384;  // Below, starting threads costs more than it gains.
#pragma omp parallel for if (work >= kParallelProducts)
  for (int64_t n = 0; n < results / run; ++n) {
    std::vector<const float*> pointers;
    for (const EinsumInput& input : inputs) pointers.push_back(input.values);
    MoveTo(outer, last, n, pointers);
    float* target = result;
    int64_t rest = n;
    for (size_t d = last; d-- > 0;) {
      target += rest % outer.sizes[d] * result_strides[static_cast<size_t>(kept[d])];
      rest /= outer.sizes[d];
    }
    std::vector<const float*> room = pointers;
    for (int64_t j = 0; j < run; ++j) {
      target[j * result_strides[static_cast<size_t>(kept[last])]] = SumOver(inner, pointers, room);
      for (size_t i = 0; i < pointers.size(); ++i) pointers[i] += outer.strides[last][i];
    }
  }
}

}  // namespace

void Einsum(const std::string& text, const std::vector<EinsumInput>& inputs, float* result) {
  const IndexedFormula formula = ReadFormula(text, inputs);
  if (MultiplyAsMatrices(formula, inputs, result)) return;
  int64_t elements = 1;
  for (const int index : formula.result) elements *= formula.sizes[static_cast<size_t>(index)];
  const std::set<int> distinct(formula.result.begin(), formula.result.end());
  if (distinct.size() != formula.result.size()) Fill(0.0f, elements, result);
  SumByResult(formula, inputs, result);
}

}  // namespace cleave::runtime
