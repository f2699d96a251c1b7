// Reading guide: an AttentionPiece is the work of one thread on some queries of one matrix. It takes the keys in groups
// of panels, and for each group the queries in tiles; Forward and Gradients are these two loops. Scores exist for a
// tile and a group only, so a core's second cache holds them; weights and gradients are multiplied panel by panel,
// which the first holds.
//
// With s the scores, p = exp(s - m) / l the weights and d = dout v^T, the gradient by the scores is p (d - sum_j p d).
// The sums of a row over all keys are needed before any gradient. Where one group holds all keys, its scores are still
// there; otherwise a first pass over the groups takes the sums, and the second one computes the scores again.
#include "runtime/kernels/attention.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/device/work.h"
#include "runtime/device/workspace.h"
#include "runtime/kernels/cpu/attention_blocks.h"
#include "runtime/kernels/cpu/blocks.h"
#include "runtime/kernels/cpu/vectors.h"
#include "runtime/kernels/elementwise.h"

namespace cleave::runtime {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// `x` where the lane, whose number in its row is `first` and more, is one of the `seen` first; else `otherwise`.
inline Floats WhereSeen(Floats x, int64_t first, int64_t seen, float otherwise) {
  const uint32_t lanes = static_cast<uint32_t>(std::clamp<int64_t>(seen - first, 0, kLanes));
  return LaneNumbers() < lanes ? x : Floats{} + otherwise;
}

// Calls f(j) for the first elements of the vectors of a row, whose width is nearly always that of a panel.
template <typename Function>
inline void ForEachVector(int64_t width, Function f) {
  if (width == kAttentionTile) {
#pragma GCC unroll 4
    for (int64_t j = 0; j < kAttentionTile; j += kLanes) f(j);
  } else {
    for (int64_t j = 0; j < width; j += kLanes) f(j);
  }
}

// The largest of `so_far` and the scores that are seen, lane by lane.
inline Floats LargestScores(const float* scores, int64_t seen, int64_t width, float scale, Floats so_far) {
  ForEachVector(width, [&](int64_t j) {
    Floats x = Load(scores + j) * scale;
    if (seen < j + kLanes) x = WhereSeen(x, j, seen, kHidden);
    so_far = LargerOf(so_far, x);
  });
  return so_far;
}

// Weights relative to `largest` in place of scores.
inline Floats WeightsAt(const float* scores, int64_t j, int64_t seen, float scale, float largest) {
  const Floats weights = ExpOfNegative(Load(scores + j) * scale - largest);
  return seen < j + kLanes ? WhereSeen(weights, j, seen, 0.0f) : weights;
}

template <typename T>
class AttentionPiece {
 public:
  // Rows `begin` to `end` of one matrix, whose tensors are q, k and v.
  AttentionPiece(const AttentionShape& shape, const T* q, const T* k, const T* v, int64_t begin, int64_t end,
                 const AttentionBlocks<T>& blocks)
      : shape_(shape), q_(q), k_(k), v_(v), begin_(begin), end_(end), my_(blocks) {
    const int64_t rows = TileCount(end - begin) * kAttentionTile;
    std::fill(my_.largest, my_.largest + rows, kHidden);
    std::fill(my_.sum, my_.sum + rows, 0.0f);
    // Every row sees the first key.
    if (shape.columns == 0) std::fill(my_.result, my_.result + rows * my_.width, 0.0f);
  }

  void Forward(T* out) {
    for (int64_t key = 0; key < shape_.columns; key += kGroup) {
      if (TileAt(LastTile(), key).panels == 0) break;
      PackTransposed(k_, key, my_.keys);
      PackPairsOfKeys(v_, key, my_.values);
      ForEachTile(key, [&](const Tile& tile) { ForwardTile(tile); });
    }
    for (int64_t row = begin_; row < end_; ++row) StoreRow(row, Inverse(row), out);
  }

