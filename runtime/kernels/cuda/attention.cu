// Reading guide: Forward shows the whole idea. StatisticsOfRows does for the gradients what Forward's first pass does.
// The other two kernels compute the weights of the softmax again, tile by tile, from what StatisticsOfRows wrote.
//
// With s the scores, p = exp(s - m) / l the weights and d = dout v^T, the gradient by the scores is p (d - sum_j p d).
#include <cmath>
#include <type_traits>

#include "runtime/device/work.h"
#include "runtime/error/error.h"
#include "runtime/kernels/attention.h"
#include "runtime/kernels/cuda/attention_tiles.cuh"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/kernels/elementwise.h"

namespace cleave::runtime {
namespace attention {

// What the gradients need to know of a query's row of scores.
struct RowStatistics {
  float largest;       // m
  float inverse_sum;   // 1 / l
  float weighted_sum;  // sum_j p d
};

// Threads that share a row of a tile: neighbours in a warp.
template <int kTile>
constexpr int kThreadsPerRow = kThreads / kTile;

template <int kTile>
__device__ float MaxOverRow(float x) {
#pragma unroll
  for (int lane = 1; lane < kThreadsPerRow<kTile>; lane *= 2) x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFu, x, lane));
  return x;
}
template <int kTile>
__device__ float SumOverRow(float x) {
#pragma unroll
  for (int lane = 1; lane < kThreadsPerRow<kTile>; lane *= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, lane);
  return x;
}

// Which keys a query sees.
struct Sight {
  int64_t rows;
  int64_t columns;
  int64_t first_row;
  bool causal;

  explicit Sight(const AttentionShape& shape)
      : rows(shape.rows), columns(shape.columns), first_row(shape.first_row), causal(shape.causal) {}

  __device__ bool Sees(int64_t row, int64_t column) const {
    return row < rows && column < columns && (!causal || column <= first_row + row);
  }
  // The keys that any of the queries up to `row` sees are those below this.
  __device__ int64_t ColumnsUpTo(int64_t row) const {
    return causal && first_row + row + 1 < columns ? first_row + row + 1 : columns;
  }
  // The first query that sees `column`.
  __device__ int64_t FirstRow(int64_t column) const { return causal && column > first_row ? column - first_row : 0; }
};

// What the kernels read.
template <typename T>
struct Operands {
  int64_t rows;
  int64_t columns;
  int head;
  float scale;
  Sight sight;
  const T* q;
  const T* k;
  const T* v;
  const T* dout;  // This and the next one are for the gradients only.
  RowStatistics* statistics;

  Operands(const AttentionShape& shape, const T* q, const T* k, const T* v, const T* dout = nullptr,
           RowStatistics* statistics = nullptr)
      : rows(shape.rows),
        columns(shape.columns),
        head(static_cast<int>(shape.head)),
        scale(shape.scale),
        sight(shape),
        q(q),
        k(k),
        v(v),
        dout(dout),
        statistics(statistics) {}

  // The operands of one matrix.
  __device__ Operands Of(int64_t matrix) const {
    Operands one = *this;
    one.q += matrix * rows * head;
    one.k += matrix * columns * head;
    one.v += matrix * columns * head;
    if (dout == nullptr) return one;
    one.dout += matrix * rows * head;
    one.statistics += matrix * rows;
    return one;
  }
};

// The largest score of a row so far, and sums of exponentials relative to it.
template <int kTile>
class RunningRow {
 public:
  // Takes a tile of scores, and a tile of the values that they weigh unless it is null. `row` and `column` are the
  // tile's first.
  __device__ void Add(const float* scores, const float* weighed, int pitch, float scale, const Sight& sight,
                      int64_t row, int64_t column) {
    const int mine = Row();
    float largest = largest_;
    for (int j = Part(); j < kTile; j += kThreadsPerRow<kTile>) {
      if (sight.Sees(row + mine, column + j)) largest = fmaxf(largest, scale * scores[mine * pitch + j]);
    }
    largest = MaxOverRow<kTile>(largest);
    if (largest == -INFINITY) return;  // The same for all threads of the row.
    const float before = Exp(largest_ - largest);
    sum_ *= before;
    weighted_sum_ *= before;
    for (int j = Part(); j < kTile; j += kThreadsPerRow<kTile>) {
      if (!sight.Sees(row + mine, column + j)) continue;
      const float term = Exp(scale * scores[mine * pitch + j] - largest);
      sum_ += term;
      if (weighed != nullptr) weighted_sum_ += term * weighed[mine * pitch + j];
    }
    largest_ = largest;
  }

