// Reading guide: an AttentionPiece is the work of one thread on some of the queries that see one key head. It takes the
// keys in groups of panels, and for each group the queries in tiles; Forward and Gradients are these two loops. Packed
// keys serve all tiles of a piece, whichever query head these belong to. A core's second cache holds a group. Panels of
// which a tile sees no key are left out (Sight). For few queries keys are not packed (ForwardOfFew).
//
// With s the scores, L the logsumexp of a row, p = exp(s - L) the weights and d = dout v^T, the gradient by the scores
// is p (d - delta), where delta = sum_j p d = dout out, row by row. So the gradients take each tile and panel alone,
// and their scores stay in the first cache.
#include "runtime/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
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

// Which keys a query sees: from the first up to the end, counted from some key.
struct Sight {
  int64_t begin;
  int64_t end;

  bool IsEmpty() const { return begin >= end; }
  bool HasAll(int64_t first, int64_t count) const { return begin <= first && first + count <= end; }
  Sight From(int64_t key) const { return {begin - key, end - key}; }
};

// `x` where the query sees the key of the lane, whose number is `first` and more; else `otherwise`.
inline Floats WhereSeen(Floats x, int64_t first, Sight sight, float otherwise) {
  const int64_t begin = std::clamp<int64_t>(sight.begin - first, 0, kLanes);
  const int64_t end = std::clamp<int64_t>(sight.end - first, begin, kLanes);
  const Bits number = LaneNumbers() - static_cast<uint32_t>(begin);  // Very large for lanes before.
  return number < static_cast<uint32_t>(end - begin) ? x : Floats{} + otherwise;
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
inline Floats LargestScores(const float* scores, Sight sight, int64_t width, float scale, Floats so_far) {
  ForEachVector(width, [&](int64_t j) {
    Floats x = Load(scores + j) * scale;
    if (!sight.HasAll(j, kLanes)) x = WhereSeen(x, j, sight, kHidden);
    so_far = LargerOf(so_far, x);
  });
  return so_far;
}

// Weights relative to `largest`, from scores.
inline Floats WeightsAt(const float* scores, int64_t j, Sight sight, float scale, float largest) {
  const Floats weights = ExpOfNegative(Load(scores + j) * scale - largest);
  return sight.HasAll(j, kLanes) ? weights : WhereSeen(weights, j, sight, 0.0f);
}

// tanh(x) = (1 - e^-2|x|) / (1 + e^-2|x|), with the sign of x.
inline Floats TanhOf(Floats x) {
  const Floats e = ExpOfNegative((x < 0.0f ? x : -x) * 2.0f);
  const Floats y = (1.0f - e) / (1.0f + e);
  return x < 0.0f ? -y : y;
}

// Rows of a head: row i begins at data + i * stride. No tensor has no rows.
template <typename T>
Block<T> RowsOf(T* tensor, const AttentionStrides& strides, int64_t batch, int64_t head) {
  if (tensor == nullptr) return {nullptr, 0};
  return {tensor + batch * strides.batch + head * strides.head, strides.row};
}
template <typename T>
Block<T> From(Block<T> rows, int64_t row) {
  return {rows.data + row * rows.stride, rows.stride};
}

// Which weights of a tile and a panel are kept: all ones, or zero.
struct KeptWeights {
  alignas(64) uint32_t bits[kAttentionTile * kAttentionTile];

  const uint32_t* Row(int64_t i) const { return bits + i * kAttentionTile; }
};

// Clears the bits of the first `count` elements of a row that are not among those kept.
template <typename T>
void ClearDropped(const uint32_t* kept, int64_t count, void* row) {
  using Element = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
  char* const bytes = static_cast<char*>(row);
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) {
    Element element;
    std::memcpy(&element, bytes + j * static_cast<int64_t>(sizeof element), sizeof element);
    element = static_cast<Element>(element & kept[j]);
    std::memcpy(bytes + j * static_cast<int64_t>(sizeof element), &element, sizeof element);
  }
}

// Sixteen neighbouring blocks of random words, computed as vectors.
struct SixteenBlocks {
  static constexpr int kBlocks = 16;
  alignas(64) uint32_t words[4][kBlocks];  // Word w of block n.

  SixteenBlocks(PhiloxKey key, uint64_t first, uint64_t step) {
    for (int n = 0; n < kBlocks; ++n) Set(n, PhiloxCounter(first + static_cast<uint64_t>(n), step));
    for (int round = 0; round < kPhiloxRounds; ++round) {
#pragma omp simd
      for (int n = 0; n < kBlocks; ++n) {
        Set(n, PhiloxRound({words[0][n], words[1][n], words[2][n], words[3][n]}, key));
      }
      key = KeyOfNextRound(key);
    }
  }

 private:
  void Set(int n, const PhiloxBlock& block) {
    words[0][n] = block[0];
    words[1][n] = block[1];
    words[2][n] = block[2];
    words[3][n] = block[3];
  }
};

// Draws for neighbours of one row of weights.
class WeightDraws {
 public:
  explicit WeightDraws(const AttentionDropout& dropout)
      : dropout_(dropout), step_(dropout.rate > 0.0f ? dropout.stream.step.Get() : 0) {
    if (IsNeeded()) key_ = StreamKey(dropout.stream);
  }

  bool IsNeeded() const { return step_ != 0; }
  float Scale() const { return IsNeeded() ? 1.0f / (1.0f - dropout_.rate) : 1.0f; }

  // Of `count` columns from `column` on; REQUIRES: count <= kAttentionTile.
  void Draw(int64_t batch, int64_t head, int64_t row, int64_t column, int64_t count, uint32_t* kept) const {
    const uint64_t begin = static_cast<uint64_t>(dropout_.FirstOfRow(batch, head, row) + column);
    const int64_t before = static_cast<int64_t>(begin % 4);  // Of the first block, which are not wanted.
    alignas(64) uint32_t all[kAttentionTile + 4];
    const SixteenBlocks blocks(key_, begin / 4, step_);
    for (int n = 0; n < SixteenBlocks::kBlocks; ++n) {
      for (int w = 0; w < 4; ++w) all[4 * n + w] = KeptBy(blocks.words[w][n]);
    }
    if (before + count > kAttentionTile) {
      const PhiloxBlock last = PhiloxAt(key_, begin / 4 + SixteenBlocks::kBlocks, step_);
      for (size_t w = 0; w < 4; ++w) all[kAttentionTile + w] = KeptBy(last[w]);
    }
    std::copy_n(all + before, count, kept);
  }

 private:
  static_assert(kAttentionTile == 4 * SixteenBlocks::kBlocks, "a row of a tile");

  uint32_t KeptBy(uint32_t word) const { return UnitFloat(word) >= dropout_.rate ? ~uint32_t{0} : 0; }