  // Gradient is T, or float for sums that are added up later.
  template <typename Gradient>
  void Gradients(const T* dout, T* dq, Gradient* dk, Gradient* dv) {
    dout_ = dout;
    std::fill(my_.weighted_sum, my_.weighted_sum + TileCount(end_ - begin_) * kAttentionTile, 0.0f);
    const bool is_one_group = shape_.columns <= kGroup;
    for (int64_t key = 0; key < shape_.columns && !is_one_group; key += kGroup) {
      if (TileAt(LastTile(), key).panels == 0) break;
      PackTransposed(k_, key, my_.keys);
      PackTransposed(v_, key, my_.values);
      ForEachTile(key, [&](const Tile& tile) {
        ComputeScores(tile);
        TakeSums(tile);
      });
    }
    for (int64_t key = 0; key < shape_.columns; key += kGroup) {
      PackTransposed(k_, key, my_.keys);
      PackTransposed(v_, key, my_.values);
      PackPairsOfKeys(k_, key, my_.keys_by_pairs);
      int64_t started = 0;  // Panels that a tile has seen; later tiles see as many or more.
      ForEachTile(key, [&](const Tile& tile) {
        ComputeScores(tile);
        if (is_one_group) {
          TakeSums(tile);
        } else {
          WeighAgain(tile);
        }
        AddGradients(tile, started);
        started = tile.panels;
      });
      StoreKeyGradients(key, started, my_.key_gradient, dk);
      StoreKeyGradients(key, started, my_.value_gradient, dv);
    }
    for (int64_t row = begin_; row < end_; ++row) StoreRow(row, 1.0f, dq);
  }

 private:
  static constexpr int64_t kGroup = kGroupPanels * kAttentionTile;
  static constexpr int64_t kSquare = kAttentionTile * kAttentionTile;
  static constexpr int64_t kWords = PaddedWords<T>(kAttentionTile);

  // A tile and the panels of a group that hold a key which one of its rows sees.
  struct Tile {
    int64_t row;   // Its first.
    int64_t rows;  // Without padding.
    int64_t key;   // The first of the group.
    int64_t panels;
  };

  // The keys that a query sees are those below this.
  int64_t Seen(int64_t row) const {
    return shape_.causal ? std::min(shape_.columns, shape_.first_row + row + 1) : shape_.columns;
  }
  Tile TileAt(int64_t row, int64_t key) const {
    const int64_t rows = std::min(kAttentionTile, end_ - row);
    const int64_t keys = std::clamp<int64_t>(Seen(row + rows - 1) - key, 0, kGroup);
    return {row, rows, key, rows <= 0 ? 0 : TileCount(keys)};
  }
  int64_t LastTile() const { return begin_ + std::max<int64_t>(0, TileCount(end_ - begin_) - 1) * kAttentionTile; }
  int64_t KeysOfPanel(int64_t key) const { return std::min(kAttentionTile, shape_.columns - key); }
  float Inverse(int64_t row) const {
    const float sum = my_.sum[row - begin_];
    return sum == 0.0f ? 0.0f : 1.0f / sum;
  }
  float* ResultOf(int64_t row) const { return my_.result + (row - begin_) * my_.width; }

  // Calls f(tile) for those that see a key of the group that begins at `key`.
  template <typename Function>
  void ForEachTile(int64_t key, Function f) const {
    for (int64_t row = begin_; row < end_; row += kAttentionTile) {
      if (const Tile tile = TileAt(row, key); tile.panels > 0) f(tile);
    }
  }
  // Calls f(panel, its first key, its keys) for the first `panels` of the group that begins at `key`.
  template <typename Function>
  void ForEachPanel(int64_t key, int64_t panels, Function f) const {
    for (int64_t panel = 0; panel < panels; ++panel) {
      const int64_t first = key + panel * kAttentionTile;
      f(panel, first, KeysOfPanel(first));
    }
  }
  int64_t PanelsOf(int64_t key) const { return std::min(kGroupPanels, TileCount(shape_.columns - key)); }

