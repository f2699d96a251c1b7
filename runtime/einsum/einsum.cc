#include "runtime/einsum/einsum.h"

#include <set>

#include "runtime/einsum/formula.h"
#include "runtime/einsum/nest.h"
#include "runtime/einsum/product.h"
#include "runtime/kernels/movement.h"

namespace cleave::runtime {

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
