// Reading guide: Forward shows the whole idea. The other kernels compute the weights of the softmax again, tile by
// tile, from the logsumexp of each row.
//
// With s the scores, L the logsumexp of a row, p = exp(s - L) the weights and d = dout v^T, the gradient by the scores
// is p (d - delta), where delta = sum_j p d = dout out, row by row: DeltaOfRows.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "runtime/error/error.h"
#include "runtime/kernels/attention.h"
#include "runtime/kernels/cuda/attention.cuh"  // IWYU pragma: associated
#include "runtime/kernels/cuda/attention_tiles.cuh"
#include "runtime/kernels/cuda/group.cuh"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/kernels/elementwise.h"

namespace cleave::runtime {
namespace attention {

// Threads that share a row of a tile: neighbours in a warp.
template <int kTile>
constexpr int kThreadsPerRow = kThreads / kTile;

// A NaN is the largest.
__device__ inline float LargerOf(float a, float b) { return a >= b || a != a ? a : b; }

template <int kTile>
__device__ float MaxOverRow(float x) {
#pragma unroll
  for (int lane = 1; lane < kThreadsPerRow<kTile>; lane *= 2) x = LargerOf(x, __shfl_xor_sync(0xFFFFFFFFu, x, lane));
  return x;
}
template <int kTile>
__device__ float SumOverRow(float x) {
#pragma unroll
  for (int lane = 1; lane < kThreadsPerRow<kTile>; lane *= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, lane);
  return x;
}

// Which keys a query sees: from the first up to the end.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;

  __device__ bool Has(int64_t column) const { return begin <= column && column < end; }
  __device__ bool IsEmpty() const { return begin >= end; }
};

// What the queries of a sample see.
class Sight {
 public:
  __device__ Sight(const AttentionShape& shape, int64_t batch)
      : rows_(shape.rows),
        columns_(shape.columns),
        first_row_(shape.first_row),
        zigzag_(shape.zigzag),
        window_(shape.window),
        causal_(shape.causal),
        first_(shape.first == nullptr ? nullptr : shape.first + batch * shape.rows),
        end_(shape.first == nullptr ? nullptr : shape.end + batch * shape.rows),
        first_column_(shape.first_column) {}

  // A query outside of the tensor sees nothing.
  __device__ Span Of(int64_t row) const {
    if (row >= rows_) return {};
    Span span = ByPlace(row);
    if (first_ == nullptr) return span;
    const int64_t begin = first_[row] - first_column_;
    const int64_t end = end_[row] - first_column_;
    return {begin > span.begin ? begin : span.begin, end < span.end ? end : span.end};
  }
  // From the first key that one of `count` queries sees to the last. All threads of a warp call it, and get the same.
  __device__ Span OfRows(int64_t row, int count) const {
    const int64_t behind = row + count < rows_ ? row + count : rows_;
    if (first_ == nullptr && zigzag_.pairs == 0) return {ByPlace(row).begin, ByPlace(behind - 1).end};
    Span all = {columns_, 0};
    for (int64_t i = row + threadIdx.x % kWarp; i < behind; i += kWarp) Include(Of(i), all);
#pragma unroll
    for (int lane = 1; lane < kWarp; lane *= 2) {
      Include({__shfl_xor_sync(kAllLanes, all.begin, lane), __shfl_xor_sync(kAllLanes, all.end, lane)}, all);
    }
    return all;
  }
  // The queries that may see one of `count` keys by their place.
  __device__ Span RowsThatMaySee(int64_t column, int count) const {
    Span all = {0, rows_};
    if (!causal_) return all;
    if (zigzag_.pairs > 0) return InPairThatMaySee(column);
    if (column > first_row_) all.begin = column - first_row_;
    const int64_t end = column + count - 1 + window_ - first_row_;
    if (window_ > 0 && end < rows_) all.end = end;
    return all;
  }

 private:
  // In zigzag order: the rows of one pair see more from row to row, so the first that sees the key is where they begin.
  __device__ Span InPairThatMaySee(int64_t column) const {
    Span all = {0, rows_};
    const int64_t pair = 2 * zigzag_.chunk;
    if (zigzag_.first % pair + rows_ > pair) return all;
    while (all.begin < all.end) {
      const int64_t middle = (all.begin + all.end) / 2;
      if (first_row_ + zigzag_.PlaceOf(middle) < column) {
        all.begin = middle + 1;
      } else {
        all.end = middle;
      }
    }
    return {all.begin, rows_};
  }

