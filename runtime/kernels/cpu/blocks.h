// Products of small matrices that a kernel makes itself, block by block, and that stay in the caches of a core. Whole
// tensors are multiplied by runtime/math.
//
// The contracted dimension of both factors is packed into words of 32 bits: a word is one float, which may be that of a
// Float16, or two BFloat16 that are neighbours along this dimension. So a [rows, words] times b [words, columns] is,
// word by word, a sum of one or two products. Blocks are padded with zeros.
//
//   PackAlongRows<float>({query, 64}, 50, 64, a);              // [64, 64] words of floats: 50 rows and 14 of zeros.
//   MultiplyBlocks<float>({.rows = 64, .columns = 64, .words = 64}, {a, 64}, {b, 64}, {scores, 64});
//
// Sums are taken in the order of the words, in float, whatever the processor; pairs of BFloat16 are added up first
// where it has an instruction for them (AVX512-BF16, AMX).
#ifndef CLEAVE_RUNTIME_KERNELS_CPU_BLOCKS_H_
#define CLEAVE_RUNTIME_KERNELS_CPU_BLOCKS_H_

#include <cstdint>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"

namespace cleave::runtime {

template <typename T>
struct InWords {
  using Word = float;
  static constexpr int64_t kElements = 1;  // In a word.
};
template <>
struct InWords<BFloat16> {
  using Word = uint32_t;
  static constexpr int64_t kElements = 2;
};
template <typename T>
using Word = typename InWords<T>::Word;

// Whether elements lie in memory as they lie in words.
template <typename T>
constexpr bool kIsInWords = sizeof(T) * InWords<T>::kElements == sizeof(Word<T>);

constexpr int64_t kBlockStep = 16;

// The size of a block that holds `size` elements: a multiple of kBlockStep words.
template <typename T>
constexpr int64_t Padded(int64_t size) {
  constexpr int64_t kStep = kBlockStep * InWords<T>::kElements;
  return (size + kStep - 1) / kStep * kStep;
}
template <typename T>
constexpr int64_t PaddedWords(int64_t size) {
  return Padded<T>(size) / InWords<T>::kElements;
}

// Element (i, j) is at data[i * stride + j].
template <typename Element>
struct Block {
  Element* data;
  int64_t stride;
};

// Word (i, j) is at data[i * row_stride + j * word_stride]. Pairs of BFloat16 are multiplied fastest with a word_stride
// of 1.
template <typename AnyWord>
struct LeftFactor {
  const AnyWord* data;
  int64_t row_stride;
  int64_t word_stride = 1;
};

// Sizes are multiples of kBlockStep.
struct BlockProduct {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t words = 0;
  bool adds = false;  // To what is in c.
};

// c = a b, or c += a b.
template <typename T>
void MultiplyBlocks(const BlockProduct& product, LeftFactor<Word<T>> a, Block<const Word<T>> b, Block<float> c);

// x is [rows, columns]. Pairs are neighbours in a row: out is [Padded(rows), PaddedWords(columns)].
template <typename T>
void PackAlongRows(Block<const T> x, int64_t rows, int64_t columns, Word<T>* out);
// Pairs are neighbours in a column: out is [PaddedWords(rows), Padded(columns)].
template <typename T>
void PackAcrossRows(Block<const T> x, int64_t rows, int64_t columns, Word<T>* out);

// to [columns, rows] from [rows, columns], both multiples of kBlockStep. A word is any 32 bits.
template <typename AnyWord>
void TransposeBlock(int64_t rows, int64_t columns, Block<const AnyWord> from, Block<AnyWord> to);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CPU_BLOCKS_H_