  void StoreRow(int64_t row, float factor, T* tensor) const {
    const float* const from = ResultOf(row);
    T* const to = tensor + row * shape_.head;
#pragma omp simd
    for (int64_t j = 0; j < shape_.head; ++j) to[j] = T(from[j] * factor);
  }

  // Keys, or values, of a group as the right factor of products by heads.
  void PackTransposed(const T* tensor, int64_t key, Word<T>* panels) const {
    ForEachPanel(key, PanelsOf(key), [&](int64_t panel, int64_t first, int64_t keys) {
      const LeftFactor<Word<T>> rows = AlongRows(tensor, first, keys, my_.turning);
      TransposeBlock<Word<T>>(Padded<T>(keys), my_.head_words, {rows.data, rows.row_stride},
                              {panels + panel * my_.head_words * kAttentionTile, kAttentionTile});
    });
  }
  // The same as the right factor of products by keys; not needed where the tensor itself can be that.
  void PackPairsOfKeys(const T* tensor, int64_t key, Word<T>* panels) const {
    ForEachPanel(key, PanelsOf(key), [&](int64_t panel, int64_t first, int64_t keys) {
      if (IsPacked(keys)) return;
      PackAcrossRows(tensor + first * shape_.head, keys, shape_.head, panels + panel * kWords * my_.width);
    });
  }
  Block<const Word<T>> PairsOfKeys(const T* tensor, int64_t key, int64_t panel, const Word<T>* panels) const {
    const int64_t first = key + panel * kAttentionTile;
    if (IsPacked(KeysOfPanel(first))) {
      return {reinterpret_cast<const Word<T>*>(tensor + first * shape_.head), my_.width};
    }
    return {panels + panel * kWords * my_.width, my_.width};
  }
  // Whether so many rows of a tensor are a block as they are, whose words are pairs across rows.
  bool IsPacked(int64_t rows) const {
    return kIsInWords<T> && InWords<T>::kElements == 1 && shape_.head == my_.width && rows == Padded<T>(rows);
  }

  // Rows of a tensor by pairs along them: where they are, or copied to `room` and padded.
  LeftFactor<Word<T>> AlongRows(const T* tensor, int64_t row, int64_t rows, Word<T>* room) const {
    const T* const first = tensor + row * shape_.head;
    if (kIsInWords<T> && shape_.head == my_.width && rows == Padded<T>(rows)) {
      return {reinterpret_cast<const Word<T>*>(first), my_.head_words};
    }
    PackAlongRows(first, rows, shape_.head, room);
    return {room, my_.head_words};
  }

  // results = rows of the tile times the panels.
  void MultiplyByPanels(const Tile& tile, LeftFactor<Word<T>> rows, const Word<T>* panels, float* results) const {
    ForEachPanel(tile.key, tile.panels, [&](int64_t panel, int64_t, int64_t keys) {
      MultiplyBlocks<T>({.rows = Padded<T>(tile.rows), .columns = Padded<T>(keys), .words = my_.head_words}, rows,
                        {panels + panel * my_.head_words * kAttentionTile, kAttentionTile},
                        {results + panel * kSquare, kAttentionTile});
    });
  }

  // Calls f(at, seen, width) for the part of a row in each panel: where it is among the scores, how many of its keys
  // the row sees, and its padded size.
  template <typename Function>
  void ForEachPart(const Tile& tile, int64_t row, Function f) const {
    const int64_t seen = Seen(row);
    ForEachPanel(tile.key, tile.panels, [&](int64_t panel, int64_t first, int64_t keys) {
      f(panel * kSquare + (row - tile.row) * kAttentionTile, seen - first, Padded<T>(keys));
    });
  }

  // The largest score of a row so far. Returns by how much sums of weights shrink that are relative to the one before.
  float UpdateLargest(const Tile& tile, int64_t row) const {
    float& largest = my_.largest[row - begin_];
    Floats lanes = Floats{} + largest;
    ForEachPart(tile, row, [&](int64_t at, int64_t seen, int64_t width) {
      lanes = LargestScores(my_.scores + at, seen, width, shape_.scale, lanes);
    });
    const float before = std::exchange(largest, LargestOf(lanes));
    if (before == largest) return 1.0f;
    return before == kHidden ? 0.0f : Exp(before - largest);
  }