  // Neither end decreases from row to row, but in zigzag order.
  __device__ Span ByPlace(int64_t row) const {
    if (!causal_) return {0, columns_};
    const int64_t end = first_row_ + zigzag_.PlaceOf(row) + 1;
    const bool is_cut = window_ > 0 && end > window_;
    return {is_cut ? end - window_ : 0, end < columns_ ? end : columns_};
  }
  __device__ static void Include(const Span& span, Span& all) {
    if (span.IsEmpty()) return;
    if (span.begin < all.begin) all.begin = span.begin;
    if (span.end > all.end) all.end = span.end;
  }

  const int64_t rows_;
  const int64_t columns_;
  const int64_t first_row_;
  const Zigzag zigzag_;
  const int64_t window_;
  const bool causal_;
  const int32_t* const first_;
  const int32_t* const end_;
  const int64_t first_column_;
};

// A score from the product of query and key, and its gradient by it.
struct Score {
  float value;
  float slope;

  __device__ Score(float product, float bias, float scale, float cap) : value(scale * product), slope(scale) {
    if (cap != 0.0f) {
      const float share = tanhf(value / cap);
      value = cap * share;
      slope *= 1.0f - share * share;
    }
    value += bias;
  }
};

// The bias of a query by key.
class BiasOfRow {
 public:
  __device__ BiasOfRow(const AttentionBias& bias, int64_t head, int64_t row)
      : values_(bias.values == nullptr ? nullptr : bias.values + head * bias.distances + bias.first - row) {}

  // REQUIRES: the query sees the key.
  __device__ float At(int64_t column) const { return values_ == nullptr ? 0.0f : values_[column]; }

 private:
  const float* values_;
};

// Which weights are kept.
class Keeper {
 public:
  __device__ Keeper(const AttentionDropout& dropout, PhiloxKey key)
      : dropout_(dropout), key_(key), step_(dropout.rate > 0.0f ? dropout.stream.step.Get() : 0) {}

  // By what a weight is multiplied: 0, or 1 / (1 - rate). `first_of_row`: AttentionDropout::FirstOfRow.
  __device__ float At(int64_t first_of_row, int64_t column) const {
    if (step_ == 0) return 1.0f;
    const auto place = static_cast<uint64_t>(first_of_row + column);
    const PhiloxBlock draws = PhiloxAt(key_, place / 4, step_);
    const uint64_t word = place % 4;
    const uint32_t drawn = word < 2 ? (word == 0 ? draws[0] : draws[1]) : (word == 2 ? draws[2] : draws[3]);
    return UnitFloat(drawn) >= dropout_.rate ? 1.0f / (1.0f - dropout_.rate) : 0.0f;
  }

 private:
  const AttentionDropout& dropout_;
  const PhiloxKey key_;
  const uint64_t step_;  // 0: nothing is dropped.
};

// The largest score of a row so far, and the sum of exponentials relative to it.
template <int kTile>
class RunningRow {
 public:
  // Takes a tile of products of queries and keys, whose first column is `column`. `seen`: what the row sees.
  __device__ void Add(const float* products, int pitch, const AttentionShape& shape, const BiasOfRow& bias,
                      const Span& seen, int64_t column) {
    const float* const mine = products + Row() * pitch;
    const auto score = [&](int j) { return Score(mine[j], bias.At(column + j), shape.scale, shape.cap).value; };
    float largest = largest_;
    for (int j = Part(); j < kTile; j += kThreadsPerRow<kTile>) {
      if (seen.Has(column + j)) largest = LargerOf(largest, score(j));
    }
    largest = MaxOverRow<kTile>(largest);
    if (largest == -INFINITY) return;  // The same for all threads of the row.
    sum_ *= Exp(largest_ - largest);
    for (int j = Part(); j < kTile; j += kThreadsPerRow<kTile>) {
      if (seen.Has(column + j)) sum_ += Exp(score(j) - largest);
    }
    largest_ = largest;
  }

  __device__ float largest() const { return largest_; }
  // The same on all threads of the row. All threads of the block call it.
  __device__ float Sum() const { return SumOverRow<kTile>(sum_); }