  // The result is the same on all threads of the row. All threads of the block call it.
  __device__ RowStatistics Result() const {
    const float sum = SumOverRow<kTile>(sum_);
    const float weighted_sum = SumOverRow<kTile>(weighted_sum_);
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
    return {largest_, inverse, weighted_sum * inverse};
  }

  __device__ static int Row() { return static_cast<int>(threadIdx.x) / kThreadsPerRow<kTile>; }
  __device__ static int Part() { return static_cast<int>(threadIdx.x) % kThreadsPerRow<kTile>; }

 private:
  float largest_ = -INFINITY;
  float sum_ = 0.0f;
  float weighted_sum_ = 0.0f;
};

// The matrix and the tile that a block works on.
struct BlockPlace {
  int64_t matrix;
  int64_t first;  // Row of the tile.

  __device__ BlockPlace(int64_t rows, int tile) {
    const int64_t tiles = (rows + tile - 1) / tile;
    matrix = blockIdx.x / tiles;
    first = blockIdx.x % tiles * tile;
  }
};

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

// Loads the rows of `tensor` from `first` on into `other`, and computes the scores of the block's own rows with them.
// Then all threads may read the scores and write to `other`.
template <typename T, int kHead>
__device__ void ScoresWith(const T* own, const T* tensor, int64_t first, int64_t rows, int head, T* other,
                           float* scores) {
  LoadTile<T, kHead>(tensor, first, rows, head, other);
  __syncthreads();
  Scores<kHead>(own, other, scores);
  __syncthreads();
}

// Calls f(j) for the columns of a tile that are this thread's in its row.
template <int kTile, typename Function>
__device__ void ForEachOfRow(Function f) {
  for (int j = RunningRow<kTile>::Part(); j < kTile; j += kThreadsPerRow<kTile>) f(j);
}

template <typename T, int kHead>
__global__ void __launch_bounds__(kThreads) Forward(Operands<T> all, T* out) {
  using Size = Sizes<T, kHead>;
  constexpr int kTile = Size::kTile;
  TileMemory<T, kHead> tiles;
  T* const own = tiles.Tile();
  T* const other = tiles.Tile();
  float* const scores = tiles.Scores();
  T* const weights = tiles.Weights();
  const BlockPlace place(all.rows, kTile);
  const Operands<T> my = all.Of(place.matrix);
  const int64_t end = my.sight.ColumnsUpTo(place.first + kTile - 1);

  LoadTile<T, kHead>(my.q, place.first, my.rows, my.head, own);
  RunningRow<kTile> running;
  for (int64_t column = 0; column < end; column += kTile) {
    ScoresWith<T, kHead>(own, my.k, column, my.columns, my.head, other, scores);
    running.Add(scores, nullptr, Size::kScorePitch, my.scale, my.sight, place.first, column);
  }
  const RowStatistics row = running.Result();

  Accumulator<T, kHead> result;
  for (int64_t column = 0; column < end; column += kTile) {
    __syncthreads();
    ScoresWith<T, kHead>(own, my.k, column, my.columns, my.head, other, scores);
    LoadTile<T, kHead>(my.v, column, my.columns, my.head, other);
    const int mine = RunningRow<kTile>::Row();
    ForEachOfRow<kTile>([&](int j) {
      const bool seen = my.sight.Sees(place.first + mine, column + j);
      const float score = my.scale * scores[mine * Size::kScorePitch + j];
      weights[mine * Size::kWeightPitch + j] = T(seen ? Exp(score - row.largest) * row.inverse_sum : 0.0f);
    });
    __syncthreads();
    result.Add(weights, other);
  }
  __syncthreads();
  result.Store(scores, place.first, my.rows, my.head, out + place.matrix * my.rows * my.head);
}

template <typename T, int kHead>
__global__ void __launch_bounds__(kThreads) StatisticsOfRows(Operands<T> all) {
  using Size = Sizes<T, kHead>;
  constexpr int kTile = Size::kTile;
  TileMemory<T, kHead> tiles;
  T* const own = tiles.Tile();
  T* const own_gradient = tiles.Tile();
  T* const other = tiles.Tile();
  float* const scores = tiles.Scores();
  float* const weighed = tiles.Scores();
  const BlockPlace place(all.rows, kTile);
  const Operands<T> my = all.Of(place.matrix);
  LoadTile<T, kHead>(my.q, place.first, my.rows, my.head, own);
  LoadTile<T, kHead>(my.dout, place.first, my.rows, my.head, own_gradient);
  RunningRow<kTile> running;
  const int64_t end = my.sight.ColumnsUpTo(place.first + kTile - 1);
  for (int64_t column = 0; column < end; column += kTile) {
    ScoresWith<T, kHead>(own, my.k, column, my.columns, my.head, other, scores);
    ScoresWith<T, kHead>(own_gradient, my.v, column, my.columns, my.head, other, weighed);
    running.Add(scores, weighed, Size::kScorePitch, my.scale, my.sight, place.first, column);
  }
  const RowStatistics row = running.Result();
  const int64_t mine = place.first + RunningRow<kTile>::Row();
  if (RunningRow<kTile>::Part() == 0 && mine < my.rows) my.statistics[mine] = row;
}

