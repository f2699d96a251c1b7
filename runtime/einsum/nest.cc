#include "runtime/einsum/nest.h"

#include <algorithm>
#include <set>

namespace cleave::runtime {
namespace {

Nest NestOver(const std::vector<int>& indexes, const IndexedFormula& formula) {
  std::vector<std::vector<int64_t>> by_input;
  for (const Term& term : formula.inputs) by_input.push_back(PlacesOf(term, formula).strides);
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

// The indexes of the result, neighbours last, and those that are summed over, the longest last.
void SortIndexes(const IndexedFormula& formula, std::vector<int>& kept, std::vector<int>& summed) {
  const std::set<int> in_result(formula.result.begin(), formula.result.end());
  kept.assign(in_result.begin(), in_result.end());
  const std::vector<int64_t> strides = PlacesOf(formula.result, formula).strides;
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

}  // namespace

Loops LoopsOf(IndexedFormula formula) {
  std::vector<int> kept, summed;
  SortIndexes(formula, kept, summed);
  formula.sizes.push_back(1);
  Loops loops = {NestOver(kept, formula), {}, NestOver(summed, formula)};
  const std::vector<int64_t> strides = PlacesOf(formula.result, formula).strides;
  for (const int index : kept) loops.result_strides.push_back(strides[static_cast<size_t>(index)]);
  return loops;
}

}  // namespace cleave::runtime