  const AttentionDropout& dropout_;
  const uint64_t step_;  // 0: nothing is dropped.
  PhiloxKey key_ = {};
};

// What is read. The last three are for gradients only.
template <typename T>
struct AttentionInputs {
  const T* q;
  const T* k;
  const T* v;
  const T* out = nullptr;
  const float* logsumexp = nullptr;
  const T* dout = nullptr;
};

template <typename T>
class AttentionPiece {
 public:
  // Piece `number` of the queries that see key head `key_head` of sample `batch`.
  AttentionPiece(const AttentionShape& shape, const PiecesOfQueries& pieces, int64_t batch, int64_t key_head,
                 int64_t number, const AttentionInputs<T>& inputs, const WeightDraws& draws,
                 const AttentionBlocks<T>& blocks)
      : shape_(shape),
        batch_(batch),
        first_head_(key_head * (shape.heads / shape.key_heads)),
        tiles_of_head_(pieces.tiles_of_head),
        begin_(std::min(pieces.tiles, number * pieces.tiles_of_piece)),
        end_(std::min(pieces.tiles, begin_ + pieces.tiles_of_piece)),
        inputs_(inputs),
        k_(RowsOf(inputs.k, shape.k, batch, key_head)),
        v_(RowsOf(inputs.v, shape.v, batch, key_head)),
        score_scale_(shape.cap == 0.0f && shape.bias.values == nullptr ? shape.scale : 1.0f),
        seen_(KeysSeen()),
        draws_(draws),
        my_(blocks) {}

  void Forward(T* out, float* logsumexp) const {
    if (HasFew()) return ForwardOfFew(out, logsumexp);
    for (int64_t key = FirstGroup(); key == FirstGroup() || key < seen_.end; key += kGroup) {
      PackTransposed(my_.of_keys, k_, key, my_.keys);
      PackPairsOfKeys(my_.of_values, v_, key, my_.values);
      ForEachTile(key, [&](const Tile& tile) {
        ForwardTile(tile);
        if (!IsLastGroup(tile)) return;
        const Block<T> to = out == nullptr ? Block<T>{} : RowsOfTile(out, shape_.out, tile);
        for (int64_t i = 0; i < tile.rows; ++i) {
          const float sum = my_.sum[tile.kept_row + i];
          if (out != nullptr) StoreRow(my_.of_values, tile, i, draws_.Scale() / sum, to);
          if (logsumexp != nullptr) logsumexp[QueryOf(tile) + i] = my_.largest[tile.kept_row + i] + std::log(sum);
        }
      });
    }
  }

  // Gradient is T, or float for sums that are added up later. A gradient without rows is not computed. To `dbias`
  // [heads of the key head, distances], if it is not null, the piece adds its part.
  template <typename Gradient>
  void Gradients(T* dq, Block<Gradient> dk, Block<Gradient> dv, float* dbias) const {
    const Wanted wanted = {dq != nullptr, dk.data != nullptr, dv.data != nullptr, dbias};
    for (int64_t key = 0; key == 0 || key < shape_.columns; key += kGroup) {
      PackTransposed(my_.of_keys, k_, key, my_.keys);
      if (wanted.NeedsValues()) PackTransposed(my_.of_values, v_, key, my_.values);
      if (wanted.dq) PackPairsOfKeys(my_.of_keys, k_, key, my_.keys_by_pairs);
      PanelSet started = 0;  // Those that a tile has seen.
      ForEachTile(key, [&](const Tile& tile) {
        AddGradients(tile, wanted, started);
        for (int64_t panel = tile.first_panel; panel < tile.panels; ++panel) started |= PanelSet{1} << panel;
        if (!wanted.dq || !IsLastGroup(tile)) return;
        const Block<T> to = RowsOfTile(dq, shape_.dq, tile);
        for (int64_t i = 0; i < tile.rows; ++i) StoreRow(my_.of_keys, tile, i, 1.0f, to);
      });
      if (wanted.dk) StoreKeyGradients(my_.of_keys, key, started, my_.key_gradient, 1.0f, dk);
      if (wanted.dv) StoreKeyGradients(my_.of_values, key, started, my_.value_gradient, draws_.Scale(), dv);
    }
  }

 private:
  // Where a piece has so few queries, as in generation, keys and values are read once as they lie: to pack them takes
  // longer than the products.
  static constexpr int64_t kFew = 16;
  bool HasFew() const {
    return tiles_of_head_ == 1 && (end_ - begin_) * shape_.rows <= kFew && !draws_.IsNeeded() &&
           shape_.bias.values == nullptr;
  }