// The weight of a score, and the gradient by the product of query and key.
struct Weight {
  float weight;
  float gradient;

  __device__ Weight(bool seen, float score, float weighed, float scale, const RowStatistics& row) {
    weight = seen ? Exp(scale * score - row.largest) * row.inverse_sum : 0.0f;
    gradient = weight * (weighed - row.weighted_sum) * scale;
  }
};

template <typename T, int kHead>
__global__ void __launch_bounds__(kThreads) GradientQuery(Operands<T> all, T* dq) {
  using Size = Sizes<T, kHead>;
  constexpr int kTile = Size::kTile;
  TileMemory<T, kHead> tiles;
  T* const own = tiles.Tile();
  T* const own_gradient = tiles.Tile();
  T* const other = tiles.Tile();
  float* const scores = tiles.Scores();
  float* const weighed = tiles.Scores();
  T* const gradients = tiles.Weights();
  const BlockPlace place(all.rows, kTile);
  const Operands<T> my = all.Of(place.matrix);
  LoadTile<T, kHead>(my.q, place.first, my.rows, my.head, own);
  LoadTile<T, kHead>(my.dout, place.first, my.rows, my.head, own_gradient);
  const int mine = RunningRow<kTile>::Row();
  RowStatistics row = {0.0f, 0.0f, 0.0f};
  if (place.first + mine < my.rows) row = my.statistics[place.first + mine];
  Accumulator<T, kHead> result;
  const int64_t end = my.sight.ColumnsUpTo(place.first + kTile - 1);
  for (int64_t column = 0; column < end; column += kTile) {
    __syncthreads();
    ScoresWith<T, kHead>(own_gradient, my.v, column, my.columns, my.head, other, weighed);
    ScoresWith<T, kHead>(own, my.k, column, my.columns, my.head, other, scores);
    ForEachOfRow<kTile>([&](int j) {
      const int at = mine * Size::kScorePitch + j;
      const bool seen = my.sight.Sees(place.first + mine, column + j);
      gradients[mine * Size::kWeightPitch + j] = T(Weight(seen, scores[at], weighed[at], my.scale, row).gradient);
    });
    __syncthreads();
    result.Add(gradients, other);
  }
  __syncthreads();
  result.Store(scores, place.first, my.rows, my.head, dq + place.matrix * my.rows * my.head);
}

// The block's own rows are keys here, and the tiles of scores are transposed: each row of scores belongs to a key.
template <typename T, int kHead>
__global__ void __launch_bounds__(kThreads) GradientKeyValue(Operands<T> all, T* dk, T* dv) {
  using Size = Sizes<T, kHead>;
  constexpr int kTile = Size::kTile;
  TileMemory<T, kHead> tiles;
  T* const own_key = tiles.Tile();
  T* const own_value = tiles.Tile();
  T* const query = tiles.Tile();
  T* const gradient = tiles.Tile();
  float* const scores = tiles.Scores();
  float* const weighed = tiles.Scores();
  T* const weights = tiles.Weights();
  T* const gradients = tiles.Weights();
  const BlockPlace place(all.columns, kTile);
  const Operands<T> my = all.Of(place.matrix);
  LoadTile<T, kHead>(my.k, place.first, my.columns, my.head, own_key);
  LoadTile<T, kHead>(my.v, place.first, my.columns, my.head, own_value);
  const int mine = RunningRow<kTile>::Row();
  Accumulator<T, kHead> key_result;
  Accumulator<T, kHead> value_result;
  for (int64_t first = my.sight.FirstRow(place.first) / kTile * kTile; first < my.rows; first += kTile) {
    __syncthreads();
    LoadTile<T, kHead>(my.q, first, my.rows, my.head, query);
    LoadTile<T, kHead>(my.dout, first, my.rows, my.head, gradient);
    __syncthreads();
    Scores<kHead>(own_key, query, scores);
    Scores<kHead>(own_value, gradient, weighed);
    __syncthreads();
    ForEachOfRow<kTile>([&](int j) {
      const int at = mine * Size::kScorePitch + j;
      const bool seen = my.sight.Sees(first + j, place.first + mine);
      const RowStatistics row = first + j < my.rows ? my.statistics[first + j] : RowStatistics{0.0f, 0.0f, 0.0f};
      const Weight weight(seen, scores[at], weighed[at], my.scale, row);
      weights[mine * Size::kWeightPitch + j] = T(weight.weight);
      gradients[mine * Size::kWeightPitch + j] = T(weight.gradient);
    });
    __syncthreads();
    value_result.Add(weights, gradient);
    key_result.Add(gradients, query);
  }
  __syncthreads();
  const int64_t before = place.matrix * my.columns * my.head;
  key_result.Store(scores, place.first, my.columns, my.head, dk + before);
  value_result.Store(scores, place.first, my.columns, my.head, dv + before);
}