  __device__ static int Row() { return static_cast<int>(threadIdx.x) / kThreadsPerRow<kTile>; }
  __device__ static int Part() { return static_cast<int>(threadIdx.x) % kThreadsPerRow<kTile>; }

 private:
  float largest_ = -INFINITY;
  float sum_ = 0.0f;
};

// The tile that a block works on: of the rows of a head of a sample.
struct BlockPlace {
  int64_t batch;
  int64_t head;
  int64_t first;  // Row of the tile.

  __device__ BlockPlace(int64_t heads, int64_t rows, int tile) {
    const int64_t tiles = (rows + tile - 1) / tile;
    const int64_t matrix = blockIdx.x / tiles;
    batch = matrix / heads;
    head = matrix % heads;
    first = blockIdx.x % tiles * tile;
  }
};

// What the kernels read.
template <typename T>
struct Operands {
  AttentionShape shape;
  const T* q;
  const T* k;
  const T* v;
  PhiloxKey key = {};       // Of the dropout.
  const T* dout = nullptr;  // This and the next ones are for the gradients only.
  const float* logsumexp = nullptr;
  const float* delta = nullptr;

  __device__ int64_t HeadsPerKeyHead() const { return shape.heads / shape.key_heads; }
  // Where the queries of a head begin among all.
  __device__ int64_t FirstQuery(int64_t batch, int64_t head) const { return (batch * shape.heads + head) * shape.rows; }
};

template <typename T>
__device__ Rows<T> RowsOf(T* tensor, const AttentionStrides& strides, int64_t batch, int64_t head) {
  return {tensor + batch * strides.batch + head * strides.head, strides.row};
}

// Tiles in shared memory, one after another.
template <typename T, int kHead>
class TileMemory {
 public:
  __device__ T* Tile() { return static_cast<T*>(Next(kTileBytes<T, kHead>)); }
  __device__ float* Scores() { return static_cast<float*>(Next(kScoreBytes<T, kHead>)); }
  __device__ T* Weights() { return static_cast<T*>(Next(kWeightBytes<T, kHead>)); }

 private:
  __device__ void* Next(int bytes) {
    unsigned char* const tile = next_;
    next_ += bytes;
    return tile;
  }

