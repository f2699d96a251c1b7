#include "runtime/einsum/einsum.h"

#include "runtime/einsum/formula.h"
#include "runtime/einsum/nest.h"
#include "runtime/einsum/product.h"
#include "runtime/kernels/movement.h"

namespace cleave::runtime {

void Einsum(const std::string& text, const std::vector<EinsumInput>& inputs, Reals result,
            const std::vector<Diagonal>& diagonals) {
  const IndexedFormula formula = ReadFormula(text, inputs, diagonals);
  if (MultiplyAsMatrices(formula, inputs, result)) return;
  float* const sums = result.As<float>();
  if (HasDiagonal(formula.result)) Fill(0.0f, PlacesOf(formula.result, formula).elements, sums);
  std::vector<EinsumInput> meant = inputs;
  for (size_t i = 0; i < meant.size(); ++i) {
    meant[i].values = meant[i].values + PlacesOf(formula.inputs[i], formula).first;
  }
  SumByResult(formula, meant, sums + PlacesOf(formula.result, formula).first);
}

}  // namespace cleave::runtime
