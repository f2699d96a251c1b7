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
  std::vector<int64_t> sizes;  // Per index.
  std::vector<Term> inputs;
  Term result;
};

// REQUIRES: a formula that the compiler has written for these inputs.
IndexedFormula ReadFormula(const std::string& text, const std::vector<EinsumInput>& inputs);

// Per index the distance of its neighbours in a row-major tensor: 0 if the term does not have the index, and the sum of
// the distances on a diagonal.
std::vector<int64_t> StridesOf(const Term& term, const std::vector<int64_t>& sizes);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_EINSUM_FORMULA_H_