  unsigned char* next_ = DynamicShared();
};

// Loads `count` rows of `tensor` from `first` on into `other`, and computes the scores of the block's own rows with
// them. Then all threads may read the scores and write to `other`.
template <typename T, int kHead>
__device__ void ScoresWith(const T* own, Rows<const T> tensor, int64_t first, int64_t count, int head, T* other,
                           float* scores) {
  LoadTile<T, kHead>(tensor, first, count, head, other);
  __syncthreads();
  Scores<kHead>(own, other, scores);
  __syncthreads();
}

// The first column of the first tile that has some of them.
__device__ inline int64_t FirstTile(const Span& columns, int tile) { return columns.begin / tile * tile; }

// Calls f(j) for the columns of a tile that are this thread's in its row.
template <int kTile, typename Function>
__device__ void ForEachOfRow(Function f) {
  for (int j = RunningRow<kTile>::Part(); j < kTile; j += kThreadsPerRow<kTile>) f(j);
}

template <typename T, int kHead>
__global__ void __launch_bounds__(kThreads, 1) Forward(Operands<T> all, T* out, float* logsumexp) {
  using Size = Sizes<T, kHead>;
  constexpr int kTile = Size::kTile;
  TileMemory<T, kHead> tiles;
  T* const own = tiles.Tile();
  T* const other = tiles.Tile();
  float* const scores = tiles.Scores();
  T* const weights = tiles.Weights();
  const AttentionShape& shape = all.shape;
  const int head = static_cast<int>(shape.head);
  const int value_head = static_cast<int>(shape.ValueHead());
  const BlockPlace place(shape.heads, shape.rows, kTile);
  const Sight sight(shape, place.batch);
  const int64_t key_head = place.head / all.HeadsPerKeyHead();
  const Rows<const T> keys = RowsOf(all.k, shape.k, place.batch, key_head);
  const Rows<const T> values = RowsOf(all.v, shape.v, place.batch, key_head);
  const Span columns = sight.OfRows(place.first, kTile);
  const int mine = RunningRow<kTile>::Row();
  const Span seen = sight.Of(place.first + mine);

  LoadTile<T, kHead>(RowsOf(all.q, shape.q, place.batch, place.head), place.first, shape.rows, head, own);
  const BiasOfRow bias(shape.bias, place.head, place.first + mine);
  RunningRow<kTile> running;
  for (int64_t column = FirstTile(columns, kTile); column < columns.end; column += kTile) {
    ScoresWith<T, kHead>(own, keys, column, shape.columns, head, other, scores);
    running.Add(scores, Size::kScorePitch, shape, bias, seen, column);
  }
  const float largest = running.largest();
  const float sum = running.Sum();
  const float inverse_sum = sum > 0.0f ? 1.0f / sum : 0.0f;
  const Keeper keeper(shape.dropout, all.key);
  const int64_t first_weight = shape.dropout.FirstOfRow(place.batch, place.head, place.first + mine);
  if (logsumexp != nullptr && RunningRow<kTile>::Part() == 0 && place.first + mine < shape.rows) {
    logsumexp[all.FirstQuery(place.batch, place.head) + place.first + mine] = largest + logf(sum);
  }

  if (out == nullptr) return;

  Accumulator<T, kHead> result;
  for (int64_t column = FirstTile(columns, kTile); column < columns.end; column += kTile) {
    __syncthreads();
    ScoresWith<T, kHead>(own, keys, column, shape.columns, head, other, scores);
    LoadTile<T, kHead>(values, column, shape.columns, value_head, other);
    ForEachOfRow<kTile>([&](int j) {
      float weight = 0.0f;
      if (seen.Has(column + j)) {
        const Score score(scores[mine * Size::kScorePitch + j], bias.At(column + j), shape.scale, shape.cap);
        weight = Exp(score.value - largest) * inverse_sum * keeper.At(first_weight, column + j);
      }
      weights[mine * Size::kWeightPitch + j] = T(weight);
    });
    __syncthreads();
    result.Add(weights, other);
  }
  __syncthreads();
  result.Store(scores, RowsOf(out, shape.out, place.batch, place.head), place.first, shape.rows, value_head);
}

// delta, by a warp for each query.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    DeltaOfRows(AttentionShape shape, const T* out, const T* dout, float* delta) {
  const int64_t query = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (query >= shape.batch * shape.heads * shape.rows) return;  // The same for all lanes.
  const int64_t row = query % shape.rows;
  const int64_t head = query / shape.rows % shape.heads;
  const int64_t batch = query / shape.rows / shape.heads;
  const T* const of_out = RowsOf(out, shape.out, batch, head).At(row);
  const T* const of_dout = RowsOf(dout, shape.dout, batch, head).At(row);
  float sum = 0.0f;
  for (int64_t d = threadIdx.x % kWarp; d < shape.ValueHead(); d += kWarp) {
    sum += static_cast<float>(of_out[d]) * static_cast<float>(of_dout[d]);
  }
  sum = GroupReduce<kWarp>(sum, Sum());
  if (threadIdx.x % kWarp == 0) delta[query] = sum;
}

// What the gradients need to know of a query. Rows outside of the tensor see nothing.
struct RowFactors {
  float logsumexp = 0.0f;
  float delta = 0.0f;

  template <typename T>
  __device__ RowFactors(const Operands<T>& all, int64_t first_query, int64_t row) {
    if (row >= all.shape.rows) return;
    logsumexp = all.logsumexp[first_query + row];
    delta = all.delta[first_query + row];
  }
};

// The weight of a score that is seen, and the gradient by the product of query and key. `kept`: by what the weight is
// multiplied.
struct Weight {
  float weight = 0.0f;
  float gradient = 0.0f;

  Weight() = default;
  __device__ Weight(const Score& score, float weighed, const RowFactors& row, float kept) {
    weight = Exp(score.value - row.logsumexp);
    gradient = weight * (weighed * kept - row.delta) * score.slope;
    weight *= kept;
  }
};

