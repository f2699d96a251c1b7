// The largest elements of rows and where they stand. Elements are ranked from the largest to the smallest, equal ones
// by their index; a NaN comes first. Row-major tensors; results must not overlap inputs.
#ifndef CLEAVE_RUNTIME_KERNELS_RANKING_H_
#define CLEAVE_RUNTIME_KERNELS_RANKING_H_

#include <cstdint>
#include <vector>

namespace cleave::runtime {

// An index that no element has.
constexpr int32_t kNoIndex = 2147483647;

// The index of the first ranked element along dimension `axis` of x, which has `shape`.
void ArgMax(const float* x, const std::vector<int64_t>& shape, int axis, int32_t* index);

// The smallest index along dimension `axis` at which x equals `value`, which has size 1 along it; kNoIndex where there
// is no such index. The first element of x has index `first`.
void FirstEqual(const float* x, const float* value, const std::vector<int64_t>& shape, int axis, int64_t first,
                int32_t* index);

// The k first ranked of each row of x [rows, columns], and their indices. REQUIRES: k <= columns.
void TopK(const float* x, int64_t rows, int64_t columns, int64_t k, float* y);
void TopKIndices(const float* x, int64_t rows, int64_t columns, int64_t k, int32_t* indices);

// Some of the `pieces` pieces into which rows of `elements` elements are cut.
struct PiecesOfRow {
  int64_t elements = 0;
  int64_t pieces = 1;
  int64_t first = 0;
  int64_t count = 1;
};

// The k first ranked of each of the pieces, which are all that x has, one piece after another: [rows, count * k]. A
// piece with fewer than k elements is filled up with -infinity. Indices are those in the whole row, and kNoIndex for
// the filling.
void TopKCandidates(const float* x, int64_t rows, const PiecesOfRow& pieces, int64_t k, float* y);
void TopKCandidateIndices(const float* x, int64_t rows, const PiecesOfRow& pieces, int64_t k, int32_t* indices);

// The values and indices [rows, columns] form pairs; writes the indices of the k first ranked pairs of each row.
void TopKMerge(const float* values, const int32_t* indices, int64_t rows, int64_t columns, int64_t k, int32_t* first);

// dx [rows, columns] is dy [rows, k] at `indices`, which count from `first`, and zero everywhere else.
void TopKGradient(const float* dy, const int32_t* indices, int64_t rows, int64_t k, int64_t first, int64_t columns,
                  float* dx);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_RANKING_H_