  void ForwardOfFew(T* out, float* logsumexp) const {
    const int64_t head = shape_.head, of_values = shape_.ValueHead(), count = (end_ - begin_) * shape_.rows;
    const int64_t group = my_.panels * kAttentionTile;
    // Of kFew rows of queries, and of one row of keys or of values.
    float* const queries = reinterpret_cast<float*>(my_.query);
    float* const row = reinterpret_cast<float*>(my_.turning);
    const auto read = [](const T* from, int64_t elements, float factor, float* to) {
#pragma omp simd
      for (int64_t e = 0; e < elements; ++e) to[e] = static_cast<float>(from[e]) * factor;
    };
    const auto rows_of = [&](auto* tensor, const AttentionStrides& strides, int64_t i) {
      const int64_t head_of_query = first_head_ + begin_ + i / shape_.rows;
      return From(RowsOf(tensor, strides, batch_, head_of_query), i % shape_.rows).data;
    };
    for (int64_t i = 0; i < count; ++i) read(rows_of(inputs_.q, shape_.q, i), head, shape_.scale, queries + i * head);
    std::fill_n(my_.largest, count, kHidden);
    std::fill_n(my_.sum, count, 0.0f);
    std::fill_n(my_.result, count * of_values, 0.0f);
    for (int64_t key = std::max<int64_t>(0, seen_.begin); key < seen_.end; key += group) {
      const int64_t keys = std::min(group, seen_.end - key);
      for (int64_t j = 0; j < keys; ++j) {
        read(From(k_, key + j).data, head, 1.0f, row);
        for (int64_t i = 0; i < count; ++i) {
          const float* const query = queries + i * head;
          float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
          for (int64_t e = 0; e < head; ++e) sum += query[e] * row[e];
          my_.scores[i * group + j] = sum;
        }
      }
      for (int64_t i = 0; i < count; ++i) WeighFew(i, SightOf(i % shape_.rows).From(key), keys, my_.scores + i * group);
      for (int64_t j = 0; j < keys; ++j) {
        read(From(v_, key + j).data, of_values, 1.0f, row);
        for (int64_t i = 0; i < count; ++i) {
          const float weight = my_.scores[i * group + j];
          float* const result = my_.result + i * of_values;
#pragma omp simd
          for (int64_t e = 0; e < of_values; ++e) result[e] += weight * row[e];
        }
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      const float sum = my_.sum[i], factor = sum == 0.0f ? 0.0f : 1.0f / sum;
      const int64_t query = (batch_ * shape_.heads + first_head_ + begin_) * shape_.rows + i;
      if (logsumexp != nullptr) logsumexp[query] = my_.largest[i] + std::log(sum);
      if (out == nullptr) continue;
      T* const to = rows_of(out, shape_.out, i);
      for (int64_t e = 0; e < of_values; ++e) to[e] = T(my_.result[i * of_values + e] * factor);
    }
  }

  // Makes weights of the scores of query `i` by some keys, relative to the largest score until here, and makes what is
  // there of the result relative to it.
  void WeighFew(int64_t i, Sight sight, int64_t keys, float* scores) const {
    const int64_t begin = std::clamp<int64_t>(sight.begin, 0, keys), end = std::clamp<int64_t>(sight.end, begin, keys);
    std::fill(scores, scores + begin, 0.0f);
    std::fill(scores + end, scores + keys, 0.0f);
    if (shape_.cap != 0.0f) {
      for (int64_t j = begin; j < end; ++j) scores[j] = shape_.cap * std::tanh(scores[j] / shape_.cap);
    }
    float largest = my_.largest[i];
    for (int64_t j = begin; j < end; ++j) largest = scores[j] > largest ? scores[j] : largest;
    const float shrinks = largest == my_.largest[i] ? 1.0f : Exp(my_.largest[i] - largest);
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = begin; j < end; ++j) sum += scores[j] = Exp(scores[j] - largest);
    my_.largest[i] = largest;
    my_.sum[i] = my_.sum[i] * shrinks + sum;
    if (shrinks == 1.0f) return;
    const int64_t of_values = shape_.ValueHead();
    for (int64_t e = 0; e < of_values; ++e) my_.result[i * of_values + e] *= shrinks;
  }

  static constexpr int64_t kGroup = kGroupPanels * kAttentionTile;
  static constexpr int64_t kSquare = kAttentionTile * kAttentionTile;
  static constexpr int64_t kWords = PaddedWords<T>(kAttentionTile);

  using PanelSet = uint32_t;  // Panels of a group: bit i for panel i.
  static_assert(kGroupPanels <= 32, "a bit for each");

  // A tile, and the panels of a group from the first up to the last that hold a key which one of its rows sees.
  struct Tile {
    int64_t head;
    int64_t row;       // Its first.
    int64_t rows;      // Without padding.
    int64_t kept_row;  // Where its first row is among those that are kept.
    Sight sight;       // From the first key that any of its rows sees to the last.
    int64_t key;       // The first of the group.
    int64_t first_panel;
    int64_t panels;  // Where they end; those before the first one are counted.
  };
  struct Wanted {
    bool dq;
    bool dk;
    bool dv;
    float* dbias;

    bool NeedsValues() const { return dq || dk || dbias != nullptr; }
  };

  // What a query sees without its range. Neither end decreases from row to row, but in zigzag order.
  Sight SightByPlace(int64_t row) const {
    Sight sight = {0, shape_.columns};
    if (!shape_.causal) return sight;
    const int64_t end = shape_.first_row + shape_.zigzag.PlaceOf(row) + 1;
    if (shape_.window > 0) sight.begin = std::max<int64_t>(0, end - shape_.window);
    sight.end = std::min(sight.end, end);
    return sight;
  }
  Sight SightOf(int64_t row) const {
    Sight sight = SightByPlace(row);
    if (shape_.first == nullptr) return sight;
    const int64_t query = batch_ * shape_.rows + row;
    sight.begin = std::max(sight.begin, shape_.first[query] - shape_.first_column);
    sight.end = std::min(sight.end, shape_.end[query] - shape_.first_column);
    return sight;
  }
  // From the first key that one of these rows sees to the last; empty where they see none.
  Sight SightOfRows(int64_t row, int64_t rows) const {
    if (shape_.first == nullptr && shape_.zigzag.pairs == 0)
      return {SightByPlace(row).begin, SightByPlace(row + rows - 1).end};
    Sight all = {shape_.columns, 0};
    for (int64_t i = row; i < row + rows; ++i) {
      const Sight sight = SightOf(i);
      if (!sight.IsEmpty()) all = {std::min(all.begin, sight.begin), std::max(all.end, sight.end)};
    }
    return all;
  }
  int64_t FirstRowOf(int64_t number) const { return number % tiles_of_head_ * kAttentionTile; }
  int64_t RowsOfTileAt(int64_t number) const { return std::min(kAttentionTile, shape_.rows - FirstRowOf(number)); }

  // Tile `number` of those of the key head. One that sees nothing belongs to the first group.
  Tile TileAt(int64_t number, int64_t key) const {
    const int64_t row = FirstRowOf(number);
    const int64_t rows = RowsOfTileAt(number);
    Sight sight = SightOfRows(row, rows);
    if (sight.IsEmpty()) sight = {FirstGroup(), FirstGroup()};
    const int64_t panels = TileCount(std::clamp<int64_t>(sight.end - key, 0, kGroup));
    return {.head = first_head_ + number / tiles_of_head_,
            .row = row,
            .rows = rows,
            .kept_row = (number - begin_) % my_.kept_tiles * kAttentionTile,
            .sight = sight,
            .key = key,
            .first_panel = std::min(panels, std::clamp<int64_t>(sight.begin - key, 0, kGroup) / kAttentionTile),
            .panels = panels};
  }
  // What any query of the piece sees.
  Sight KeysSeen() const {
    Sight seen = {shape_.columns, 0};
    for (int64_t number = begin_; number < end_; ++number) {
      const Sight sight = SightOfRows(FirstRowOf(number), RowsOfTileAt(number));
      if (!sight.IsEmpty()) seen = {std::min(seen.begin, sight.begin), std::max(seen.end, sight.end)};
    }
    return seen;
  }
  // The first key of the first group that a query of the piece sees.
  int64_t FirstGroup() const { return seen_.IsEmpty() ? 0 : seen_.begin / kGroup * kGroup; }
  // Whether no earlier, or no later, group has keys that the tile sees.
  static bool IsFirstGroup(const Tile& tile) { return tile.sight.begin >= tile.key; }
  static bool IsLastGroup(const Tile& tile) { return tile.sight.end <= tile.key + kGroup; }
  int64_t KeysOfPanel(int64_t key) const { return std::min(kAttentionTile, shape_.columns - key); }
  // The number of a tile's first query among all.
  int64_t QueryOf(const Tile& tile) const { return (batch_ * shape_.heads + tile.head) * shape_.rows + tile.row; }

