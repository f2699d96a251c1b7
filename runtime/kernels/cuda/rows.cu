// Functions of rows, each of which a warp or a block of threads takes: kernels first, then the functions that launch
// them. The kernels of softmax and of the norm take a row after the other (row.cuh). The gradients of the norm are sums
// over rows, too: LayerNormGradientParts takes parts of neighbouring rows, and AddParts adds up what it sums in each.
#include <cmath>

#include "runtime/kernels/cuda/row.cuh"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/kernels/row_parts.h"
#include "runtime/kernels/rows.h"

namespace cleave::runtime {
namespace {

template <typename Form>
__global__ void SoftmaxRows(ConstReals x, int64_t rows, int64_t columns, Reals y) {
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const Row<Form> row(x + r * columns, columns);
    const ExpSum exponentials = RowExpSum(row, columns);
    const float largest = exponentials.largest;
    const float scale = 1.0f / exponentials.sum;
    WriteRow<Form>(
        columns, y + r * columns, [=](int64_t, float at) { return Exp(at - largest) * scale; }, row);
  }
}

template <typename Form>
__global__ void SoftmaxGradientRows(ConstReals dy, ConstReals y, int64_t rows, int64_t columns, Reals dx) {
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const Row<Form> by_result(dy + r * columns, columns);
    const Row<Form> result(y + r * columns, columns);
    float own = 0.0f;
    ForEachElement<Form>(
        columns, [&](int64_t, float a, float b) { own += a * b; }, by_result, result);
    const float dot = GroupReduce<Form::kThreads>(own, Sum());
    WriteRow<Form>(
        columns, dx + r * columns, [=](int64_t, float a, float b) { return (a - dot) * b; }, by_result, result);
  }
}

template <typename Form>
__global__ void LogSoftmaxRows(ConstReals x, int64_t rows, int64_t columns, Reals y) {
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const Row<Form> row(x + r * columns, columns);
    const ExpSum exponentials = RowExpSum(row, columns);
    const float largest = exponentials.largest;
    const float logarithm = std::log(exponentials.sum);
    WriteRow<Form>(
        columns, y + r * columns, [=](int64_t, float at) { return at - largest - logarithm; }, row);
  }
}

template <typename Form>
__global__ void LogSoftmaxGradientRows(ConstReals dy, ConstReals y, int64_t rows, int64_t columns, Reals dx) {
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const Row<Form> by_result(dy + r * columns, columns);
    const Row<Form, false> result(y + r * columns, columns);
    float own = 0.0f;
    ForEachElement<Form>(
        columns, [&](int64_t, float a) { own += a; }, by_result);
    const float sum = GroupReduce<Form::kThreads>(own, Sum());
    WriteRow<Form>(
        columns, dx + r * columns, [=](int64_t, float a, float b) { return a - Exp(b) * sum; }, by_result, result);
  }
}

struct Moments {
  float mean;               // Or 0 where it stays.
  float inverse_deviation;  // 1 / sqrt(variance + epsilon)
};

template <typename Form>
__device__ Moments RowMoments(const Row<Form>& row, int64_t columns, RowNorm norm) {
  const float count = static_cast<float>(columns);
  float mean = 0.0f;
  if (norm.centered) {
    float sum = 0.0f;
    ForEachElement<Form>(
        columns, [&](int64_t, float x) { sum += x; }, row);
    mean = GroupReduce<Form::kThreads>(sum, Sum()) / count;
  }
  float squares = 0.0f;
  ForEachElement<Form>(
      columns, [&](int64_t, float x) { squares += (x - mean) * (x - mean); }, row);
  squares = GroupReduce<Form::kThreads>(squares, Sum());
  return {mean, 1.0f / std::sqrt(squares / count + norm.epsilon)};
}

