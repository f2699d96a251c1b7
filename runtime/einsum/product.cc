#include "runtime/einsum/product.h"

#include <algorithm>

#include "runtime/device/workspace.h"
#include "runtime/kernels/movement.h"
#include "runtime/math/math.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

bool Has(const Term& term, int index) { return std::find(term.begin(), term.end(), index) != term.end(); }

// The indexes of a product by where they stand.
struct Roles {
  Term batch;       // In both inputs and the result.
  Term rows;        // In the first input and the result.
  Term columns;     // In the second input and the result.
  Term contracted;  // In both inputs.
};

// False where the einsum is no product of matrices. Contracted indexes are in the order of the first input, which then
// lies as it should more often.
bool FindRoles(const IndexedFormula& formula, Roles& roles) {
  for (int index = 0; index < static_cast<int>(formula.sizes.size()); ++index) {
    if (Has(formula.inputs[0], index) + Has(formula.inputs[1], index) + Has(formula.result, index) < 2) return false;
  }
  for (const int index : formula.result) {
    const bool first = Has(formula.inputs[0], index);
    const bool second = Has(formula.inputs[1], index);
    (first && second ? roles.batch : first ? roles.rows : roles.columns).push_back(index);
  }
  for (const int index : formula.inputs[0]) {
    if (!Has(formula.result, index)) roles.contracted.push_back(index);
  }
  return !roles.contracted.empty() && !(roles.rows.empty() && roles.columns.empty());
}

Term Joined(const Term& a, const Term& b, const Term& c) {
  Term joined = a;
  joined.insert(joined.end(), b.begin(), b.end());
  joined.insert(joined.end(), c.begin(), c.end());
  return joined;
}

std::vector<int64_t> ShapeOf(const Term& term, const IndexedFormula& formula) {
  std::vector<int64_t> shape;
  for (const int index : term) shape.push_back(formula.sizes[static_cast<size_t>(index)]);
  return shape;
}

// The tensor with dimensions `from` in the order `to`.
void Reorder(const float* values, const Term& from, const Term& to, const IndexedFormula& formula, float* target) {
  std::vector<int> permutation;
  for (const int index : to) {
    permutation.push_back(static_cast<int>(std::find(from.begin(), from.end(), index) - from.begin()));
  }
  Transpose(values, ShapeOf(from, formula), permutation, target);
}

// One input as a batch of matrices.
struct Matrices {
  const float* values = nullptr;
  bool transposed = false;
  Scratch copy;
};

float* RoomFor(int64_t elements, Scratch& room) {
  return reinterpret_cast<float*>(room.AtLeast(elements * static_cast<int64_t>(sizeof(float))));
}

// As [batch, outer, inner], or with the last two swapped where the tensor lies so already.
void MakeMatrices(const EinsumInput& input, const Term& term, const Roles& roles, const Term& outer, const Term& inner,
                  const IndexedFormula& formula, Matrices& matrices) {
  matrices.values = input.values;
  const Term plain = Joined(roles.batch, outer, inner);
  if (term == plain) return;
  matrices.transposed = term == Joined(roles.batch, inner, outer);
  if (matrices.transposed) return;
  float* const copy = RoomFor(ElementCount(input.shape), matrices.copy);
  Reorder(input.values, term, plain, formula, copy);
  matrices.values = copy;
}

}  // namespace

bool MultiplyAsMatrices(const IndexedFormula& formula, const std::vector<EinsumInput>& inputs, float* result) {
  if (inputs.size() != 2) return false;
  if (HasDiagonal(formula.inputs[0]) || HasDiagonal(formula.inputs[1]) || HasDiagonal(formula.result)) return false;
  Roles roles;
  if (!FindRoles(formula, roles)) return false;
  Matrices a, b;
  MakeMatrices(inputs[0], formula.inputs[0], roles, roles.rows, roles.contracted, formula, a);
  MakeMatrices(inputs[1], formula.inputs[1], roles, roles.contracted, roles.columns, formula, b);
  MatMulShape shape;
  shape.batch = ElementCount(ShapeOf(roles.batch, formula));
  shape.m = ElementCount(ShapeOf(roles.rows, formula));
  shape.n = ElementCount(ShapeOf(roles.columns, formula));
  shape.k = ElementCount(ShapeOf(roles.contracted, formula));
  shape.transpose_a = a.transposed;
  shape.transpose_b = b.transposed;
  const Term product = Joined(roles.batch, roles.rows, roles.columns);
  if (product == formula.result) {
    MatMul(shape, a.values, b.values, result);
    return true;
  }
  Scratch room;
  float* const unordered = RoomFor(ElementCount(ShapeOf(product, formula)), room);
  MatMul(shape, a.values, b.values, unordered);
  Reorder(unordered, product, formula.result, formula, result);
  return true;
}

}  // namespace cleave::runtime