  template <typename Element>
  Block<Element> RowsOfTile(Element* tensor, const AttentionStrides& strides, const Tile& tile) const {
    return From(RowsOf(tensor, strides, batch_, tile.head), tile.row);
  }
  // `sizes`: those of what the result is.
  float* ResultOf(const HeadSizes& sizes, const Tile& tile) const { return my_.result + tile.kept_row * sizes.width; }

  // Calls f(tile) for those that see a key of the group that begins at `key`; for the first group also for those that
  // see nothing, so that they have results too.
  template <typename Function>
  void ForEachTile(int64_t key, Function f) const {
    for (int64_t number = begin_; number < end_; ++number) {
      const Tile tile = TileAt(number, key);
      if (tile.first_panel < tile.panels || (tile.sight.IsEmpty() && key == FirstGroup())) f(tile);
    }
  }
  // Calls f(panel, its first key, its keys) for panels from `panel` up to `end` of the group that begins at `key`.
  template <typename Function>
  void ForEachPanel(int64_t key, int64_t panel, int64_t end, Function f) const {
    for (; panel < end; ++panel) {
      const int64_t first = key + panel * kAttentionTile;
      f(panel, first, KeysOfPanel(first));
    }
  }
  template <typename Function>
  void ForEachPanel(const Tile& tile, Function f) const {
    ForEachPanel(tile.key, tile.first_panel, tile.panels, f);
  }
  int64_t PanelsOf(int64_t key) const { return std::min(kGroupPanels, TileCount(shape_.columns - key)); }

  // A row that sees nothing has zeros.
  void StoreRow(const HeadSizes& sizes, const Tile& tile, int64_t i, float factor, Block<T> tensor) const {
    T* const to = tensor.data + i * tensor.stride;
    if (SightOf(tile.row + i).IsEmpty()) return std::fill(to, to + sizes.elements, T(0.0f));
    const float* const from = ResultOf(sizes, tile) + i * sizes.width;
#pragma omp simd
    for (int64_t j = 0; j < sizes.elements; ++j) to[j] = T(from[j] * factor);
  }

  // Keys, or values, of a group as the right factor of products by heads.
  void PackTransposed(const HeadSizes& sizes, Block<const T> tensor, int64_t key, Word<T>* panels) const {
    ForEachPanel(key, 0, PanelsOf(key), [&](int64_t panel, int64_t first, int64_t keys) {
      const LeftFactor<Word<T>> rows = AlongRows(sizes, From(tensor, first), keys, my_.turning);
      TransposeBlock<Word<T>>(Padded<T>(keys), sizes.words, {rows.data, rows.row_stride},
                              {panels + panel * sizes.panel_words, kAttentionTile});
    });
  }
  // The same as the right factor of products by keys; not needed where the tensor itself can be that.
  void PackPairsOfKeys(const HeadSizes& sizes, Block<const T> tensor, int64_t key, Word<T>* panels) const {
    ForEachPanel(key, 0, PanelsOf(key), [&](int64_t panel, int64_t first, int64_t keys) {
      if (IsPackedAcross(sizes, tensor, keys)) return;
      PackAcrossRows(From(tensor, first), keys, sizes.elements, panels + panel * sizes.panel_words);
    });
  }
  Block<const Word<T>> PairsOfKeys(const HeadSizes& sizes, Block<const T> tensor, int64_t key, int64_t panel,
                                   const Word<T>* panels) const {
    const int64_t first = key + panel * kAttentionTile;
    if (IsPackedAcross(sizes, tensor, KeysOfPanel(first))) {
      return {reinterpret_cast<const Word<T>*>(From(tensor, first).data), sizes.width};
    }
    return {panels + panel * sizes.panel_words, sizes.width};
  }

  // Whether so many rows of a tensor are a block as they are. Rows that are apart are not: they meet in few sets of the
  // cache.
  static bool IsPackedAlong(const HeadSizes& sizes, Block<const T> tensor, int64_t rows) {
    return kIsInWords<T> && tensor.stride == sizes.width && sizes.elements == sizes.width && rows == Padded<T>(rows) &&
           reinterpret_cast<uintptr_t>(tensor.data) % sizeof(Word<T>) == 0;
  }
  // The same where words are pairs across rows.
  static bool IsPackedAcross(const HeadSizes& sizes, Block<const T> tensor, int64_t rows) {
    return InWords<T>::kElements == 1 && IsPackedAlong(sizes, tensor, rows);
  }

  // Rows by pairs along them: where they are, or copied to `room` and padded.
  LeftFactor<Word<T>> AlongRows(const HeadSizes& sizes, Block<const T> tensor, int64_t rows, Word<T>* room) const {
    if (IsPackedAlong(sizes, tensor, rows)) return {reinterpret_cast<const Word<T>*>(tensor.data), sizes.words};
    PackAlongRows(tensor, rows, sizes.elements, room);
    return {room, sizes.words};
  }

  // results = rows of the tile times a panel of so many keys.
  void MultiplyByPanel(const HeadSizes& sizes, const Tile& tile, int64_t keys, LeftFactor<Word<T>> rows,
                       const Word<T>* panel, float* results) const {
    MultiplyBlocks<T>({.rows = Padded<T>(tile.rows), .columns = Padded<T>(keys), .words = sizes.words}, rows,
                      {panel, kAttentionTile}, {results, kAttentionTile});
  }

  // The tile's result += weights, by pairs of keys, times the rows of a panel.
  void AddToResult(const HeadSizes& sizes, const Tile& tile, int64_t panel, int64_t keys, const void* weights,
                   Block<const Word<T>> rows) const {
    MultiplyBlocks<T>({.rows = Padded<T>(tile.rows),
                       .columns = sizes.width,
                       .words = PaddedWords<T>(keys),
                       .adds = panel > tile.first_panel || !IsFirstGroup(tile)},
                      {static_cast<const Word<T>*>(weights), kAttentionTile}, rows,
                      {ResultOf(sizes, tile), sizes.width});
  }

  // Calls f(at, sight, width) for the part of a row in each panel: where it is among the scores, which of its keys the
  // row sees, and its padded size.
  template <typename Function>
  void ForEachPart(const Tile& tile, int64_t i, Function f) const {
    const Sight sight = SightOf(tile.row + i);
    ForEachPanel(tile, [&](int64_t panel, int64_t first, int64_t keys) {
      f(panel * kSquare + i * kAttentionTile, sight.From(first), Padded<T>(keys));
    });
  }