template <typename Form>
__global__ void LayerNormRows(ConstReals x, ConstReals added, const float* __restrict__ scale,
                              const float* __restrict__ shift, int64_t rows, int64_t columns, RowNorm norm, float* sum,
                              Reals y) {
  const Row<Form, false> scales(scale, columns);
  const Row<Form, false> shifts(shift, columns);
  const bool has_terms = added.place() != nullptr;
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const int64_t first = r * columns;
    const Row<Form> row(x + first, has_terms ? added + first : added, sum != nullptr ? sum + first : sum, columns);
    const Moments moments = RowMoments(row, columns, norm);
    const auto scaled = [=](int64_t, float at, float by) {
      return (at - moments.mean) * moments.inverse_deviation * by;
    };
    if (shift != nullptr) {
      const auto normal = [=](int64_t column, float at, float by, float to) { return scaled(column, at, by) + to; };
      WriteRow<Form>(columns, y + first, normal, row, scales, shifts);
    } else {
      WriteRow<Form>(columns, y + first, scaled, row, scales);
    }
  }
}

// Sums over rows for the columns that the calling thread takes: in registers where it holds rows there, else in memory,
// which it alone reads and writes.
template <typename Form>
class ColumnSums {
 public:
  using Pack = Vector<float, Form::kPack>;

  // `sums`: where they go, [columns].
  __device__ ColumnSums(float* sums, int64_t columns) : sums_(sums) {
    ForEachPack<Form>(columns, [&](int i, int64_t column) { Set(i, column, Pack{}); });
  }

  __device__ void Add(int i, int64_t column, const Pack& terms) {
    Pack sums = At(i, column);
#pragma unroll
    for (int k = 0; k < Form::kPack; ++k) sums[k] += terms[k];
    Set(i, column, sums);
  }

  __device__ void Write(int64_t columns) const {
    if constexpr (kIsHeld) ForEachPack<Form>(columns, [&](int i, int64_t column) { Store(held_[i], sums_ + column); });
  }

 private:
  static constexpr bool kIsHeld = Form::kHeld > 0;

  __device__ Pack At(int i, int64_t column) const {
    if constexpr (kIsHeld) return held_[i];
    return Load<Form::kPack>(sums_ + column);
  }
  __device__ void Set(int i, int64_t column, const Pack& sums) {
    if constexpr (kIsHeld) {
      held_[i] = sums;
    } else {
      Store(sums, sums_ + column);
    }
  }

  float* sums_;
  Pack held_[kIsHeld ? Form::kHeld : 1];
};

// So many blocks of a processor that it has registers for; then all parts are worked on at once. Rows that are not held
// and are read element by element need more registers, for places.
template <typename Form>
constexpr int kBlocksAtOnce = Form::kThreads != 256                  ? 1
                              : Form::kPack == 1 && Form::kHeld == 0 ? 3
                                                                     : 4;