  void ForwardTile(const Tile& tile) const {
    const float scale = shape_.scale;
    MultiplyByPanels(tile, AlongRows(q_, tile.row, tile.rows, my_.query), my_.keys, my_.scores);
    for (int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
      const float shrinks = UpdateLargest(tile, row);
      const float largest = my_.largest[row - begin_];
      Floats sum = {};
      ForEachPart(tile, row, [&](int64_t at, int64_t seen, int64_t width) {
        float* const scores = my_.scores + at;
        ForEachVector(width, [&](int64_t j) {
          const Floats weights = WeightsAt(scores, j, seen, scale, largest);
          sum += weights;
          StoreWeights(weights, scores, j);
        });
      });
      float& whole_sum = my_.sum[row - begin_];
      whole_sum = whole_sum * shrinks + SumOf(sum);
      float* const result = ResultOf(row);
      if (tile.key == 0 || shrinks == 1.0f) continue;
      for (int64_t j = 0; j < my_.width; j += kLanes) Store(Load(result + j) * shrinks, result + j);
    }
    ForEachPanel(tile.key, tile.panels, [&](int64_t panel, int64_t, int64_t keys) {
      MultiplyBlocks<T>({.rows = Padded<T>(tile.rows),
                         .columns = my_.width,
                         .words = PaddedWords<T>(keys),
                         .adds = tile.key + panel > 0},
                        {reinterpret_cast<const Word<T>*>(my_.scores + panel * kSquare), kAttentionTile},
                        PairsOfKeys(v_, tile.key, panel, my_.values), {ResultOf(tile.row), my_.width});
    });
  }

  // Element `j` and on of a row, by pairs along it where T has pairs: these take the first half of the row.
  static void StoreWeights(Floats weights, float* row, int64_t j) {
    if constexpr (InWords<T>::kElements == 1) {
      Store(weights, row + j);
    } else {
      StoreRounded(weights, reinterpret_cast<T*>(row) + j);
    }
  }

  void ComputeScores(const Tile& tile) const {
    MultiplyByPanels(tile, AlongRows(q_, tile.row, tile.rows, my_.query), my_.keys, my_.scores);
    MultiplyByPanels(tile, AlongRows(dout_, tile.row, tile.rows, my_.gradient), my_.values, my_.by_weights);
  }

  // The scores become weights relative to the largest score so far, and the sums of the rows go on.
  void TakeSums(const Tile& tile) const {
    const float scale = shape_.scale;
    for (int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
      const float shrinks = UpdateLargest(tile, row);
      const float largest = my_.largest[row - begin_];
      Floats sum = {};
      Floats weighted_sum = {};
      ForEachPart(tile, row, [&](int64_t at, int64_t seen, int64_t width) {
        float* const scores = my_.scores + at;
        const float* const by_weights = my_.by_weights + at;
        ForEachVector(width, [&](int64_t j) {
          const Floats weights = WeightsAt(scores, j, seen, scale, largest);
          sum += weights;
          weighted_sum += weights * Load(by_weights + j);
          Store(weights, scores + j);
        });
      });
      float& whole_sum = my_.sum[row - begin_];
      whole_sum = whole_sum * shrinks + SumOf(sum);
      float& whole_weighted_sum = my_.weighted_sum[row - begin_];
      whole_weighted_sum = whole_weighted_sum * shrinks + SumOf(weighted_sum);
    }
  }

  // The scores become weights relative to the largest score of all.
  void WeighAgain(const Tile& tile) const {
    const float scale = shape_.scale;
    for (int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
      const float largest = my_.largest[row - begin_];
      ForEachPart(tile, row, [&](int64_t at, int64_t seen, int64_t width) {
        float* const scores = my_.scores + at;
        ForEachVector(width, [&](int64_t j) { Store(WeightsAt(scores, j, seen, scale, largest), scores + j); });
      });
    }
  }