template <typename T, int kHead>
__global__ void __launch_bounds__(kThreads, 1) GradientQuery(Operands<T> all, T* dq) {
  using Size = Sizes<T, kHead>;
  constexpr int kTile = Size::kTile;
  TileMemory<T, kHead> tiles;
  T* const own = tiles.Tile();
  T* const own_gradient = tiles.Tile();
  T* const other = tiles.Tile();
  float* const scores = tiles.Scores();
  float* const weighed = tiles.Scores();
  T* const gradients = tiles.Weights();
  const AttentionShape& shape = all.shape;
  const int head = static_cast<int>(shape.head);
  const int value_head = static_cast<int>(shape.ValueHead());
  const BlockPlace place(shape.heads, shape.rows, kTile);
  const Sight sight(shape, place.batch);
  const int64_t key_head = place.head / all.HeadsPerKeyHead();
  const Rows<const T> keys = RowsOf(all.k, shape.k, place.batch, key_head);
  const Rows<const T> values = RowsOf(all.v, shape.v, place.batch, key_head);
  LoadTile<T, kHead>(RowsOf(all.q, shape.q, place.batch, place.head), place.first, shape.rows, head, own);
  LoadTile<T, kHead>(RowsOf(all.dout, shape.dout, place.batch, place.head), place.first, shape.rows, value_head,
                     own_gradient);
  const int mine = RunningRow<kTile>::Row();
  const RowFactors row(all, all.FirstQuery(place.batch, place.head), place.first + mine);
  Accumulator<T, kHead> result;
  const Span columns = sight.OfRows(place.first, kTile);
  const Span seen = sight.Of(place.first + mine);
  const Keeper keeper(shape.dropout, all.key);
  const int64_t first_weight = shape.dropout.FirstOfRow(place.batch, place.head, place.first + mine);
  const BiasOfRow bias(shape.bias, place.head, place.first + mine);
  for (int64_t column = FirstTile(columns, kTile); column < columns.end; column += kTile) {
    __syncthreads();
    ScoresWith<T, kHead>(own_gradient, values, column, shape.columns, value_head, other, weighed);
    ScoresWith<T, kHead>(own, keys, column, shape.columns, head, other, scores);
    ForEachOfRow<kTile>([&](int j) {
      const int at = mine * Size::kScorePitch + j;
      Weight weight;
      if (seen.Has(column + j)) {
        weight = Weight(Score(scores[at], bias.At(column + j), shape.scale, shape.cap), weighed[at], row,
                        keeper.At(first_weight, column + j));
      }
      gradients[mine * Size::kWeightPitch + j] = T(weight.gradient);
    });
    __syncthreads();
    result.Add(gradients, other);
  }
  __syncthreads();
  result.Store(scores, RowsOf(dq, shape.dq, place.batch, place.head), place.first, shape.rows, head);
}

// Which gradients a kernel computes. Those of large heads are computed one after the other: both together would take
// more registers than a thread has, and a tile more than the shared memory of an A100.
enum class Sought { kKeyAndValue, kKey, kValue };
constexpr int kLargestHeadOfBoth = 128;