// With n = (x - mean) / deviation and g = dy * scale, (g - mean(g) - n mean(g n)) / deviation is the gradient by the
// input; without mean(g) where the norm is not centered. It and `other`, unless that is null, are summed into dx and
// `rounded`, of which either may be null. `sums` [2, part, column], which may be null, too: of dy n and of dy over the
// rows of each part. What is null is asked here, and not a parameter of the template, so that the same instructions
// make the others.
template <typename Form>
__global__ void __launch_bounds__(Form::kThreads, kBlocksAtOnce<Form>)
    LayerNormGradientParts(ConstReals dy, ConstReals x, const float* __restrict__ scale, const float* other,
                           int64_t rows, int64_t columns, RowNorm norm, RowParts parts, Reals dx, Reals rounded,
                           float* __restrict__ sums) {
  using Pack = Vector<float, Form::kPack>;
  const Row<Form, false> scales(scale, columns);
  const float count = static_cast<float>(columns);
  const bool has_input = dx.place() != nullptr || rounded.place() != nullptr;
  const bool has_sums = sums != nullptr;
  const int64_t own_columns = has_sums ? columns : 0;
  for (int64_t part = Form::FirstRow(); part < parts.count; part += Form::RowStride()) {
    ColumnSums<Form> by_scale(sums + part * own_columns, own_columns);
    ColumnSums<Form> by_shift(sums + (parts.count + part) * own_columns, own_columns);
    const int64_t first = part * parts.size;
    const int64_t last = min(first + parts.size, rows) - 1;
    Row<Form> next_row(x + first * columns, columns);
    Row<Form> next_by_result(dy + first * columns, columns);
    for (int64_t r = first; r <= last; ++r) {
      const Row<Form> row = next_row;
      const Row<Form> by_result = next_by_result;
      // Is read while the threads wait for each other's sums of this row.
      const int64_t next = min(r + 1, last);
      next_row = Row<Form>(x + next * columns, columns);
      next_by_result = Row<Form>(dy + next * columns, columns);
      const Moments moments = RowMoments(row, columns, norm);
      const float mean = moments.mean;
      const float inverse = moments.inverse_deviation;
      TwoSums means = {0.0f, 0.0f};  // Of g and of g n.
      if (has_input) {
        const auto add = [&](int64_t, float at, float by, float scaled) {
          means = means + TwoSums{by * scaled, by * scaled * ((at - mean) * inverse)};
        };
        ForEachElement<Form>(columns, add, row, by_result, scales);
        means = GroupReduce<Form::kThreads>(means, Sum());
        means = {norm.centered ? means.first / count : 0.0f, means.second / count};
      }
      // An element of dy and of `other` is read here for the last time before dx is written, which may lie there.
      ForEachPack<Form>(columns, [&](int i, int64_t column) {
        const Pack at = row.At(i, column);
        const Pack by = by_result.At(i, column);
        Pack normal, products, results;
#pragma unroll
        for (int k = 0; k < Form::kPack; ++k) {
          normal[k] = (at[k] - mean) * inverse;
          products[k] = by[k] * normal[k];
        }
        if (has_sums) {
          by_scale.Add(i, column, products);
          by_shift.Add(i, column, by);
        }
        if (!has_input) return;
        const Pack scaled = scales.At(i, column);
#pragma unroll
        for (int k = 0; k < Form::kPack; ++k) {
          results[k] = (by[k] * scaled[k] - means.first - normal[k] * means.second) * inverse;
        }
        if (other != nullptr) {
          const Pack more = Load<Form::kPack>(other + r * columns + column);
#pragma unroll
          for (int k = 0; k < Form::kPack; ++k) results[k] = more[k] + results[k];
        }
        if (dx.place() != nullptr) StoreReals(results, dx + r * columns, column);
        if (rounded.place() != nullptr) StoreReals(results, rounded + r * columns, column);
      });
    }
    by_scale.Write(own_columns);
    by_shift.Write(own_columns);
  }
}

constexpr int kAddLanes = 32;  // Threads of a block that share a column.

// The sums of the parts, `sums` [2, part, column], one after the other where its place is not null.
__global__ void AddParts(const float* __restrict__ sums, int64_t parts, int64_t columns, float* dscale, float* dshift) {
  __shared__ float of_lane[kAddLanes][kWarp];
  const int place = static_cast<int>(threadIdx.x) % kWarp;
  const int lane = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t chunks = (columns + kWarp - 1) / kWarp;
  for (int64_t block = blockIdx.x; block < 2 * chunks; block += gridDim.x) {
    const bool is_shift = block >= chunks;
    float* const to = is_shift ? dshift : dscale;
    if (to == nullptr) continue;
    const int64_t column = block % chunks * kWarp + place;
    float sum = 0.0f;
    if (column < columns) {
      const float* const from = sums + (is_shift ? parts * columns : 0) + column;
#pragma unroll 4
      for (int64_t part = lane; part < parts; part += kAddLanes) sum += from[part * columns];
    }
    of_lane[lane][place] = sum;
    __syncthreads();
    for (int half = kAddLanes / 2; half > 0; half /= 2) {
      if (lane < half) of_lane[lane][place] += of_lane[lane + half][place];
      __syncthreads();
    }
    if (lane == 0 && column < columns) to[column] = of_lane[0][place];
    __syncthreads();  // All have read what is written again.
  }
}