  // A row's numbers that turn relative weights and d into weights and gradients by scores.
  struct RowFactors {
    float inverse;
    float mean;
    float scale;
  };
  RowFactors FactorsOf(int64_t row) const {
    const float inverse = Inverse(row);
    return {inverse, my_.weighted_sum[row - begin_] * inverse, shape_.scale};
  }

  struct WeightAndGradient {
    Floats weight;
    Floats gradient;
  };
  static WeightAndGradient Finish(const float* weights, const float* by_weights, RowFactors row) {
    const Floats weight = Load(weights) * row.inverse;
    return {weight, weight * row.scale * (Load(by_weights) - row.mean)};
  }

  // Weights and gradients by the scores of a panel, as factors of the products that follow.
  struct Factors {
    Block<const Word<T>> weights;           // By pairs of queries.
    Block<const Word<T>> gradients;         // The same.
    LeftFactor<Word<T>> gradients_by_keys;  // By pairs of keys.
  };

  // Makes them where the scores and d were. Pairs of queries take every other row of the scores each.
  Factors FinishPanel(const Tile& tile, int64_t panel, int64_t width) const {
    float* const scores = my_.scores + panel * kSquare;
    float* const by_weights = my_.by_weights + panel * kSquare;
    const int64_t rows = Padded<T>(tile.rows);
    // Padded rows are no queries.
    std::fill(scores + tile.rows * kAttentionTile, scores + rows * kAttentionTile, 0.0f);
    std::fill(by_weights + tile.rows * kAttentionTile, by_weights + rows * kAttentionTile, 0.0f);
    if constexpr (InWords<T>::kElements == 1) {
      for (int64_t i = 0; i < rows; ++i) {
        const RowFactors factors = FactorsOf(tile.row + i);
        float* const my_scores = scores + i * kAttentionTile;
        float* const my_by_weights = by_weights + i * kAttentionTile;
        ForEachVector(width, [=](int64_t j) {
          const WeightAndGradient both = Finish(my_scores + j, my_by_weights + j, factors);
          Store(both.weight, my_scores + j);
          Store(both.gradient, my_by_weights + j);
        });
      }
      return {{scores, kAttentionTile}, {by_weights, kAttentionTile}, {by_weights, kAttentionTile}};
    } else {
      Word<T>* const pairs = reinterpret_cast<Word<T>*>(scores);
      for (int64_t i = 0; i < rows; i += 2) {
        const RowFactors first = FactorsOf(tile.row + i);
        const RowFactors second = FactorsOf(tile.row + i + 1);
        const int64_t row = i * kAttentionTile;
        ForEachVector(width, [=](int64_t j) {
          const int64_t at = row + j;
          const WeightAndGradient a = Finish(scores + at, by_weights + at, first);
          const WeightAndGradient b = Finish(scores + at + kAttentionTile, by_weights + at + kAttentionTile, second);
          Store(RoundedPairs(a.weight, b.weight), pairs + at);
          Store(RoundedPairs(a.gradient, b.gradient), pairs + at + kAttentionTile);
          StoreWeights(a.gradient, by_weights + row, j);
          StoreWeights(b.gradient, by_weights + row + kAttentionTile, j);
        });
      }
      return {{pairs, 2 * kAttentionTile},
              {pairs + kAttentionTile, 2 * kAttentionTile},
              {reinterpret_cast<Word<T>*>(by_weights), kAttentionTile}};
    }
  }