  // Scores of a tile and a panel whose first key is `first`: rows of the tile times keys, between the caps if there is
  // one. They are to be multiplied by score_scale_.
  void ScoresOf(const Tile& tile, int64_t first, int64_t keys, LeftFactor<Word<T>> query, const Word<T>* panel,
                float* scores) const {
    MultiplyByPanel(my_.of_keys, tile, keys, query, panel, scores);
    if (shape_.bias.values != nullptr) AddBias(tile, first, keys, scores);
    if (shape_.cap == 0.0f) return;
    const float inner = shape_.scale / shape_.cap;
    const float cap = shape_.cap;
    for (int64_t i = 0; i < tile.rows; ++i) {
      float* const row = scores + i * kAttentionTile;
      ForEachVector(Padded<T>(keys), [=](int64_t j) { Store(TanhOf(Load(row + j) * inner) * cap, row + j); });
    }
  }

  // Where the bias of row `i` of the tile and key `first` is, in an array [heads, distances] that begins at head
  // `first_head`.
  int64_t BiasAt(const Tile& tile, int64_t i, int64_t first, int64_t first_head) const {
    return (tile.head - first_head) * shape_.bias.distances + shape_.bias.first + first - (tile.row + i);
  }
  void AddBias(const Tile& tile, int64_t first, int64_t keys, float* scores) const {
    const float scale = shape_.scale;
    for (int64_t i = 0; i < tile.rows; ++i) {
      float* const row = scores + i * kAttentionTile;
      const float* const bias = shape_.bias.values + BiasAt(tile, i, first, 0);
#pragma omp simd
      for (int64_t j = 0; j < keys; ++j) row[j] = row[j] * scale + bias[j];
    }
  }
  // `gradients`: by scale q k^T, as WeighPanel leaves them for keys, times the scale.
  void AddBiasGradient(const Tile& tile, int64_t first, int64_t keys, const void* gradients, float* dbias) const {
    using Element = std::conditional_t<kIsTurned, T, float>;
    const float per_scale = 1.0f / shape_.scale;
    for (int64_t i = 0; i < tile.rows; ++i) {
      const auto* const row =
          reinterpret_cast<const Element*>(static_cast<const float*>(gradients) + i * kAttentionTile);
      float* const to = dbias + BiasAt(tile, i, first, first_head_);
#pragma omp simd
      for (int64_t j = 0; j < keys; ++j) to[j] += static_cast<float>(row[j]) * per_scale;
    }
  }

  // The largest score of row `i` of the tile so far. Returns by how much sums of weights shrink that are relative to
  // the one before.
  float UpdateLargest(const Tile& tile, int64_t i) const {
    float& largest = my_.largest[tile.kept_row + i];
    Floats lanes = Floats{} + largest;
    ForEachPart(tile, i, [&](int64_t at, Sight sight, int64_t width) {
      lanes = LargestScores(my_.scores + at, sight, width, score_scale_, lanes);
    });
    const float before = std::exchange(largest, LargestOf(lanes));
    if (before == largest) return 1.0f;
    return before == kHidden ? 0.0f : Exp(before - largest);
  }

  void ForwardTile(const Tile& tile) const {
    const float scale = score_scale_;
    if (IsFirstGroup(tile)) {
      std::fill_n(my_.largest + tile.kept_row, kAttentionTile, kHidden);
      std::fill_n(my_.sum + tile.kept_row, kAttentionTile, 0.0f);
    }
    const LeftFactor<Word<T>> query =
        AlongRows(my_.of_keys, RowsOfTile(inputs_.q, shape_.q, tile), tile.rows, my_.query);
    ForEachPanel(tile, [&](int64_t panel, int64_t first, int64_t keys) {
      ScoresOf(tile, first, keys, query, my_.keys + panel * my_.of_keys.panel_words, my_.scores + panel * kSquare);
    });
    for (int64_t i = 0; i < tile.rows; ++i) {
      const float shrinks = UpdateLargest(tile, i);
      const float largest = my_.largest[tile.kept_row + i];
      Floats sum = {};
      ForEachPart(tile, i, [&](int64_t at, Sight sight, int64_t width) {
        float* const scores = my_.scores + at;
        ForEachVector(width, [&](int64_t j) {
          const Floats weights = WeightsAt(scores, j, sight, scale, largest);
          sum += weights;
          StoreWeights(weights, scores, j);
        });
      });
      float& whole_sum = my_.sum[tile.kept_row + i];
      whole_sum = whole_sum * shrinks + SumOf(sum);
      const int64_t width = my_.of_values.width;
      float* const result = ResultOf(my_.of_values, tile) + i * width;
      if (IsFirstGroup(tile) || shrinks == 1.0f) continue;
      for (int64_t j = 0; j < width; j += kLanes) Store(Load(result + j) * shrinks, result + j);
    }
    ForEachPanel(tile, [&](int64_t panel, int64_t first, int64_t keys) {
      if (draws_.IsNeeded()) DropWeights(tile, first, keys, my_.scores + panel * kSquare);
      AddToResult(my_.of_values, tile, panel, keys, my_.scores + panel * kSquare,
                  PairsOfKeys(my_.of_values, v_, tile.key, panel, my_.values));
    });
  }

  // Dropping is in passes of their own, so that what is always done stays as it is. The scale of what is kept is that
  // of results, or of d.
  KeptWeights KeptOf(const Tile& tile, int64_t first, int64_t keys) const {
    KeptWeights kept;
    for (int64_t i = 0; i < tile.rows; ++i)
      draws_.Draw(batch_, tile.head, tile.row + i, first, keys, kept.bits + i * kAttentionTile);
    return kept;
  }
  // Weights as StoreWeights has stored them.
  void DropWeights(const Tile& tile, int64_t first, int64_t keys, float* weights) const {
    const KeptWeights kept = KeptOf(tile, first, keys);
    for (int64_t i = 0; i < tile.rows; ++i) {
      ClearDropped<std::conditional_t<kIsTurned, T, float>>(kept.Row(i), keys, weights + i * kAttentionTile);
    }
  }

  // Element `j` and on of a row, by pairs along it where T has pairs: these take the first half of the row.
  static void StoreWeights(Floats weights, float* row, int64_t j) {
    if constexpr (InWords<T>::kElements == 1) {
      Store(weights, row + j);
    } else {
      StoreRounded(weights, reinterpret_cast<T*>(row) + j);
    }
  }

  // What turns a row of scores and d into weights and gradients by scores.
  struct RowFactors {
    float logsumexp;
    float delta;
    Sight sight;  // Counted from the first key of the panel.
  };
  // Rows that pad the tile see nothing.
  RowFactors FactorsOf(const Tile& tile, int64_t i, int64_t first) const {
    if (i >= tile.rows) return {0.0f, 0.0f, {0, 0}};
    return {inputs_.logsumexp[QueryOf(tile) + i], my_.delta[i], SightOf(tile.row + i).From(first)};
  }