// The block's own rows are keys here, and the tiles of scores are transposed: each row of scores belongs to a key. The
// query heads that see the key head are taken one after another. Where both are sought, either may be null.
template <typename T, int kHead, Sought kSought>
__global__ void __launch_bounds__(kThreads, 1) GradientKeyValue(Operands<T> all, T* dk, T* dv) {
  constexpr bool kBoth = kSought == Sought::kKeyAndValue;
  using Size = Sizes<T, kHead>;
  constexpr int kTile = Size::kTile;
  TileMemory<T, kHead> tiles;
  T* const own_key = tiles.Tile();
  T* const own_value = tiles.Tile();
  T* const query = tiles.Tile();
  T* const gradient = kBoth ? tiles.Tile() : query;
  float* const scores = tiles.Scores();
  float* const weighed = tiles.Scores();
  T* const weights = tiles.Weights();
  T* const gradients = kBoth ? tiles.Weights() : weights;
  const AttentionShape& shape = all.shape;
  const int head = static_cast<int>(shape.head);
  const int value_head = static_cast<int>(shape.ValueHead());
  const BlockPlace place(shape.key_heads, shape.columns, kTile);
  const Sight sight(shape, place.batch);
  const Span rows = sight.RowsThatMaySee(place.first, kTile);
  LoadTile<T, kHead>(RowsOf(all.k, shape.k, place.batch, place.head), place.first, shape.columns, head, own_key);
  // Without values there are zeros, of which nothing is wanted.
  LoadTile<T, kHead>(RowsOf(all.v, shape.v, place.batch, place.head), place.first, all.v == nullptr ? 0 : shape.columns,
                     value_head, own_value);
  const int mine = RunningRow<kTile>::Row();
  Accumulator<T, kHead> key_result;
  Accumulator<T, kHead> value_result;
  const Keeper keeper(shape.dropout, all.key);
  const int64_t first_head = place.head * all.HeadsPerKeyHead();
  for (int64_t query_head = first_head; query_head < first_head + all.HeadsPerKeyHead(); ++query_head) {
    const Rows<const T> queries = RowsOf(all.q, shape.q, place.batch, query_head);
    const Rows<const T> query_gradients = RowsOf(all.dout, shape.dout, place.batch, query_head);
    const int64_t first_query = all.FirstQuery(place.batch, query_head);
    for (int64_t first = FirstTile(rows, kTile); first < rows.end; first += kTile) {
      const Span seen = sight.OfRows(first, kTile);
      if (seen.end <= place.first || seen.begin >= place.first + kTile) continue;  // The same for all threads.
      __syncthreads();
      // In a tile for both stays what is loaded last, by which the sum below multiplies.
      if constexpr (kSought == Sought::kKey) {
        ScoresWith<T, kHead>(own_value, query_gradients, first, shape.rows, value_head, gradient, weighed);
        ScoresWith<T, kHead>(own_key, queries, first, shape.rows, head, query, scores);
      } else if constexpr (kSought == Sought::kValue) {
        ScoresWith<T, kHead>(own_key, queries, first, shape.rows, head, query, scores);
        ScoresWith<T, kHead>(own_value, query_gradients, first, shape.rows, value_head, gradient, weighed);
      } else {
        LoadTile<T, kHead>(queries, first, shape.rows, head, query);
        LoadTile<T, kHead>(query_gradients, first, shape.rows, value_head, gradient);
        __syncthreads();
        Scores<kHead>(own_key, query, scores);
        Scores<kHead>(own_value, gradient, weighed);
        __syncthreads();
      }
      ForEachOfRow<kTile>([&](int j) {
        const int at = mine * Size::kScorePitch + j;
        const RowFactors row(all, first_query, first + j);
        Weight weight;
        if (sight.Of(first + j).Has(place.first + mine)) {
          const int64_t first_weight = shape.dropout.FirstOfRow(place.batch, query_head, first + j);
          const float bias = BiasOfRow(shape.bias, query_head, first + j).At(place.first + mine);
          weight = Weight(Score(scores[at], bias, shape.scale, shape.cap), weighed[at], row,
                          keeper.At(first_weight, place.first + mine));
        }
        if constexpr (kSought != Sought::kKey) weights[mine * Size::kWeightPitch + j] = T(weight.weight);
        if constexpr (kSought != Sought::kValue) gradients[mine * Size::kWeightPitch + j] = T(weight.gradient);
      });
      __syncthreads();
      if constexpr (kSought != Sought::kKey) {
        if (dv != nullptr) value_result.Add(weights, gradient);
      }
      if constexpr (kSought != Sought::kValue) {
        if (dk != nullptr) key_result.Add(gradients, query);
      }
    }
  }
  __syncthreads();
  if constexpr (kSought != Sought::kValue) {
    if (dk != nullptr) {
      key_result.Store(scores, RowsOf(dk, shape.dk, place.batch, place.head), place.first, shape.columns, head);
    }
  }
  if constexpr (kSought != Sought::kKey) {
    if (dv != nullptr) {
      value_result.Store(scores, RowsOf(dv, shape.dv, place.batch, place.head), place.first, shape.columns, value_head);
    }
  }
}