template <typename T, int kHead>
LaunchShape BlocksFor(const AttentionShape& shape, int64_t rows, int tiles, int scores, int weights) {
  constexpr int kTile = Sizes<T, kHead>::kTile;
  return {
      .blocks = shape.matrices * ((rows + kTile - 1) / kTile),
      .threads = kThreads,
      .shared_bytes = tiles * kTileBytes<T, kHead> + scores * kScoreBytes<T, kHead> + weights * kWeightBytes<T, kHead>};
}

// Ends the program on a GPU whose tensor cores do not know the type.
template <typename T>
void CheckTensorCores() {
  if constexpr (std::is_same_v<T, BFloat16>) {
    constexpr int kAmpere = 8;
    int device = 0;
    int generation = 0;
    CheckCuda(cudaGetDevice(&device), "asking for the device");
    CheckCuda(cudaDeviceGetAttribute(&generation, cudaDevAttrComputeCapabilityMajor, device),
              "asking for its generation");
    if (generation >= kAmpere) return;
    Die(ExitCode::kEnvironment,
        "this GPU's tensor cores do not multiply bf16, which attention needs; all have f16: "
        "compile the model with `precision = f16`");
  }
}

// Calls run with a constant head size for which kernels are made: the next power of two.
template <typename Run>
void WithHead(int64_t head, Run run) {
  if (head <= 32) return run(std::integral_constant<int, 32>());
  if (head <= 64) return run(std::integral_constant<int, 64>());
  return run(std::integral_constant<int, kLargestHead>());
}

}  // namespace attention

template <typename T>
void Attention(const AttentionShape& shape, const T* q, const T* k, const T* v, T* out) {
  CountFlops(FlopsOf(shape));
  using namespace attention;
  CheckTensorCores<T>();
  const Operands<T> operands(shape, q, k, v);
  WithHead(shape.head, [&](auto head) {
    constexpr int kHead = decltype(head)::value;
    Launch(Forward<T, kHead>, BlocksFor<T, kHead>(shape, shape.rows, 2, 1, 1), operands, out);
  });
}

template <typename T>
void AttentionGradient(const AttentionShape& shape, const T* q, const T* k, const T* v, const T* dout, T* dq, T* dk,
                       T* dv) {
  CountFlops(kGradientOverForward * FlopsOf(shape));
  using namespace attention;
  CheckTensorCores<T>();
  ScratchLayout layout;
  const int64_t place = layout.Add<RowStatistics>(shape.matrices * shape.rows);
  const ScratchMemory scratch(layout);
  const Operands<T> operands(shape, q, k, v, dout, scratch.At<RowStatistics>(place));
  WithHead(shape.head, [&](auto head) {
    constexpr int kHead = decltype(head)::value;
    Launch(StatisticsOfRows<T, kHead>, BlocksFor<T, kHead>(shape, shape.rows, 3, 2, 0), operands);
    Launch(GradientQuery<T, kHead>, BlocksFor<T, kHead>(shape, shape.rows, 3, 2, 1), operands, dq);
    Launch(GradientKeyValue<T, kHead>, BlocksFor<T, kHead>(shape, shape.columns, 4, 2, 2), operands, dk, dv);
  });
}

#define CLEAVE_ATTENTION_OF(T)                                                      \
  template void Attention(const AttentionShape&, const T*, const T*, const T*, T*); \
  template void AttentionGradient(const AttentionShape&, const T*, const T*, const T*, const T*, T*, T*, T*);
CLEAVE_ATTENTION_OF(float)
CLEAVE_ATTENTION_OF(BFloat16)
CLEAVE_ATTENTION_OF(Float16)
#undef CLEAVE_ATTENTION_OF

}  // namespace cleave::runtime
