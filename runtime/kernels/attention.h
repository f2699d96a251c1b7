// Attention without the matrix of scores: out = softmax(scale q k^T) v for each head of each sample, and its gradients.
//
//   const AttentionShape shape{.batch = 8, .heads = 12, .key_heads = 12, .rows = 1024, .columns = 1024, .head = 64,
//                              .scale = 0.125f, .causal = true, .q = {.batch = 1024 * 2304, .head = 64, .row = 2304},
//                              …};
//   Attention(shape, query, key, value, mixed, logsumexp);
//   AttentionGradient(shape, query, key, value, mixed, logsumexp, dmixed, dquery, dkey, dvalue);
//
// q is [batch, heads, rows, head] and k [batch, key_heads, columns, head]; out and v are the same with value_head for
// head: that is which elements there are. Where each of them lies, the strides of the tensor say, so parts of a larger
// tensor are read and written there. The elements of a row lie one behind another. Query head h sees key head h /
// (heads / key_heads).
//
// T is float, BFloat16 or Float16; scores, exponentials and sums are float either way, and what is stored is rounded
// once. Sizes may be 0; results overlap no inputs and not each other. The order of summation depends on the sizes, and
// on the vectors that the processor has.
//
// A row's largest score and its sum of exponentials are found while its scores pass by: Milakov and Gimelshein, Online
// normalizer calculation for softmax (2018). Tiles of the scores stay in a GPU's shared memory or in a core's caches as
// in Dao, Fu, Ermon, Rudra and Ré, FlashAttention (2022), and the gradients compute them again.
#ifndef CLEAVE_RUNTIME_KERNELS_ATTENTION_H_
#define CLEAVE_RUNTIME_KERNELS_ATTENTION_H_

#include <cstdint>
#include <type_traits>

#include "runtime/kernels/zigzag.h"
#include "runtime/random/random.h"

namespace cleave::runtime {

// From one sample, head or row of a tensor to the next, in elements.
struct AttentionStrides {
  int64_t batch = 0;
  int64_t head = 0;
  int64_t row = 0;
};

// Of contiguous tensors [batch, heads, rows, head] and [batch, rows, heads, head]. Arguments are sizes as they stand
// there.
constexpr AttentionStrides HeadsFirst(int64_t heads, int64_t rows, int64_t head) {
  return {heads * rows * head, rows * head, head};
}
constexpr AttentionStrides RowsFirst(int64_t rows, int64_t heads, int64_t head) {
  return {rows * heads * head, head, heads * head};
}

// Weights of the softmax that are dropped, after their sum is known: those that Dropout (runtime/kernels/dropout.h)
// drops of a tensor [batch, heads, rows, columns]. At step 0, which is testing, none are.
struct AttentionDropout {
  float rate = 0.0f;  // With 0 none are; the others are divided by 1 - rate. REQUIRES: 0 <= rate < 1.
  Stream stream;
  int64_t heads = 1;  // Of the whole tensor.
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t first_batch = 0;  // Where this piece of it begins.
  int64_t first_head = 0;
  int64_t first_row = 0;
  int64_t first_column = 0;