// Calls start(form) with the form in which a whole block takes a row of `columns` elements: a thread holds sums beside
// its elements, so it takes fewer of them than in WithRowForm.
template <typename Start>
void WithBlockForm(int64_t columns, bool aligned, Start start) {
  const bool vectors = aligned && columns % 4 == 0;
  if (vectors && columns <= 256) return start(RowForm<64, 4, 1>());
  if (vectors && columns <= 1024) return start(RowForm<256, 4, 1>());
  if (vectors && columns <= 4096) return start(RowForm<512, 4, 2>());
  if (vectors) return start(RowForm<512, 4, 0>());
  if (columns <= 256) return start(RowForm<64, 1, 4>());
  start(RowForm<256, 1, 0>());
}

}  // namespace

void Softmax(ConstReals x, int64_t rows, int64_t columns, Reals y) {
  WithRowForm(columns, AreAligned(x, y), [=](auto form) {
    using Form = decltype(form);
    Launch(SoftmaxRows<Form>, Form::Shape(rows), x, rows, columns, y);
  });
}

void SoftmaxGradient(ConstReals dy, ConstReals y, int64_t rows, int64_t columns, Reals dx) {
  WithRowForm(columns, AreAligned(dy, y, dx), [=](auto form) {
    using Form = decltype(form);
    Launch(SoftmaxGradientRows<Form>, Form::Shape(rows), dy, y, rows, columns, dx);
  });
}

void LogSoftmax(ConstReals x, int64_t rows, int64_t columns, Reals y) {
  WithRowForm(columns, AreAligned(x, y), [=](auto form) {
    using Form = decltype(form);
    Launch(LogSoftmaxRows<Form>, Form::Shape(rows), x, rows, columns, y);
  });
}

void LogSoftmaxGradient(ConstReals dy, ConstReals y, int64_t rows, int64_t columns, Reals dx) {
  WithRowForm(columns, AreAligned(dy, y, dx), [=](auto form) {
    using Form = decltype(form);
    Launch(LogSoftmaxGradientRows<Form>, Form::Shape(rows), dy, y, rows, columns, dx);
  });
}

void LayerNorm(ConstReals x, ConstReals added, const float* scale, const float* shift, int64_t rows, int64_t columns,
               RowNorm norm, float* sum, Reals y) {
  WithRowForm(columns, AreAligned(x, added, scale, shift, sum, y), [=](auto form) {
    using Form = decltype(form);
    Launch(LayerNormRows<Form>, Form::Shape(rows), x, added, scale, shift, rows, columns, norm, sum, y);
  });
}

void LayerNormGradient(ConstReals dy, ConstReals x, const float* scale, const float* other, int64_t rows,
                       int64_t columns, RowNorm norm, Reals dx, Reals rounded, float* dscale, float* dshift) {
  const bool has_sums = dscale != nullptr || dshift != nullptr;
  if (!has_sums && dx.place() == nullptr && rounded.place() == nullptr) return;
  const RowParts parts = PartsOfRows(rows, columns);
  ScratchLayout layout;
  const int64_t sums_at = layout.Add<float>(has_sums ? 2 * parts.count * columns : 0);
  const ScratchMemory scratch(layout);
  float* const sums = scratch.At<float>(sums_at);
  WithBlockForm(columns, AreAligned(dy, x, scale, other, dx, rounded), [=](auto form) {
    using Form = decltype(form);
    Launch(LayerNormGradientParts<Form>, Form::Shape(parts.count), dy, x, scale, other, rows, columns, norm, parts, dx,
           rounded, has_sums ? sums : nullptr);
  });
  if (!has_sums) return;
  const int64_t blocks = 2 * ((columns + kWarp - 1) / kWarp);
  Launch(AddParts, {blocks, kAddLanes * kWarp}, sums, parts.count, columns, dscale, dshift);
}

}  // namespace cleave::runtime
