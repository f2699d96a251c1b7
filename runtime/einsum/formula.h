// The indexes of a formula with their sizes, and where they stand. Inside of runtime/einsum only.
#ifndef CLEAVE_RUNTIME_EINSUM_FORMULA_H_
#define CLEAVE_RUNTIME_EINSUM_FORMULA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/einsum/einsum.h"

namespace cleave::runtime {

// A tensor's dimensions as numbers of indexes.
using Term = std::vector<int>;

struct IndexedFormula {
  std::vector<int64_t> sizes;       // Per index, of the piece.
  std::vector<Diagonal> diagonals;  // Per index; of those that stand once in every term {0, the size}.
  std::vector<Term> inputs;
  Term result;
};

// REQUIRES: a formula that the compiler has written for these inputs, and its diagonals.
IndexedFormula ReadFormula(const std::string& text, const std::vector<EinsumInput>& inputs,
                           const std::vector<Diagonal>& diagonals);

// Whether an index stands twice in the term.
bool HasDiagonal(const Term& term);

// Where the elements of a row-major tensor lie.
struct Places {
  std::vector<int64_t> strides;  // Per index the distance of neighbours: 0 without the index, a sum on a diagonal.
  int64_t first = 0;             // The place of the first element that is meant.
  int64_t elements = 1;          // Of the tensor.
};
Places PlacesOf(const Term& term, const IndexedFormula& formula);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_EINSUM_FORMULA_H_