// The gradient of the bias by one sample, [batch, heads, distances]: a block for each of its rows, which takes the
// tiles of scores one after another and adds up each diagonal of a tile by one thread, so that the order is always the
// same.
template <typename T, int kHead>
__global__ void __launch_bounds__(kThreads, 1) GradientBias(Operands<T> all, float* of_samples) {
  using Size = Sizes<T, kHead>;
  constexpr int kTile = Size::kTile;
  TileMemory<T, kHead> tiles;
  T* const own = tiles.Tile();
  T* const own_gradient = tiles.Tile();
  T* const other = tiles.Tile();
  float* const scores = tiles.Scores();
  float* const weighed = tiles.Scores();
  const AttentionShape& shape = all.shape;
  const int head = static_cast<int>(shape.head);
  const int value_head = static_cast<int>(shape.ValueHead());
  const int64_t batch = blockIdx.x / shape.heads;
  const int64_t query_head = blockIdx.x % shape.heads;
  const Sight sight(shape, batch);
  const Keeper keeper(shape.dropout, all.key);
  const int64_t key_head = query_head / all.HeadsPerKeyHead();
  const Rows<const T> keys = RowsOf(all.k, shape.k, batch, key_head);
  const Rows<const T> values = RowsOf(all.v, shape.v, batch, key_head);
  const int64_t distances = shape.bias.distances;
  float* const sums = of_samples + blockIdx.x * distances;
  for (int64_t i = threadIdx.x; i < distances; i += kThreads) sums[i] = 0.0f;
  const int mine = RunningRow<kTile>::Row();
  for (int64_t first = 0; first < shape.rows; first += kTile) {
    __syncthreads();
    LoadTile<T, kHead>(RowsOf(all.q, shape.q, batch, query_head), first, shape.rows, head, own);
    LoadTile<T, kHead>(RowsOf(all.dout, shape.dout, batch, query_head), first, shape.rows, value_head, own_gradient);
    const RowFactors row(all, all.FirstQuery(batch, query_head), first + mine);
    const Span columns = sight.OfRows(first, kTile);
    const Span seen = sight.Of(first + mine);
    const int64_t first_weight = shape.dropout.FirstOfRow(batch, query_head, first + mine);
    const BiasOfRow bias(shape.bias, query_head, first + mine);
    for (int64_t column = FirstTile(columns, kTile); column < columns.end; column += kTile) {
      __syncthreads();
      ScoresWith<T, kHead>(own_gradient, values, column, shape.columns, value_head, other, weighed);
      ScoresWith<T, kHead>(own, keys, column, shape.columns, head, other, scores);
      ForEachOfRow<kTile>([&](int j) {
        const int at = mine * Size::kScorePitch + j;
        float gradient = 0.0f;
        if (seen.Has(column + j)) {
          const float weight = Exp(shape.scale * scores[at] + bias.At(column + j) - row.logsumexp);
          gradient = weight * (weighed[at] * keeper.At(first_weight, column + j) - row.delta);
        }
        weighed[at] = gradient;
      });
      __syncthreads();
      for (int d = 1 - kTile + static_cast<int>(threadIdx.x); d < kTile; d += kThreads) {
        const int64_t at = shape.bias.first + column - first + d;
        if (at < 0 || at >= distances) continue;
        float sum = 0.0f;
        for (int i = d < 0 ? -d : 0; i < kTile && i + d < kTile; ++i) sum += weighed[i * Size::kScorePitch + i + d];
        sums[at] += sum;
      }
    }
  }
}

// Adds up what GradientBias has written.
__global__ void __launch_bounds__(kThreads)
    AddUpSamples(const float* of_samples, int64_t samples, int64_t elements, float* sums) {
  for (int64_t i = FirstElement(); i < elements; i += ElementStride()) {
    float sum = 0.0f;
    for (int64_t sample = 0; sample < samples; ++sample) sum += of_samples[sample * elements + i];
    sums[i] = sum;
  }
}

// Blocks for the rows of so many heads, with shared memory for so many tiles.
template <typename T, int kHead>
LaunchShape BlocksFor(int64_t heads, int64_t rows, int tiles, int scores, int weights) {
  constexpr int kTile = Sizes<T, kHead>::kTile;
  return {
      .blocks = heads * ((rows + kTile - 1) / kTile),
      .threads = kThreads,
      .shared_bytes = tiles * kTileBytes<T, kHead> + scores * kScoreBytes<T, kHead> + weights * kWeightBytes<T, kHead>};
}

PhiloxKey KeyOf(const AttentionDropout& dropout) {
  return dropout.rate > 0.0f ? StreamKey(dropout.stream) : PhiloxKey{};
}