  struct WeightAndGradient {
    Floats weight;
    Floats gradient;
  };
  // By what scores are multiplied, and q k^T in their gradient.
  struct Scales {
    float score;
    float product;
  };
  static WeightAndGradient Weigh(const float* scores, const float* by_weights, int64_t j, Scales scales,
                                 const RowFactors& row) {
    const Floats weight = ExpOfNegative(Load(scores + j) * scales.score - row.logsumexp);
    const Floats gradient = weight * scales.product * (Load(by_weights + j) - row.delta);
    if (row.sight.HasAll(j, kLanes)) return {weight, gradient};
    return {WhereSeen(weight, j, row.sight, 0.0f), WhereSeen(gradient, j, row.sight, 0.0f)};
  }

  // Where there is a cap: d - delta times the slope of the scores, plus delta. Then gradients follow as without one.
  void BendGradients(const Tile& tile, int64_t keys) const {
    const float per_cap = 1.0f / shape_.cap;
    for (int64_t i = 0; i < tile.rows; ++i) {
      const float* const scores = my_.scores + i * kAttentionTile;
      float* const by_weights = my_.by_weights + i * kAttentionTile;
      const float delta = my_.delta[i];
      ForEachVector(Padded<T>(keys), [=](int64_t j) {
        const Floats share = Load(scores + j) * per_cap;
        Store((Load(by_weights + j) - delta) * (1.0f - share * share) + delta, by_weights + j);
      });
    }
  }

  // Weights and gradients by the scores of a panel, as factors of the products that follow.
  struct Factors {
    Block<const Word<T>> weights;    // By pairs of queries.
    Block<const Word<T>> gradients;  // The same.
    const void* gradients_by_keys;   // By pairs of keys.
  };

  // Makes them where the scores and d were. Pairs of queries take every other row of the scores each.
  Factors WeighPanel(const Tile& tile, int64_t first, int64_t keys) const {
    float* const scores = my_.scores;
    float* const by_weights = my_.by_weights;
    const int64_t rows = Padded<T>(tile.rows);
    const int64_t width = Padded<T>(keys);
    const Scales scales = {score_scale_, shape_.scale};
    if constexpr (InWords<T>::kElements == 1) {
      for (int64_t i = 0; i < rows; ++i) {
        const RowFactors factors = FactorsOf(tile, i, first);
        float* const my_scores = scores + i * kAttentionTile;
        float* const my_by_weights = by_weights + i * kAttentionTile;
        ForEachVector(
            width, [=](int64_t j) __attribute__((always_inline)) {
              const WeightAndGradient both = Weigh(my_scores, my_by_weights, j, scales, factors);
              Store(both.weight, my_scores + j);
              Store(both.gradient, my_by_weights + j);
            });
      }
      return {{scores, kAttentionTile}, {by_weights, kAttentionTile}, by_weights};
    } else {
      Word<T>* const pairs = reinterpret_cast<Word<T>*>(scores);
      for (int64_t i = 0; i < rows; i += 2) {
        const RowFactors factors = FactorsOf(tile, i, first);
        const RowFactors next_factors = FactorsOf(tile, i + 1, first);
        const int64_t row = i * kAttentionTile;
        const int64_t next = row + kAttentionTile;
        ForEachVector(
            width, [=](int64_t j) __attribute__((always_inline)) {
              const WeightAndGradient a = Weigh(scores + row, by_weights + row, j, scales, factors);
              const WeightAndGradient b = Weigh(scores + next, by_weights + next, j, scales, next_factors);
              Store(RoundedPairs(a.weight, b.weight), pairs + row + j);
              Store(RoundedPairs(a.gradient, b.gradient), pairs + next + j);
              StoreWeights(a.gradient, by_weights + row, j);
              StoreWeights(b.gradient, by_weights + next, j);
            });
      }
      return {{pairs, 2 * kAttentionTile}, {pairs + kAttentionTile, 2 * kAttentionTile}, by_weights};
    }
  }

  // d, where weights are dropped: that by the weights before they were.
  void DropByWeights(const Tile& tile, int64_t keys, const KeptWeights& kept) const {
    const float scale = draws_.Scale();
    for (int64_t i = 0; i < tile.rows; ++i) {
      float* const row = my_.by_weights + i * kAttentionTile;
      const uint32_t* const of_row = kept.Row(i);
      for (int64_t j = 0; j < keys; ++j) row[j] = of_row[j] != 0 ? row[j] * scale : 0.0f;
    }
  }
  // The weights of WeighPanel.
  void DropFactor(const Tile& tile, int64_t keys, const KeptWeights& kept) const {
    for (int64_t i = 0; i < tile.rows; i += kIsTurned ? 2 : 1) {
      float* const row = my_.scores + i * kAttentionTile;
      if constexpr (kIsTurned) {
        alignas(64) uint32_t both[kAttentionTile];
        const uint32_t* const lower = kept.Row(i);
        const uint32_t* const upper = kept.Row(std::min(i + 1, tile.rows - 1));
        for (int64_t j = 0; j < keys; ++j) both[j] = (lower[j] & 0xFFFFu) | (upper[j] & 0xFFFF0000u);
        ClearDropped<float>(both, keys, row);
      } else {
        ClearDropped<float>(kept.Row(i), keys, row);
      }
    }
  }