  // What a tile and a group contribute to the gradients, from the tile's relative weights and d. Panels from
  // `started` on are new to the gradients of keys and values.
  void AddGradients(const Tile& tile, int64_t started) const {
    const KeyFactor query = KeyFactorOf(q_, tile, my_.query, my_.query_by_pairs);
    const KeyFactor gradient = KeyFactorOf(dout_, tile, my_.gradient, my_.gradient_by_pairs);
    ForEachPanel(tile.key, tile.panels, [&](int64_t panel, int64_t, int64_t keys) {
      const Factors factors = FinishPanel(tile, panel, Padded<T>(keys));
      const int64_t at = panel * my_.width * kAttentionTile;
      const bool adds = panel < started;
      MultiplyByWeights(tile, keys, adds, gradient, factors.weights, my_.value_gradient + at);
      MultiplyByWeights(tile, keys, adds, query, factors.gradients, my_.key_gradient + at);
      MultiplyBlocks<T>({.rows = Padded<T>(tile.rows),
                         .columns = my_.width,
                         .words = PaddedWords<T>(keys),
                         .adds = tile.key + panel > 0},
                        factors.gradients_by_keys, PairsOfKeys(k_, tile.key, panel, my_.keys_by_pairs),
                        {ResultOf(tile.row), my_.width});
    });
  }

  // The rows of a tile as a factor beside weights by pairs of queries. Where there are no pairs, the gradients of keys
  // and values are weights^T rows; else they are computed transposed, as rows^T weights, because the words of a left
  // factor are neighbours in its rows.
  static constexpr bool kIsTurned = InWords<T>::kElements > 1;
  struct KeyFactor {
    const Word<T>* data;
    int64_t stride;
  };
  KeyFactor KeyFactorOf(const T* tensor, const Tile& tile, Word<T>* room, Word<T>* turned) const {
    if constexpr (kIsTurned) {
      PackAcrossRows(tensor + tile.row * shape_.head, tile.rows, shape_.head, my_.turning);
      TransposeBlock<Word<T>>(PaddedWords<T>(tile.rows), my_.width, {my_.turning, my_.width}, {turned, kWords});
      return {turned, kWords};
    } else {
      const LeftFactor<Word<T>> rows = AlongRows(tensor, tile.row, tile.rows, room);
      return {rows.data, rows.row_stride};
    }
  }

  void MultiplyByWeights(const Tile& tile, int64_t keys, bool adds, KeyFactor rows, Block<const Word<T>> weights,
                         float* sums) const {
    const int64_t words = PaddedWords<T>(tile.rows);
    if constexpr (kIsTurned) {
      MultiplyBlocks<T>({.rows = my_.width, .columns = Padded<T>(keys), .words = words, .adds = adds},
                        {rows.data, rows.stride}, weights, {sums, kAttentionTile});
    } else {
      MultiplyBlocks<T>({.rows = Padded<T>(keys), .columns = my_.width, .words = words, .adds = adds},
                        {weights.data, 1, weights.stride}, {rows.data, rows.stride}, {sums, my_.width});
    }
  }

  // The first `started` panels have sums, the others have zeros.
  template <typename Gradient>
  void StoreKeyGradients(int64_t key, int64_t started, const float* sums, Gradient* gradients) const {
    ForEachPanel(key, PanelsOf(key), [&](int64_t panel, int64_t first, int64_t keys) {
      Gradient* const to = gradients + first * shape_.head;
      if (panel >= started) return std::fill(to, to + keys * shape_.head, Gradient(0.0f));
      const float* from = sums + panel * my_.width * kAttentionTile;
      if constexpr (kIsTurned) {
        float* const rows = reinterpret_cast<float*>(my_.turning);
        TransposeBlock<float>(my_.width, Padded<T>(keys), {from, kAttentionTile}, {rows, my_.width});
        from = rows;
      }
      for (int64_t i = 0; i < keys; ++i) {
#pragma omp simd
        for (int64_t j = 0; j < shape_.head; ++j) to[i * shape_.head + j] = Gradient(from[i * my_.width + j]);
      }
    });
  }

