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

// The queries of a matrix are cut into as many pieces as there is use for, by the sizes alone: with several, each has
// gradients of all keys, which are added up in order afterwards.
struct PiecesOfQueries {
  int64_t of_matrix = 1;
  int64_t rows = 0;  // Of each but the last.

  explicit PiecesOfQueries(const AttentionShape& shape) {
    constexpr int64_t kEnough = 16;
    constexpr int64_t kLeastTiles = 4;
    const int64_t tiles = TileCount(shape.rows);
    const int64_t wanted = (kEnough + shape.matrices - 1) / std::max<int64_t>(1, shape.matrices);
    of_matrix = std::max<int64_t>(1, std::min(wanted, tiles / kLeastTiles));
    rows = (tiles + of_matrix - 1) / of_matrix * kAttentionTile;
  }
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

// What a thread keeps while it works on a piece. The pointers that only gradients need are null otherwise.
template <typename T>
struct AttentionBlocks {
  int64_t width = 0;       // Elements of a padded head.
  int64_t head_words = 0;  // Its words.
  int64_t panels = 0;      // In a group.

  // Of each row of the piece, and of those that pad its last tile.
  float* largest = nullptr;       // m
  float* sum = nullptr;           // l
  float* weighted_sum = nullptr;  // sum_j exp(s - m) d
  float* result = nullptr;        // [rows, width]: out, or dq.

  // Of each panel.
  Word<T>* keys = nullptr;           // k^T: [head words, kAttentionTile]
  Word<T>* values = nullptr;         // v by pairs of keys: [kAttentionTile words, width]; for gradients v^T, as k^T.
  Word<T>* keys_by_pairs = nullptr;  // k: [kAttentionTile words, width]
  float* key_gradient = nullptr;     // dk: [kAttentionTile, width], or its transpose
  float* value_gradient = nullptr;   // dv
  float* scores = nullptr;           // [kAttentionTile, kAttentionTile]
  float* by_weights = nullptr;       // d

  // Of the tile.
  Word<T>* query = nullptr;              // q: [kAttentionTile, head words]
  Word<T>* gradient = nullptr;           // dout
  Word<T>* query_by_pairs = nullptr;     // q^T by pairs of queries: [width, kAttentionTile words]
  Word<T>* gradient_by_pairs = nullptr;  // dout^T

  Word<T>* turning = nullptr;  // What is transposed next: [kAttentionTile, width]

  int64_t bytes = 0;

  AttentionBlocks(const AttentionShape& shape, int64_t rows, bool for_gradient, void* memory)
      : width(Padded<T>(shape.head)),
        head_words(PaddedWords<T>(shape.head)),
        panels(std::min(kGroupPanels, TileCount(shape.columns))) {
    constexpr int64_t kWords = PaddedWords<T>(kAttentionTile);
    const int64_t padded_rows = TileCount(rows) * kAttentionTile;
    AttentionMemory parts(memory);
    for (float** part : {&largest, &sum}) parts.Take(padded_rows, *part);
    parts.Take(padded_rows * width, result);
    parts.Take(panels * head_words * kAttentionTile, keys);
    parts.Take(panels * std::max(head_words * kAttentionTile, kWords * width), values);
    parts.Take(panels * kAttentionTile * kAttentionTile, scores);
    parts.Take(kAttentionTile * head_words, query);
    parts.Take(kAttentionTile * width, turning);
    if (for_gradient) {
      parts.Take(padded_rows, weighted_sum);
      parts.Take(panels * kWords * width, keys_by_pairs);
      for (float** part : {&key_gradient, &value_gradient}) parts.Take(panels * width * kAttentionTile, *part);
      parts.Take(panels * kAttentionTile * kAttentionTile, by_weights);
      parts.Take(kAttentionTile * head_words, gradient);
      for (Word<T>** part : {&query_by_pairs, &gradient_by_pairs}) parts.Take(width * kWords, *part);
    }
    bytes = parts.bytes();
  }
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CPU_ATTENTION_BLOCKS_H_
