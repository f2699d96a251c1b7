// Looking up rows by number, and adding to rows by number: shared by gather, scatter, scatter_add, embedding,
// embedding_gradient, segment_max and one_hot. Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_INDEXING_H_
#define CLEAVE_IR_GRAPH_OPS_INDEXING_H_

#include <vector>

#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"

namespace cleave::ir {

// A tensor [batch, outer, count, inner] over the rows [first_row, first_row + rows) of one of shape
// [batch, outer, all rows, inner], by indices [batch, count].
struct RowIndexing {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t rows = 1;
  int64_t inner = 1;
  int64_t first_row = 0;
  int64_t batch = 1;
};

// For an indexed tensor of (local) shape `shape`, whose dimension `axis` is looked up, and whose first `batch`
// dimensions are those of `indices`, too. It begins at row `first_row` of the whole tensor.
RowIndexing IndexingOf(const Shape& shape, size_t axis, size_t batch, const Shape& indices, int64_t first_row);

// Calls visit(element of the row-wise tensor, element of the indexed one) for every element of a row that exists.
template <typename Visit>
void ForEachIndexed(const Tensor& indices, const RowIndexing& indexing, Visit visit) {
  for (int64_t o = 0; o < indexing.batch * indexing.outer; ++o) {
    const double* own = indices.values.data() + o / indexing.outer * indexing.count;
    for (int64_t i = 0; i < indexing.count; ++i) {
      const int64_t row = static_cast<int64_t>(own[i]) - indexing.first_row;
      if (row < 0 || row >= indexing.rows) continue;
      for (int64_t e = 0; e < indexing.inner; ++e) {
        visit(static_cast<size_t>((o * indexing.rows + row) * indexing.inner + e),
              static_cast<size_t>((o * indexing.count + i) * indexing.inner + e));
      }
    }
  }
}

// Factors i0, i1, …, one per dimension of the indices.
std::vector<FactorList> AddIndexDimensions(Rule& rule, const Shape& indices, FactorKind kind);

// The attribute `by_rows` of a table's gradient that is never made as a whole (ir/graph/row_updates): absent elsewhere.
Argument ByRowsArgument();
// Of the places whose rows such a gradient adds up: all of them are needed at once.
FactorKind SummedPlaces(const Attributes& attributes);

// `dimensions` with `count` of them, from `axis` on, replaced by `others`.
template <typename T>
std::vector<T> WithDimensions(std::vector<T> dimensions, size_t axis, int count, const std::vector<T>& others) {
  const auto begin = dimensions.begin() + static_cast<int64_t>(axis);
  const auto first = dimensions.erase(begin, begin + count);
  dimensions.insert(first, others.begin(), others.end());
  return dimensions;
}

// y[b, o, i, :] = x[b, o, indices[b, i] - first_row, :], and zeros where x has no such row.
void GatherRows(const Tensor& x, const Tensor& indices, const RowIndexing& indexing, Tensor& y);

// y[b, o, indices[b, i] - first_row, :] += updates[b, o, i, :] where y has such a row.
void ScatterAddRows(const Tensor& updates, const Tensor& indices, const RowIndexing& indexing, Tensor& y);

// y[b, o, indices[b, i] - first_row, :] = updates[b, o, i, :] where y has such a row.
void ScatterRows(const Tensor& updates, const Tensor& indices, const RowIndexing& indexing, Tensor& y);

// The calls that do the same: they look up dimension `axis` of tensor x by tensor `indices`, or add up input 0 along
// dimension `axis` of the result by input 1.
struct Lookup {
  int x = 0;
  int axis = 0;
  int indices = 1;
  int batch = 0;  // The first dimensions that x and indices have in common.
};
// The attributes of `op` where it works along `axis` and has `batch` dimensions before it; and `axis` and `batch` of
// `op` alone, which its gradient has, too.
Attributes Along(const Op& op, int64_t axis, size_t batch);
Attributes PlaceOfSlices(const Op& op);

// Of ops that give `size` slices along `axis` for (x, the numbers of its slices): scatter_add, segment_max.
Attributes ResizeSlices(const Attributes& attributes, const Rule& resized);
int64_t SliceChoices(Types inputs, const Attributes& attributes, int input);
// Slices that all elements share are repeated.
OpId BatchSlices(Lift& lift);

// The place of a lookup's rows, as RowIndexing of the runtime.
CallArgument IndexingArgument(const CallSite& site, const Lookup& lookup);
std::vector<KernelCall> GatherCall(const CallSite& site, const Lookup& lookup);
std::vector<KernelCall> ScatterAddCall(const CallSite& site, int axis, int batch = 0);
// Of (x, updates, indices).
std::vector<KernelCall> ScatterCall(const CallSite& site, int axis, int batch);

// An error unless input `places` counts the places of dimension `axis` of the first input for each element of the first
// `batch` dimensions: i32[batch.., size].
std::optional<OpError> CheckPlaces(Types inputs, int places, size_t axis, size_t batch);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_INDEXING_H_