  // sum_j dout out, of each row of the tile.
  void TakeDelta(const Tile& tile) const {
    const Block<const T> out = RowsOfTile(inputs_.out, shape_.out, tile);
    const Block<const T> dout = RowsOfTile(inputs_.dout, shape_.dout, tile);
    for (int64_t i = 0; i < tile.rows; ++i) {
      const T* const a = out.data + i * out.stride;
      const T* const b = dout.data + i * dout.stride;
      float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < my_.of_values.elements; ++j) sum += static_cast<float>(a[j]) * static_cast<float>(b[j]);
      my_.delta[i] = sum;
    }
  }

  // What a tile and a group contribute to the gradients. Panels that have not `started` are new to those of keys and
  // values.
  void AddGradients(const Tile& tile, Wanted wanted, PanelSet started) const {
    if (tile.sight.IsEmpty()) return;
    const Block<const T> query_rows = RowsOfTile(inputs_.q, shape_.q, tile);
    const Block<const T> gradient_rows = RowsOfTile(inputs_.dout, shape_.dout, tile);
    const HeadSizes& of_keys = my_.of_keys;
    const HeadSizes& of_values = my_.of_values;
    const LeftFactor<Word<T>> query = AlongRows(of_keys, query_rows, tile.rows, my_.query);
    const LeftFactor<Word<T>> gradient = AlongRows(of_values, gradient_rows, tile.rows, my_.gradient);
    const KeyFactor for_keys =
        wanted.dk ? KeyFactorOf(of_keys, query_rows, query, tile.rows, my_.query_by_pairs) : KeyFactor{};
    const KeyFactor for_values =
        wanted.dv ? KeyFactorOf(of_values, gradient_rows, gradient, tile.rows, my_.gradient_by_pairs) : KeyFactor{};
    TakeDelta(tile);
    ForEachPanel(tile, [&](int64_t panel, int64_t first, int64_t keys) {
      ScoresOf(tile, first, keys, query, my_.keys + panel * of_keys.panel_words, my_.scores);
      if (wanted.NeedsValues()) {
        MultiplyByPanel(of_values, tile, keys, gradient, my_.values + panel * of_values.panel_words, my_.by_weights);
      } else {
        std::fill_n(my_.by_weights, kSquare, 0.0f);
      }
      const bool drops = draws_.IsNeeded();
      KeptWeights kept;
      if (drops) {
        kept = KeptOf(tile, first, keys);
        DropByWeights(tile, keys, kept);
      }
      if (shape_.cap != 0.0f) BendGradients(tile, keys);
      const Factors factors = WeighPanel(tile, first, keys);
      if (wanted.dbias != nullptr) AddBiasGradient(tile, first, keys, factors.gradients_by_keys, wanted.dbias);
      if (drops && wanted.dv) DropFactor(tile, keys, kept);
      const int64_t at = panel * kAttentionTile;
      const bool adds = (started >> panel & 1u) != 0;
      if (wanted.dv) {
        MultiplyByWeights(of_values, tile, keys, adds, for_values, factors.weights,
                          my_.value_gradient + at * of_values.width);
      }
      if (wanted.dk) {
        MultiplyByWeights(of_keys, tile, keys, adds, for_keys, factors.gradients,
                          my_.key_gradient + at * of_keys.width);
      }
      if (!wanted.dq) return;
      AddToResult(of_keys, tile, panel, keys, factors.gradients_by_keys,
                  PairsOfKeys(of_keys, k_, tile.key, panel, my_.keys_by_pairs));
    });
  }

  // The rows of a tile as a factor beside weights by pairs of queries. Where there are no pairs, the gradients of keys
  // and values are weights^T rows; else they are computed transposed, as rows^T weights, because the words of a left
  // factor are neighbours in its rows.
  static constexpr bool kIsTurned = InWords<T>::kElements > 1;
  struct KeyFactor {
    const Word<T>* data = nullptr;
    int64_t stride = 0;
  };
  KeyFactor KeyFactorOf(const HeadSizes& sizes, Block<const T> rows, LeftFactor<Word<T>> along, int64_t count,
                        Word<T>* turned) const {
    if constexpr (kIsTurned) {
      PackAcrossRows(rows, count, sizes.elements, my_.turning);
      TransposeBlock<Word<T>>(PaddedWords<T>(count), sizes.width, {my_.turning, sizes.width}, {turned, kWords});
      return {turned, kWords};
    } else {
      return {along.data, along.row_stride};
    }
  }

  void MultiplyByWeights(const HeadSizes& sizes, const Tile& tile, int64_t keys, bool adds, KeyFactor rows,
                         Block<const Word<T>> weights, float* sums) const {
    const int64_t words = PaddedWords<T>(tile.rows);
    if constexpr (kIsTurned) {
      MultiplyBlocks<T>({.rows = sizes.width, .columns = Padded<T>(keys), .words = words, .adds = adds},
                        {rows.data, rows.stride}, weights, {sums, kAttentionTile});
    } else {
      MultiplyBlocks<T>({.rows = Padded<T>(keys), .columns = sizes.width, .words = words, .adds = adds},
                        {weights.data, 1, weights.stride}, {rows.data, rows.stride}, {sums, sizes.width});
    }
  }

  // The panels that have `started` have sums, the others have zeros.
  template <typename Gradient>
  void StoreKeyGradients(const HeadSizes& sizes, int64_t key, PanelSet started, const float* sums, float factor,
                         Block<Gradient> gradients) const {
    ForEachPanel(key, 0, PanelsOf(key), [&](int64_t panel, int64_t first, int64_t keys) {
      const Block<Gradient> to = From(gradients, first);
      const float* from = sums + panel * sizes.width * kAttentionTile;
      if constexpr (kIsTurned) {
        float* const rows = reinterpret_cast<float*>(my_.turning);
        TransposeBlock<float>(sizes.width, Padded<T>(keys), {from, kAttentionTile}, {rows, sizes.width});
        from = rows;
      }
      for (int64_t i = 0; i < keys; ++i) {
        Gradient* const row = to.data + i * to.stride;
        if ((started >> panel & 1u) == 0) {
          std::fill(row, row + sizes.elements, Gradient(0.0f));
          continue;
        }
#pragma omp simd
        for (int64_t j = 0; j < sizes.elements; ++j) row[j] = Gradient(from[i * sizes.width + j] * factor);
      }
    });
  }

  const AttentionShape& shape_;
  const int64_t batch_;
  const int64_t first_head_;
  const int64_t tiles_of_head_;
  const int64_t begin_;  // Tiles.
  const int64_t end_;
  const AttentionInputs<T> inputs_;
  const Block<const T> k_;
  const Block<const T> v_;
  const float score_scale_;
  const Sight seen_;
  const WeightDraws& draws_;
  const AttentionBlocks<T>& my_;
};

// Memory of the calling thread, kept from call to call because fresh memory is slow.
void* MemoryOfThread(int64_t bytes) {
  thread_local Scratch scratch;
  return scratch.AtLeast(bytes);
}

// Calls run(piece, batch, key head, number of the piece) for each piece, in parallel.
template <typename T, typename Run>
void ForEachPiece(const AttentionShape& shape, const AttentionInputs<T>& inputs, const AttentionResults& results,
                  Run run) {
  const PiecesOfQueries pieces(shape);
  const int64_t count = shape.batch * shape.key_heads * pieces.of_key_head;
  const WeightDraws draws(shape.dropout);
#pragma omp parallel if (count > 1)
  {
    const int64_t bytes = AttentionBlocks<T>(shape, results, nullptr).bytes;
    const AttentionBlocks<T> blocks(shape, results, MemoryOfThread(bytes));
#pragma omp for schedule(dynamic)
    for (int64_t i = 0; i < count; ++i) {
      const int64_t number = i % pieces.of_key_head;
      const int64_t key_head = i / pieces.of_key_head % shape.key_heads;
      const int64_t batch = i / pieces.of_key_head / shape.key_heads;
      run(AttentionPiece<T>(shape, pieces, batch, key_head, number, inputs, draws, blocks), batch, key_head, number);
    }
  }
}

