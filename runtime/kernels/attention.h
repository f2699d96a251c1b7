// Attention without the matrix of scores: out = softmax(scale q k^T) v per matrix, and its gradients.
//
//   Attention({.matrices = batch * heads, .rows = 1024, .columns = 1024, .head = 64, .scale = 0.125f, .causal = true},
//             query, key, value, mixed);
//
// Tensors are row-major and contiguous: q and out [matrices, rows, head], k and v [matrices, columns, head]. T is float
// BFloat16 or Float16; scores, exponentials and sums are float either way, and what is stored is rounded once. Sizes
// may be 0; results do not overlap inputs. The order of summation depends on the sizes, and on the vectors that the
// processor has.
//
// A row's largest score and its sum of exponentials are found while its scores pass by: Milakov and Gimelshein, Online
// normalizer calculation for softmax (2018). Tiles of the scores stay in a GPU's shared memory or in a core's caches as
// in Dao, Fu, Ermon, Rudra and Ré, FlashAttention (2022), and the gradients compute them again.
#ifndef CLEAVE_RUNTIME_KERNELS_ATTENTION_H_
#define CLEAVE_RUNTIME_KERNELS_ATTENTION_H_

#include <cstdint>

namespace cleave::runtime {

struct AttentionShape {
  int64_t matrices = 0;
  int64_t rows = 0;     // Queries.
  int64_t columns = 0;  // Keys.
  int64_t head = 0;     // REQUIRES on a GPU: at most kLargestHead.
  float scale = 1.0f;
  // Query i sees the keys j with first_row + i >= j. REQUIRES: first_row >= 0.
  bool causal = false;
  int64_t first_row = 0;
};

// Of the two products of the forward pass; half of them where queries see the keys up to their own.
inline double FlopsOf(const AttentionShape& shape) {
  const double scores = static_cast<double>(shape.matrices * shape.rows) * static_cast<double>(shape.columns);
  return (shape.causal ? 2.0 : 4.0) * scores * static_cast<double>(shape.head);
}
constexpr double kGradientOverForward = 2.5;  // It has five products, with that of the scores, which it makes again.

constexpr int64_t kLargestHead = 128;

template <typename T>
void Attention(const AttentionShape& shape, const T* q, const T* k, const T* v, T* out);

// The gradients by q, k and v, from the gradient by the result (dout). Takes 12 bytes of workspace per query
// on a GPU; on a CPU it keeps that of AttentionBlocks (runtime/kernels/cpu/attention_blocks.h) for each thread.
template <typename T>
void AttentionGradient(const AttentionShape& shape, const T* q, const T* k, const T* v, const T* dout, T* dq, T* dk,
                       T* dv);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_ATTENTION_H_