  // The number, in the whole tensor, of the weight of column 0 for this row of the piece.
  CLEAVE_PORTABLE int64_t FirstOfRow(int64_t batch, int64_t head, int64_t row) const {
    return (((first_batch + batch) * heads + first_head + head) * rows + first_row + row) * columns + first_column;
  }
};

// What is added to scale q k^T by the distance from query to key: values[head * distances + first + key - query], with
// query and key as numbers within the piece.
struct AttentionBias {
  const float* values = nullptr;  // [heads, distances], where the tensors are; null: nothing is added.
  float* gradient = nullptr;      // The same sizes; a result of AttentionGradient, null: not computed.
  int64_t distances = 0;
  int64_t first = 0;
};

struct AttentionShape {
  int64_t batch = 1;
  int64_t heads = 1;
  int64_t key_heads = 1;    // REQUIRES: divides `heads`.
  int64_t rows = 0;         // Queries.
  int64_t columns = 0;      // Keys.
  int64_t head = 0;         // Elements of a query and of a key. REQUIRES on a GPU: at most kLargestHead.
  int64_t value_head = -1;  // Of a value and of a result; -1: as many. REQUIRES: the same.
  float scale = 1.0f;
  float cap = 0.0f;  // Scores are cap * tanh(s / cap) instead of s = scale q k^T; with 0 they are s.
  // Query i sees the keys j that all of these let it see; 0 and null let it see all. One that sees none has a result of
  // zeros and a logsumexp of minus infinity.
  bool causal = false;  // j <= first_row + i
  int64_t window = 0;   // first_row + i - j < window; REQUIRES: causal.
  int64_t first_row = 0;
  // With pairs, for i in both: zigzag.PlaceOf(i). REQUIRES: neither a bias nor dropout.
  Zigzag zigzag;
  // first[b][i] <= first_column + j < end[b][i] for sample b. Both or none; [batch, rows], where the tensors are.
  const int32_t* first = nullptr;
  const int32_t* end = nullptr;
  int64_t first_column = 0;
  AttentionDropout dropout;
  AttentionBias bias;  // REQUIRES: none with a cap or a scale of 0.
  AttentionStrides q;
  AttentionStrides k;
  AttentionStrides v;
  AttentionStrides out;
  AttentionStrides dout;  // These are for gradients only.
  AttentionStrides dq;
  AttentionStrides dk;
  AttentionStrides dv;

  CLEAVE_PORTABLE int64_t ValueHead() const { return value_head < 0 ? head : value_head; }
};

// Of a product over the elements of all scores' queries and keys, for each of these elements; half of it where queries
// see the keys up to their own, and with a window only what they see. What ranges hide is counted.
inline double FlopsByElement(const AttentionShape& shape) {
  const double columns = static_cast<double>(shape.columns);
  double seen = shape.causal ? columns / 2.0 : columns;
  if (shape.window > 0 && static_cast<double>(shape.window) < seen) seen = static_cast<double>(shape.window);
  return 2.0 * static_cast<double>(shape.batch * shape.heads * shape.rows) * seen;
}
// Of the two products of the forward pass, and of the five of the gradients, which make the scores again.
inline double FlopsOf(const AttentionShape& shape) {
  return FlopsByElement(shape) * static_cast<double>(shape.head + shape.ValueHead());
}
inline double GradientFlopsOf(const AttentionShape& shape) {
  return FlopsByElement(shape) * static_cast<double>(3 * shape.head + 2 * shape.ValueHead());
}

constexpr int64_t kLargestHead = 256;

// `logsumexp` [batch, heads, rows], contiguous: the logarithm of the sum of the exponentials of a query's scores, which
// the gradient reads. Each of the two results may be null, then it is not stored.
template <typename T>
void Attention(const AttentionShape& shape, const T* q, const T* k, const T* v, std::common_type_t<T>* out,
               float* logsumexp);

// The gradients by q, k and v from that by the result (dout), with what the forward pass has stored. The columns may be
// some of those that the forward pass had, whose logsumexp and out are over all: then dq is that part of the sum, and
// so is the gradient of the bias. Each of dq, dk and dv may be null, then it is not computed; for dv alone v is not
// read and may be null. On a GPU it takes 4 bytes
// of workspace per query, or what cuDNN takes (runtime/math/cudnn/sdpa.h), and a gradient of the bias for each sample;
// on a CPU it keeps that of AttentionBlocks (runtime/kernels/cpu/attention_blocks.h) for each thread.
template <typename T>
void AttentionGradient(const AttentionShape& shape, const T* q, const T* k, const T* v, const T* out,
                       const float* logsumexp, const T* dout, std::common_type_t<T>* dq, std::common_type_t<T>* dk,
                       std::common_type_t<T>* dv);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_ATTENTION_H_