// Gradients of keys, or of values, of which each piece has its own part until they are added up. A gradient that is
// null has no parts.
template <typename T>
class PartialGradient {
 public:
  // `head`: elements of a row of it.
  PartialGradient(const AttentionShape& shape, const AttentionStrides& strides, int64_t head, int64_t pieces,
                  T* gradient)
      : shape_(shape),
        strides_(strides),
        head_(head),
        pieces_(pieces),
        gradient_(gradient),
        parts_(static_cast<size_t>(gradient == nullptr ? 0 : shape.batch * shape.key_heads * pieces * Elements())) {}

  Block<float> Part(int64_t batch, int64_t key_head, int64_t piece) {
    if (gradient_ == nullptr) return {nullptr, 0};
    return {parts_.data() + ((batch * shape_.key_heads + key_head) * pieces_ + piece) * Elements(), head_};
  }

  void AddUp() {
    if (gradient_ == nullptr) return;
    const int64_t rows = shape_.batch * shape_.key_heads * shape_.columns;
#pragma omp parallel for
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t row = i % shape_.columns;
      const int64_t key_head = i / shape_.columns % shape_.key_heads;
      const int64_t batch = i / shape_.columns / shape_.key_heads;
      const float* const parts = From(Part(batch, key_head, 0), row).data;
      T* const to = From(RowsOf(gradient_, strides_, batch, key_head), row).data;
      for (int64_t j = 0; j < head_; ++j) {
        float sum = 0.0f;
        for (int64_t piece = 0; piece < pieces_; ++piece) sum += parts[piece * Elements() + j];
        to[j] = T(sum);
      }
    }
  }

 private:
  int64_t Elements() const { return shape_.columns * head_; }

  const AttentionShape& shape_;
  const AttentionStrides& strides_;
  const int64_t head_;
  const int64_t pieces_;
  T* const gradient_;
  WorkspaceVector<float> parts_;
};

// The gradient of the bias, of which each piece has its own part until they are added up.
class PartialBias {
 public:
  PartialBias(const AttentionShape& shape, int64_t pieces)
      : shape_(shape),
        pieces_(pieces),
        parts_(static_cast<size_t>(shape.bias.gradient == nullptr ? 0 : shape.batch * pieces * Elements()), 0.0f) {}

  // [heads of the key head, distances]
  float* Part(int64_t batch, int64_t key_head, int64_t piece) {
    if (shape_.bias.gradient == nullptr) return nullptr;
    const int64_t group = shape_.heads / shape_.key_heads;
    return parts_.data() + (batch * pieces_ + piece) * Elements() + key_head * group * shape_.bias.distances;
  }

  void AddUp() {
    if (shape_.bias.gradient == nullptr) return;
    const int64_t elements = Elements();
#pragma omp parallel for
    for (int64_t i = 0; i < elements; ++i) {
      float sum = 0.0f;
      for (int64_t part = 0; part < shape_.batch * pieces_; ++part)
        sum += parts_[static_cast<size_t>(part * elements + i)];
      shape_.bias.gradient[i] = sum;
    }
  }

 private:
  int64_t Elements() const { return shape_.heads * shape_.bias.distances; }

  const AttentionShape& shape_;
  const int64_t pieces_;
  WorkspaceVector<float> parts_;
};

template <typename T>
void GradientsByPieces(const AttentionShape& shape, const AttentionInputs<T>& inputs, const AttentionResults& results,
                       int64_t pieces, PartialBias& bias, T* dq, T* dk, T* dv) {
  PartialGradient<T> keys(shape, shape.dk, shape.head, pieces, dk);
  PartialGradient<T> values(shape, shape.dv, shape.ValueHead(), pieces, dv);
  ForEachPiece<T>(shape, inputs, results,
                  [&](const AttentionPiece<T>& piece, int64_t batch, int64_t key_head, int64_t number) {
                    piece.Gradients(dq, keys.Part(batch, key_head, number), values.Part(batch, key_head, number),
                                    bias.Part(batch, key_head, number));
                  });
  keys.AddUp();
  values.AddUp();
}

template <typename T>
void ComputeGradients(const AttentionShape& shape, const AttentionInputs<T>& inputs, const AttentionResults& results,
                      T* dq, T* dk, T* dv) {
  const int64_t pieces = PiecesOfQueries(shape).of_key_head;
  PartialBias bias(shape, pieces);
  if (pieces == 1) {
    ForEachPiece<T>(shape, inputs, results,
                    [&](const AttentionPiece<T>& piece, int64_t batch, int64_t key_head, int64_t number) {
                      piece.Gradients(dq, RowsOf(dk, shape.dk, batch, key_head), RowsOf(dv, shape.dv, batch, key_head),
                                      bias.Part(batch, key_head, number));
                    });
  } else {
    GradientsByPieces(shape, inputs, results, pieces, bias, dq, dk, dv);
  }
  bias.AddUp();
}

}  // namespace

template <typename T>
void Attention(const AttentionShape& shape, const T* q, const T* k, const T* v, std::common_type_t<T>* out,
               float* logsumexp) {
  CountFlops(FlopsOf(shape));
  ForEachPiece<T>(shape, {.q = q, .k = k, .v = v}, {.out = true},
                  [&](const AttentionPiece<T>& piece, int64_t, int64_t, int64_t) { piece.Forward(out, logsumexp); });
}

template <typename T>
void AttentionGradient(const AttentionShape& shape, const T* q, const T* k, const T* v, const T* out,
                       const float* logsumexp, const T* dout, std::common_type_t<T>* dq, std::common_type_t<T>* dk,
                       std::common_type_t<T>* dv) {
  const AttentionResults results = {
      .dq = dq != nullptr, .dk = dk != nullptr, .dv = dv != nullptr, .bias = shape.bias.gradient != nullptr};
  if (!results.AreGradients()) return;
  CountFlops(GradientFlopsOf(shape));
  ComputeGradients<T>(shape, {q, k, v, out, logsumexp, dout}, results, dq, dk, dv);
}

#define CLEAVE_ATTENTION_OF(T)                                                                                 \
  template void Attention(const AttentionShape&, const T*, const T*, const T*, T*, float*);                    \
  template void AttentionGradient(const AttentionShape&, const T*, const T*, const T*, const T*, const float*, \
                                  const T*, T*, T*, T*);
CLEAVE_ATTENTION_OF(float)
CLEAVE_ATTENTION_OF(BFloat16)
CLEAVE_ATTENTION_OF(Float16)
#undef CLEAVE_ATTENTION_OF

}  // namespace cleave::runtime
