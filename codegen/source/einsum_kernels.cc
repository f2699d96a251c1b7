// Einsums: a matrix product where the tensors lie as one needs them, else a call that brings them into order or loops.
#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "codegen/source/kernel.h"
#include "codegen/source/product_shape.h"
#include "ir/formula/formula.h"

namespace cleave {
namespace {

using Names = std::vector<std::string>;

Names NamesOfTerm(const Formula::Term& term) {
  Names names;
  for (const Formula::Dimension& dimension : term) names.push_back(dimension[0]);
  return names;
}

bool Has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names Joined(Names a, const Names& b, const Names& c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

// An einsum as one product [batch, rows, contracted] by [batch, contracted, columns]. `a` and `b`: indexes of the
// inputs.
struct DirectProduct {
  size_t a = 0;
  size_t b = 1;
  Names batch = {};
  Names rows = {};
  Names columns = {};
  Names contracted = {};
  bool transpose_a = false;
  bool transpose_b = false;
};

// With input `a` as the first factor; nullopt where its, the other's or the result's dimensions lie in another order,
// or where there is nothing that makes it a product of matrices.
std::optional<DirectProduct> FindDirect(const Formula& formula, size_t a) {
  DirectProduct product{.a = a, .b = 1 - a};
  const Names first = NamesOfTerm(formula.inputs[product.a]);
  const Names second = NamesOfTerm(formula.inputs[product.b]);
  const Names result = NamesOfTerm(formula.output);
  for (const std::string& name : result) {
    const bool in_first = Has(first, name), in_second = Has(second, name);
    (in_first && in_second ? product.batch : in_first ? product.rows : product.columns).push_back(name);
  }
  for (const std::string& name : first) {
    if (!Has(result, name)) product.contracted.push_back(name);
  }
  if (product.contracted.empty() || (product.rows.empty() && product.columns.empty())) return std::nullopt;
  if (result != Joined(product.batch, product.rows, product.columns)) return std::nullopt;
  product.transpose_a = first != Joined(product.batch, product.rows, product.contracted);
  product.transpose_b = second != Joined(product.batch, product.contracted, product.columns);
  if (product.transpose_a && first != Joined(product.batch, product.contracted, product.rows)) return std::nullopt;
  if (product.transpose_b && second != Joined(product.batch, product.columns, product.contracted)) return std::nullopt;
  return product;
}

bool HasDiagonal(const Formula::Term& term) {
  const Names names = NamesOfTerm(term);
  return std::set<std::string>(names.begin(), names.end()).size() != names.size();
}

std::optional<DirectProduct> FindDirect(const Formula& formula) {
  if (formula.inputs.size() != 2 || HasDiagonal(formula.inputs[0]) || HasDiagonal(formula.inputs[1]))
    return std::nullopt;
  if (const auto product = FindDirect(formula, 0)) return product;
  return FindDirect(formula, 1);
}

// The local size of the dimensions that `names` index, from the first input that has each.
SizeProduct SizeOf(const Kernel& kernel, const Formula& formula, const Names& names) {
  SizeProduct size(1);
  for (const std::string& name : names) {
    for (size_t i = 0; i < formula.inputs.size(); ++i) {
      const Names term = NamesOfTerm(formula.inputs[i]);
      const auto place = std::find(term.begin(), term.end(), name);
      if (place == term.end()) continue;
      size *= kernel.emission.sizes.Size(kernel.compute.inputs[i], static_cast<int>(place - term.begin()));
      break;
    }
  }
  return size;
}

void Einsum(const Kernel& kernel) {
  const absl::StatusOr<Formula> formula = ParseLetters(kernel.compute.attributes.Get(attribute::kEquation));
  CLEAVE_CHECK(formula.ok()) << formula.status().message();
  if (const auto product = FindDirect(*formula)) {
    const ProductShape shape = {.batch = SizeOf(kernel, *formula, product->batch),
                                .m = SizeOf(kernel, *formula, product->rows),
                                .n = SizeOf(kernel, *formula, product->columns),
                                .k = SizeOf(kernel, *formula, product->contracted),
                                .transpose_a = product->transpose_a,
                                .transpose_b = product->transpose_b};
    return kernel.Call("MatMul", {shape.Text(), kernel.Input(product->a), kernel.Input(product->b), kernel.Output()});
  }
  std::vector<std::string> inputs;
  for (size_t i = 0; i < kernel.compute.inputs.size(); ++i) {
    inputs.push_back(
        absl::StrCat("{", kernel.Input(i), ", ", kernel.emission.sizes.ShapeList(kernel.compute.inputs[i]), "}"));
  }
  kernel.Call("Einsum", {StringLiteral(formula->ToString()), absl::StrCat("{", absl::StrJoin(inputs, ", "), "}"),
                         kernel.Output()});
}

}  // namespace

void AddEinsumKernels(Emitters& emitters) { emitters[OpKind::kEinsum] = Einsum; }

}  // namespace cleave
