// How attention on the CPU is cut into pieces, and the memory of a thread that works on one.
// ir/program/memory/workspace.cc predicts its size. Private to attention.cc.
#ifndef CLEAVE_RUNTIME_KERNELS_CPU_ATTENTION_BLOCKS_H_
#define CLEAVE_RUNTIME_KERNELS_CPU_ATTENTION_BLOCKS_H_

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/attention.h"
#include "runtime/kernels/cpu/blocks.h"

namespace cleave::runtime {

constexpr int64_t kAttentionTile = 64;  // Queries of a tile, and keys of a panel.
constexpr int64_t kGroupPanels = 16;    // The most panels of a group.

constexpr int64_t TileCount(int64_t size) { return (size + kAttentionTile - 1) / kAttentionTile; }

// The queries that see a key head are those of its query heads, head by head, each in tiles. These tiles are cut into
// as many pieces as there is use for, by the sizes alone: with several, each has gradients of all keys, which are added
// up in order afterwards.
struct PiecesOfQueries {
  int64_t tiles_of_head = 0;
  int64_t tiles = 0;        // Of all query heads of a key head.
  int64_t of_key_head = 1;  // Pieces.
  int64_t tiles_of_piece = 0;

  explicit PiecesOfQueries(const AttentionShape& shape) {
    constexpr int64_t kEnough = 16;
    constexpr int64_t kLeastTiles = 4;
    const int64_t key_heads = std::max<int64_t>(1, shape.batch * shape.key_heads);
    tiles_of_head = TileCount(shape.rows);
    tiles = tiles_of_head * (shape.heads / std::max<int64_t>(1, shape.key_heads));
    of_key_head = std::max<int64_t>(1, std::min((kEnough + key_heads - 1) / key_heads, tiles / kLeastTiles));
    tiles_of_piece = (tiles + of_key_head - 1) / of_key_head;
  }
};

// Which results are computed.
struct AttentionResults {
  bool out = false;
  bool dq = false;
  bool dk = false;
  bool dv = false;
  bool bias = false;  // Its gradient.

  bool AreGradients() const { return dq || dk || dv || bias; }
};

// Parts of a piece of memory, in words of 32 bits. Without memory it only counts.
class AttentionMemory {
 public:
  explicit AttentionMemory(void* memory) : memory_(static_cast<char*>(memory)) {}

  template <typename AnyWord>
  void Take(int64_t count, AnyWord*& part) {
    static_assert(sizeof(AnyWord) == 4, "words");
    if (memory_ != nullptr) part = reinterpret_cast<AnyWord*>(memory_ + bytes_);
    bytes_ += (count * 4 + 63) / 64 * 64;
  }
  int64_t bytes() const { return bytes_; }

 private:
  char* memory_;
  int64_t bytes_ = 0;
};

// Elements of a row of a head.
struct HeadSizes {
  int64_t elements = 0;
  int64_t width = 0;        // When padded.
  int64_t words = 0;        // Of that.
  int64_t panel_words = 0;  // Of the rows of a panel, or of a tile.

  template <typename T>
  static HeadSizes Of(int64_t elements) {
    return {elements, Padded<T>(elements), PaddedWords<T>(elements), kAttentionTile * PaddedWords<T>(elements)};
  }
};

// What a thread keeps while it works on a piece. The pointers that its results do not need are null.
template <typename T>
struct AttentionBlocks {
  HeadSizes of_keys;       // And of queries.
  HeadSizes of_values;     // And of results.
  int64_t panels = 0;      // In a group.
  int64_t kept_tiles = 0;  // Whose sums are kept: all of a piece, or one where one group holds all keys.

  // Of each tile that is kept.
  float* result = nullptr;   // [kAttentionTile, width of values or of keys]: out, or dq.
  float* largest = nullptr;  // m, of each query.
  float* sum = nullptr;      // sum_j exp(s - m)

  // Of each panel of a group. Widths are those of keys or of values.
  Word<T>* keys = nullptr;           // k^T: [head words, kAttentionTile]
  Word<T>* values = nullptr;         // v by pairs of keys: [kAttentionTile words, width]; for gradients v^T, as k^T.
  Word<T>* keys_by_pairs = nullptr;  // k: [kAttentionTile words, width]
  float* key_gradient = nullptr;     // dk: [kAttentionTile, width], or its transpose
  float* value_gradient = nullptr;   // dv

  // [kAttentionTile, kAttentionTile]: of each panel of a group for `out`, of one panel for gradients.
  float* scores = nullptr;
  float* by_weights = nullptr;  // d

  // Of the tile.
  Word<T>* query = nullptr;              // q: [kAttentionTile, head words]
  Word<T>* gradient = nullptr;           // dout
  Word<T>* query_by_pairs = nullptr;     // q^T by pairs of queries: [width, kAttentionTile words]
  Word<T>* gradient_by_pairs = nullptr;  // dout^T
  float* delta = nullptr;                // Of each query.

  Word<T>* turning = nullptr;  // What is transposed next: [kAttentionTile, the larger width]

  int64_t bytes = 0;

  AttentionBlocks(const AttentionShape& shape, const AttentionResults& results, void* memory)
      : of_keys(HeadSizes::Of<T>(shape.head)),
        of_values(HeadSizes::Of<T>(shape.ValueHead())),
        panels(std::min(kGroupPanels, TileCount(shape.columns))),
        kept_tiles(panels == TileCount(shape.columns) ? 1 : PiecesOfQueries(shape).tiles_of_piece) {
    constexpr int64_t kSquare = kAttentionTile * kAttentionTile;
    AttentionMemory parts(memory);
    if (results.out) parts.Take(kept_tiles * kAttentionTile * of_values.width, result);
    if (results.dq) parts.Take(kept_tiles * kAttentionTile * of_keys.width, result);
    parts.Take(panels * of_keys.panel_words, keys);
    parts.Take(panels * of_values.panel_words, values);
    parts.Take(of_keys.panel_words, query);
    parts.Take(kAttentionTile * std::max(of_keys.width, of_values.width), turning);
    if (results.out) {
      for (float** part : {&largest, &sum}) parts.Take(kept_tiles * kAttentionTile, *part);
      parts.Take(panels * kSquare, scores);
    }
    if (results.AreGradients()) {
      for (float** part : {&scores, &by_weights}) parts.Take(kSquare, *part);
      parts.Take(of_values.panel_words, gradient);
      parts.Take(kAttentionTile, delta);
    }
    if (results.dq) parts.Take(panels * of_keys.panel_words, keys_by_pairs);
    if (results.dk) {
      parts.Take(panels * kAttentionTile * of_keys.width, key_gradient);
      parts.Take(of_keys.panel_words, query_by_pairs);
    }
    if (results.dv) {
      parts.Take(panels * kAttentionTile * of_values.width, value_gradient);
      parts.Take(of_values.panel_words, gradient_by_pairs);
    }
    bytes = parts.bytes();
  }
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CPU_ATTENTION_BLOCKS_H_