// Calls run with a constant head size for which kernels are made: the next power of two for all of its tensors.
template <typename Run>
void WithHead(const AttentionShape& shape, Run run) {
  const int64_t head = std::max(shape.head, shape.ValueHead());
  if (head <= 32) return run(std::integral_constant<int, 32>());
  if (head <= 64) return run(std::integral_constant<int, 64>());
  if (head <= 128) return run(std::integral_constant<int, 128>());
  return run(std::integral_constant<int, kLargestHead>());
}

}  // namespace attention

template <typename T>
void AttentionByTiles(const AttentionShape& shape, const T* q, const T* k, const T* v, T* out, float* logsumexp) {
  using namespace attention;
  CheckTensorCores<T>("attention");
  const Operands<T> operands = {.shape = shape, .q = q, .k = k, .v = v, .key = KeyOf(shape.dropout)};
  WithHead(shape, [&](auto head) {
    constexpr int kHead = decltype(head)::value;
    Launch(Forward<T, kHead>, BlocksFor<T, kHead>(shape.batch * shape.heads, shape.rows, 2, 1, 1), operands, out,
           logsumexp);
  });
}

template <typename T>
void AttentionGradientByTiles(const AttentionShape& shape, const T* q, const T* k, const T* v, const T* out,
                              const float* logsumexp, const T* dout, T* dq, T* dk, T* dv) {
  using namespace attention;
  CheckTensorCores<T>("attention");
  const int64_t queries = shape.batch * shape.heads * shape.rows;
  ScratchLayout layout;
  const int64_t place = layout.Add<float>(queries);
  const int64_t biases = shape.bias.gradient == nullptr ? 0 : shape.heads * shape.bias.distances;
  const int64_t place_of_biases = layout.Add<float>(shape.batch * biases);
  const ScratchMemory scratch(layout);
  float* const delta = scratch.At<float>(place);
  Launch(DeltaOfRows<T>, LaunchShape{.blocks = (queries + kWarps - 1) / kWarps, .threads = kThreads}, shape, out, dout,
         delta);
  const Operands<T> operands = {shape, q, k, v, KeyOf(shape.dropout), dout, logsumexp, delta};
  WithHead(shape, [&](auto head) {
    constexpr int kHead = decltype(head)::value;
    if (dq != nullptr) {
      Launch(GradientQuery<T, kHead>, BlocksFor<T, kHead>(shape.batch * shape.heads, shape.rows, 3, 2, 1), operands,
             dq);
    }
    const int64_t key_heads = shape.batch * shape.key_heads;
    if constexpr (kHead <= kLargestHeadOfBoth) {
      if (dk != nullptr || dv != nullptr) {
        Launch(GradientKeyValue<T, kHead, Sought::kKeyAndValue>, BlocksFor<T, kHead>(key_heads, shape.columns, 4, 2, 2),
               operands, dk, dv);
      }
    } else {
      const LaunchShape blocks = BlocksFor<T, kHead>(key_heads, shape.columns, 3, 2, 1);
      if (dk != nullptr) Launch(GradientKeyValue<T, kHead, Sought::kKey>, blocks, operands, dk, dv);
      if (dv != nullptr) Launch(GradientKeyValue<T, kHead, Sought::kValue>, blocks, operands, dk, dv);
    }
    if (biases > 0) {
      // A block for each sample and head, as if each had one row.
      Launch(GradientBias<T, kHead>, BlocksFor<T, kHead>(shape.batch * shape.heads, 1, 3, 2, 0), operands,
             scratch.At<float>(place_of_biases));
    }
  });
  if (biases > 0) {
    Launch(AddUpSamples, ForElements(biases), scratch.At<float>(place_of_biases), shape.batch, biases,
           shape.bias.gradient);
  }
}

#define CLEAVE_ATTENTION_OF(T)                                                                                        \
  template void AttentionByTiles(const AttentionShape&, const T*, const T*, const T*, T*, float*);                    \
  template void AttentionGradientByTiles(const AttentionShape&, const T*, const T*, const T*, const T*, const float*, \
                                         const T*, T*, T*, T*);
CLEAVE_ATTENTION_OF(float)
CLEAVE_ATTENTION_OF(BFloat16)
CLEAVE_ATTENTION_OF(Float16)
#undef CLEAVE_ATTENTION_OF

}  // namespace cleave::runtime
