#include "ir/graph/ops/einsum_product.h"

#include <algorithm>
#include <set>

#include "ir/graph/ops/products.h"

namespace cleave::ir {
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

// The indexes of a formula with two inputs, by their roles when input `a` is the first factor and `b` the second.
struct ProductIndexes {
  int a = 0;
  int b = 1;
  Names first;
  Names second;
  Names result;
  Names batch = {};
  Names rows = {};
  Names columns = {};
  Names contracted = {};

  ProductIndexes(const Formula& formula, int first_factor)
      : a(first_factor),
        b(1 - first_factor),
        first(NamesOfTerm(formula.inputs[static_cast<size_t>(a)])),
        second(NamesOfTerm(formula.inputs[static_cast<size_t>(b)])),
        result(NamesOfTerm(formula.output)) {
    for (const std::string& name : result) {
      const bool in_first = Has(first, name), in_second = Has(second, name);
      (in_first && in_second ? batch : in_first ? rows : columns).push_back(name);
    }
    for (const std::string& name : first) {
      if (!Has(result, name)) contracted.push_back(name);
    }
  }

  bool FirstIsPlain() const { return first == Joined(batch, rows, contracted); }
  bool FirstIsTransposed() const { return first == Joined(batch, contracted, rows); }
  bool SecondIsPlain() const { return second == Joined(batch, contracted, columns); }
  bool SecondIsTransposed() const { return second == Joined(batch, columns, contracted); }
  bool ResultIsPlain() const { return result == Joined(batch, rows, columns); }

  // If nothing is contracted, or everything is, it is not a product of matrices.
  bool IsProduct() const { return !contracted.empty() && !(rows.empty() && columns.empty()); }
  bool IsDirect() const {
    return IsProduct() && ResultIsPlain() && (FirstIsPlain() || FirstIsTransposed()) &&
           (SecondIsPlain() || SecondIsTransposed());
  }

  // The size of the dimensions that `names` index, from the first input that has each.
  LocalSize SizeOf(const Names& names) const {
    LocalSize size;
    for (const std::string& name : names) {
      const bool in_first_input = Has(a == 0 ? first : second, name);
      const Names& term = in_first_input == (a == 0) ? first : second;
      const auto place = std::find(term.begin(), term.end(), name);
      size.dimensions.push_back({in_first_input ? 0 : 1, static_cast<int>(place - term.begin())});
    }
    return size;
  }

  KernelCall Call() const {
    return MatMulCall({.batch = SizeOf(batch),
                       .m = SizeOf(rows),
                       .n = SizeOf(columns),
                       .k = SizeOf(contracted),
                       .transpose_a = !FirstIsPlain(),
                       .transpose_b = !SecondIsPlain()},
                      Pointer{a}, Pointer{b}, Pointer{kResult});
  }

  Bytes Copies(Types inputs, const TensorType& output) const {
    Bytes copies;
    if (!FirstIsPlain() && !FirstIsTransposed()) copies += inputs[static_cast<size_t>(a)].bytes();
    if (!SecondIsPlain() && !SecondIsTransposed()) copies += inputs[static_cast<size_t>(b)].bytes();
    if (!ResultIsPlain()) copies += output.bytes();
    return copies;
  }
};

}  // namespace

bool IsProductOfMatrices(const Formula& formula) {
  if (formula.inputs.size() != 2) return false;
  for (const std::string& name : NamesOf(formula)) {
    int places = 0;
    for (const Formula::Term* term : {&formula.inputs[0], &formula.inputs[1], &formula.output}) {
      if (CountOf(*term, name) > 1) return false;
      places += CountOf(*term, name);
    }
    if (places < 2) return false;
  }
  return ProductIndexes(formula, 0).IsProduct();
}

std::optional<KernelCall> DirectProduct(const Formula& formula) {
  if (!IsProductOfMatrices(formula)) return std::nullopt;
  for (const int first : {0, 1}) {
    if (const ProductIndexes indexes(formula, first); indexes.IsDirect()) return indexes.Call();
  }
  return std::nullopt;
}

Bytes EinsumCopies(const Formula& formula, Types inputs, const TensorType& output) {
  if (!IsProductOfMatrices(formula)) return Bytes(0);
  const Bytes copies = ProductIndexes(formula, 0).Copies(inputs, output);
  return ProductIndexes(formula, 1).Copies(inputs, output) == Bytes(0) ? Bytes(0) : copies;
}

}  // namespace cleave::ir
