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
template <typename T>
void Reorder(const T* values, const Term& from, const Term& to, const IndexedFormula& formula, T* target) {
  std::vector<int> permutation;
  for (const int index : to) {
    permutation.push_back(static_cast<int>(std::find(from.begin(), from.end(), index) - from.begin()));
  }
  Transpose(values, ShapeOf(from, formula), permutation, target);
}

// One input as a batch of matrices.
template <typename T>
struct Matrices {
  const T* values = nullptr;
  bool transposed = false;
  Scratch copy;
};

template <typename T>
T* RoomFor(int64_t elements, Scratch& room) {
  return reinterpret_cast<T*>(room.AtLeast(elements * static_cast<int64_t>(sizeof(T))));
}

// As [batch, outer, inner], or with the last two swapped where the tensor lies so already.
template <typename T>
void MakeMatrices(const EinsumInput& input, const Term& term, const Roles& roles, const Term& outer, const Term& inner,
                  const IndexedFormula& formula, Matrices<T>& matrices) {
  matrices.values = input.values.As<T>();
  const Term plain = Joined(roles.batch, outer, inner);
  if (term == plain) return;
  matrices.transposed = term == Joined(roles.batch, inner, outer);
  if (matrices.transposed) return;
  T* const copy = RoomFor<T>(ElementCount(input.shape), matrices.copy);
  Reorder(matrices.values, term, plain, formula, copy);
  matrices.values = copy;
}

template <typename In, typename Out>
void Multiply(const IndexedFormula& formula, const Roles& roles, const std::vector<EinsumInput>& inputs, Out* result) {
  Matrices<In> a, b;
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
  if (product == formula.result) return MatMul(shape, a.values, b.values, result);
  Scratch room;
  Out* const unordered = RoomFor<Out>(ElementCount(ShapeOf(product, formula)), room);
  MatMul(shape, a.values, b.values, unordered);
  Reorder(unordered, product, formula.result, formula, result);
}

// To factors of 16 bits belongs a result of their type, or a sum in f32.
template <typename In>
void MultiplyTo(Reals result, const IndexedFormula& formula, const Roles& roles,
                const std::vector<EinsumInput>& inputs) {
  if (result.type() == RealType::kF32) return Multiply<In>(formula, roles, inputs, result.As<float>());
  Multiply<In>(formula, roles, inputs, result.As<In>());
}

}  // namespace

bool MultiplyAsMatrices(const IndexedFormula& formula, const std::vector<EinsumInput>& inputs, Reals result) {
  if (inputs.size() != 2) return false;
  if (HasDiagonal(formula.inputs[0]) || HasDiagonal(formula.inputs[1]) || HasDiagonal(formula.result)) return false;
  Roles roles;
  if (!FindRoles(formula, roles)) return false;
  switch (inputs[0].values.type()) {
    case RealType::kF32:
      MultiplyTo<float>(result, formula, roles, inputs);
      break;
    case RealType::kBf16:
      MultiplyTo<BFloat16>(result, formula, roles, inputs);
      break;
    case RealType::kF16:
      MultiplyTo<Float16>(result, formula, roles, inputs);
      break;
    case RealType::kI8:  // Nothing that is multiplied.
    case RealType::kI32:
      break;
  }
  return true;
}

}  // namespace cleave::runtime