  const AttentionShape& shape_;
  const T* const q_;
  const T* const k_;
  const T* const v_;
  const T* dout_ = nullptr;
  const int64_t begin_;
  const int64_t end_;
  const AttentionBlocks<T>& my_;
};

// Memory of the calling thread, kept from call to call because fresh memory is slow.
void* MemoryOfThread(int64_t bytes) {
  thread_local Scratch scratch;
  return scratch.AtLeast(bytes);
}

// Calls run(matrix, number of the piece, begin, end, blocks) for each piece, in parallel.
template <typename T, typename Run>
void ForEachPiece(const AttentionShape& shape, bool for_gradient, Run run) {
  const PiecesOfQueries pieces(shape);
  const int64_t count = shape.matrices * pieces.of_matrix;
#pragma omp parallel if (count > 1)
  {
    const int64_t bytes = AttentionBlocks<T>(shape, pieces.rows, for_gradient, nullptr).bytes;
    const AttentionBlocks<T> blocks(shape, pieces.rows, for_gradient, MemoryOfThread(bytes));
#pragma omp for schedule(dynamic)
    for (int64_t i = 0; i < count; ++i) {
      const int64_t number = i % pieces.of_matrix;
      const int64_t begin = number * pieces.rows;
      run(i / pieces.of_matrix, number, std::min(begin, shape.rows), std::min(begin + pieces.rows, shape.rows), blocks);
    }
  }
}

}  // namespace

template <typename T>
void Attention(const AttentionShape& shape, const T* q, const T* k, const T* v, T* out) {
  CountFlops(FlopsOf(shape));
  const int64_t queries = shape.rows * shape.head;
  const int64_t keys = shape.columns * shape.head;
  ForEachPiece<T>(
      shape, false, [&](int64_t matrix, int64_t, int64_t begin, int64_t end, const AttentionBlocks<T>& blocks) {
        AttentionPiece<T>(shape, q + matrix * queries, k + matrix * keys, v + matrix * keys, begin, end, blocks)
            .Forward(out + matrix * queries);
      });
}

template <typename T>
void AttentionGradient(const AttentionShape& shape, const T* q, const T* k, const T* v, const T* dout, T* dq, T* dk,
                       T* dv) {
  CountFlops(kGradientOverForward * FlopsOf(shape));
  const int64_t queries = shape.rows * shape.head;
  const int64_t keys = shape.columns * shape.head;
  const int64_t pieces = PiecesOfQueries(shape).of_matrix;
  // Of each matrix and each of its pieces the gradients of k, then of v.
  WorkspaceVector<float> parts(static_cast<size_t>(pieces == 1 ? 0 : shape.matrices * pieces * 2 * keys));
  ForEachPiece<T>(
      shape, true, [&](int64_t matrix, int64_t number, int64_t begin, int64_t end, const AttentionBlocks<T>& blocks) {
        AttentionPiece<T> piece(shape, q + matrix * queries, k + matrix * keys, v + matrix * keys, begin, end, blocks);
        const T* const my_dout = dout + matrix * queries;
        T* const my_dq = dq + matrix * queries;
        if (pieces == 1) return piece.Gradients(my_dout, my_dq, dk + matrix * keys, dv + matrix * keys);
        float* const part = parts.data() + (matrix * pieces + number) * 2 * keys;
        piece.Gradients(my_dout, my_dq, part, part + keys);
      });
  if (pieces == 1) return;
#pragma omp parallel for
  for (int64_t matrix = 0; matrix < shape.matrices; ++matrix) {
    const float* const part = parts.data() + matrix * pieces * 2 * keys;
    for (int64_t i = 0; i < 2 * keys; ++i) {
      float sum = 0.0f;
      for (int64_t number = 0; number < pieces; ++number) sum += part[number * 2 * keys + i];
      (i < keys ? dk[matrix * keys + i] : dv[matrix * keys + i - keys]) = T(sum);
    }
  }
}

#define CLEAVE_ATTENTION_OF(T)                                                      \
  template void Attention(const AttentionShape&, const T*, const T*, const T*, T*); \
  template void AttentionGradient(const AttentionShape&, const T*, const T*, const T*, const T*, T*, T*, T*);
CLEAVE_ATTENTION_OF(float)
CLEAVE_ATTENTION_OF(BFloat16)
CLEAVE_ATTENTION_OF(Float16)
#undef CLEAVE_ATTENTION_OF

}  // namespace cleave::runtime
