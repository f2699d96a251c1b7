// Rows that are chosen by number: table look-up and its transpose, one-hot rows. Sizes may be 0; results must not
// overlap inputs unless it is said.
#ifndef CLEAVE_RUNTIME_KERNELS_INDEXING_H_
#define CLEAVE_RUNTIME_KERNELS_INDEXING_H_

#include <cstdint>

#include "runtime/device/reals.h"

namespace cleave::runtime {

// A tensor [batch, outer, count, inner] over the rows [first_row, first_row + rows) of one of shape
// [batch, outer, all rows, inner], by indices [batch, count].
struct RowIndexing {
  int64_t outer = 1;
  int64_t count = 0;
  int64_t rows = 0;
  int64_t inner = 1;
  int64_t first_row = 0;
  int64_t batch = 1;
};

// y[b, o, i, :] = x[b, o, indices[b, i] - first_row, :], and zeros where x has no such row.
void Gather(ConstReals x, const int32_t* indices, const RowIndexing& indexing, Reals y);
void Gather(const int32_t* x, const int32_t* indices, const RowIndexing& indexing, int32_t* y);

// y[b, o, r, :] = the sum of updates[b, o, i, :] over the i with indices[b, i] = first_row + r, in the order of i.
void ScatterAdd(ConstReals updates, const int32_t* indices, const RowIndexing& indexing, float* y);

// The same if y holds nothing yet, else these sums are added to what it holds, where there are some.
void AccumulateScatterAdd(bool is_first, ConstReals updates, const int32_t* indices, const RowIndexing& indexing,
                          float* y);

// y is x with row indices[b, i] - first_row of each part [b, o] replaced by updates[b, o, i, :], where x has such a
// row; of several updates of a row the last one stays. y may be x, which is then not copied. x and y are of one type.
void Scatter(ConstReals x, ConstReals updates, const int32_t* indices, const RowIndexing& indexing, Reals y);

// y[i] = indices[i] where that is a number from 0 to rows - 1 which no place before i has, else -1.
void Distinct(const int32_t* indices, int64_t count, int64_t rows, int32_t* y);

// y[i, :] = the sum of x[j, :] over the j with indices[j] = places[i], in the order of j, and zeros where places[i] is
// -1. x and y are [count, inner]; `places` is Distinct of `indices`.
void SumEqual(const float* x, const int32_t* indices, const int32_t* places, int64_t count, int64_t inner, float* y);

// What of the places of groups is wanted: those of groups [first_group, first_group + groups), and of each of them
// places [first_place, first_place + capacity).
struct GroupPlaces {
  int64_t first_group = 0;
  int64_t groups = 0;
  int64_t first_place = 0;
  int64_t capacity = 0;
};

// Elements of each row of x [rows, columns] are numbers of groups. y [rows, groups, capacity] has for each group the
// columns of its elements, ascending, and `columns` where it has fewer.
void GroupBy(const int32_t* x, int64_t rows, int64_t columns, const GroupPlaces& places, int32_t* y);

// Row i of y [count, depth] is 1 at classes[i] - first, else 0.
void OneHot(const int32_t* classes, int64_t count, int64_t depth, int64_t first, float* y);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_INDEXING_H_
