// Reading guide: MultiplyBlocks cuts the result into patches whose sums stay in registers; SumPatch is the loop that
// computes one of them. With AMX the registers are tiles of 16 rows of 16 words, and MultiplyTiles is that loop.
#include "runtime/kernels/cpu/blocks.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/cpu/vectors.h"

#if defined(__AMX_BF16__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace cleave::runtime {
namespace {

// How many vectors a patch of sums may have side by side: there must be registers for four rows of them.
constexpr int kMostVectors = kLanes == 16 ? 4 : 2;
static_assert(kBlockStep % kLanes == 0, "a block consists of whole vectors");

// sum + a b for a word of the left factor and a vector of words of the right one.
inline Floats MultiplyAdd(Floats sum, float a, Floats b) { return sum + a * b; }
inline Floats MultiplyAdd(Floats sum, uint32_t a, Bits b) {
  const Bits all = Bits{} + a;
#if defined(__AVX512BF16__)
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(all), reinterpret_cast<__m512bh>(b));
#else
  constexpr uint32_t kUpper = 0xFFFF0000u;
  return sum + AsFloats(all << 16) * AsFloats(b << 16) + AsFloats(all & kUpper) * AsFloats(b & kUpper);
#endif
}

// A patch of kRows rows and kVectors vectors of c.
template <int kRows, int kVectors, typename AnyWord>
inline void SumPatch(int64_t words, bool adds, LeftFactor<AnyWord> a, Block<const AnyWord> b, Block<float> c) {
  Floats sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[r][v] = adds ? Load(c.data + r * c.stride + v * kLanes) : Floats{};
  }
  for (int64_t i = 0; i < words; ++i) {
    decltype(Load(b.data)) right[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) right[v] = Load(b.data + i * b.stride + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      AnyWord left;
      std::memcpy(&left, a.data + r * a.row_stride + i * a.word_stride, sizeof left);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[r][v] = MultiplyAdd(sums[r][v], left, right[v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) Store(sums[r][v], c.data + r * c.stride + v * kLanes);
  }
}

// All rows of kVectors vectors of c. Narrow patches have more rows, so that enough sums are under way at once.
template <int kVectors, typename AnyWord>
void SumPatches(const BlockProduct& product, LeftFactor<AnyWord> a, Block<const AnyWord> b, Block<float> c) {
  constexpr int kRows = kVectors > 2 || kMostVectors == 2 ? 4 : 8;
  for (int64_t row = 0; row < product.rows; row += kRows) {
    SumPatch<kRows, kVectors>(product.words, product.adds,
                              LeftFactor<AnyWord>{a.data + row * a.row_stride, a.row_stride, a.word_stride}, b,
                              Block<float>{c.data + row * c.stride, c.stride});
  }
}

template <typename AnyWord>
void MultiplyInVectors(const BlockProduct& product, LeftFactor<AnyWord> a, Block<const AnyWord> b, Block<float> c) {
  for (int64_t column = 0; column < product.columns;) {
    const Block<const AnyWord> right = {b.data + column, b.stride};
    const Block<float> sums = {c.data + column, c.stride};
    const int64_t vectors = std::min<int64_t>((product.columns - column) / kLanes, kMostVectors);
    if (vectors == 1) SumPatches<1>(product, a, right, sums);
    if (vectors == 2) SumPatches<2>(product, a, right, sums);
    if constexpr (kMostVectors == 4) {
      if (vectors == 3) SumPatches<3>(product, a, right, sums);
      if (vectors == 4) SumPatches<4>(product, a, right, sums);
    }
    column += vectors * kLanes;
  }
}

#if defined(__AMX_BF16__)

// Whether Linux gives this process the registers of AMX; it must be asked once.
bool HasTiles() {
  constexpr long kAskForPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;              // XFEATURE_XTILEDATA
  static const bool has = syscall(SYS_arch_prctl, kAskForPermission, kTileData) == 0;
  return has;
}

// What LDTILECFG reads: all eight registers have 16 rows of 64 bytes.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64, "as the processor reads it");

// Tiles 0 to 3 are the sums of up to 64 rows, 4 and 5 are of the left factor, 6 of the right one.
void MultiplyTiles(const BlockProduct& product, LeftFactor<uint32_t> a, Block<const uint32_t> b, Block<float> c) {
  const int64_t a_row = a.row_stride * 4, b_row = b.stride * 4, c_row = c.stride * 4;
  const int64_t a_tile = a.row_stride * 16, c_tile = c.stride * 16;
  for (int64_t first = 0; first < product.rows; first += 64) {
    const int64_t tiles = std::min<int64_t>(4, (product.rows - first) / 16);
    for (int64_t column = 0; column < product.columns; column += 16) {
      float* const sums = c.data + first * c.stride + column;
      if (product.adds) {
        _tile_loadd(0, sums, c_row);
        if (tiles > 1) _tile_loadd(1, sums + c_tile, c_row);
        if (tiles > 2) _tile_loadd(2, sums + 2 * c_tile, c_row);
        if (tiles > 3) _tile_loadd(3, sums + 3 * c_tile, c_row);
      } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
      }
      for (int64_t word = 0; word < product.words; word += 16) {
        const uint32_t* const left = a.data + first * a.row_stride + word;
        _tile_loadd(6, b.data + word * b.stride + column, b_row);
        _tile_loadd(4, left, a_row);
        _tile_dpbf16ps(0, 4, 6);
        if (tiles > 1) {
          _tile_loadd(5, left + a_tile, a_row);
          _tile_dpbf16ps(1, 5, 6);
        }
        if (tiles > 2) {
          _tile_loadd(4, left + 2 * a_tile, a_row);
          _tile_dpbf16ps(2, 4, 6);
        }
        if (tiles > 3) {
          _tile_loadd(5, left + 3 * a_tile, a_row);
          _tile_dpbf16ps(3, 5, 6);
        }
      }
      _tile_stored(0, sums, c_row);
      if (tiles > 1) _tile_stored(1, sums + c_tile, c_row);
      if (tiles > 2) _tile_stored(2, sums + 2 * c_tile, c_row);
      if (tiles > 3) _tile_stored(3, sums + 3 * c_tile, c_row);
    }
  }
}

// The compiler does not know that the instructions between these two read and write memory.
bool MultiplyByTiles(const BlockProduct& product, LeftFactor<uint32_t> a, Block<const uint32_t> b, Block<float> c) {
  if (a.word_stride != 1 || !HasTiles()) return false;
  const TileConfiguration configuration;
  _tile_loadconfig(&configuration);
  asm volatile("" ::: "memory");
  MultiplyTiles(product, a, b, c);
  asm volatile("" ::: "memory");
  _tile_release();
  return true;
}

#else

bool MultiplyByTiles(const BlockProduct&, LeftFactor<uint32_t>, Block<const uint32_t>, Block<float>) { return false; }

#endif

}  // namespace

template <typename T>
void MultiplyBlocks(const BlockProduct& product, LeftFactor<Word<T>> a, Block<const Word<T>> b, Block<float> c) {
  if constexpr (InWords<T>::kElements == 2) {
    if (MultiplyByTiles(product, a, b, c)) return;
  }
  MultiplyInVectors(product, a, b, c);
}

template <typename T>
void PackAlongRows(Block<const T> x, int64_t rows, int64_t columns, Word<T>* out) {
  const int64_t words = PaddedWords<T>(columns);
  const size_t bytes = static_cast<size_t>(columns) * sizeof(T);
  const size_t row_bytes = static_cast<size_t>(words) * sizeof(Word<T>);
  for (int64_t i = 0; i < rows; ++i) {
    const T* const from = x.data + i * x.stride;
    if constexpr (kIsInWords<T>) {
      char* const row = reinterpret_cast<char*>(out + i * words);
      std::memcpy(row, from, bytes);
      std::memset(row + bytes, 0, row_bytes - bytes);
    } else {
      std::fill(std::copy(from, from + columns, out + i * words), out + (i + 1) * words, Word<T>{});
    }
  }
  std::fill(out + rows * words, out + Padded<T>(rows) * words, Word<T>{});
}

template <>
void PackAcrossRows(Block<const float> x, int64_t rows, int64_t columns, float* out) {
  PackAlongRows(x, rows, columns, out);
}

template <>
void PackAcrossRows(Block<const Float16> x, int64_t rows, int64_t columns, float* out) {
  PackAlongRows(x, rows, columns, out);
}

template <>
void PackAcrossRows(Block<const BFloat16> x, int64_t rows, int64_t columns, uint32_t* out) {
  const int64_t width = Padded<BFloat16>(columns);
  std::fill(out, out + PaddedWords<BFloat16>(rows) * width, 0u);
  for (int64_t i = 0; i < rows; i += 2) {
    const BFloat16* const first = x.data + i * x.stride;
    const BFloat16* const second = i + 1 < rows ? first + x.stride : nullptr;
    uint32_t* const to = out + i / 2 * width;
    if (second == nullptr) {
      for (int64_t j = 0; j < columns; ++j) to[j] = first[j].bits;
    } else {
      for (int64_t j = 0; j < columns; ++j) to[j] = first[j].bits | static_cast<uint32_t>(second[j].bits) << 16;
    }
  }
}

template <typename AnyWord>
void TransposeBlock(int64_t rows, int64_t columns, Block<const AnyWord> from, Block<AnyWord> to) {
  for (int64_t i = 0; i < rows; i += kLanes) {
    for (int64_t j = 0; j < columns; j += kLanes) {
      TransposeSquare(from.data + i * from.stride + j, from.stride, to.data + j * to.stride + i, to.stride);
    }
  }
}

template void MultiplyBlocks<float>(const BlockProduct&, LeftFactor<float>, Block<const float>, Block<float>);
template void MultiplyBlocks<Float16>(const BlockProduct&, LeftFactor<float>, Block<const float>, Block<float>);
template void MultiplyBlocks<BFloat16>(const BlockProduct&, LeftFactor<uint32_t>, Block<const uint32_t>, Block<float>);
template void PackAlongRows(Block<const float>, int64_t, int64_t, float*);
template void PackAlongRows(Block<const BFloat16>, int64_t, int64_t, uint32_t*);
template void PackAlongRows(Block<const Float16>, int64_t, int64_t, float*);
template void TransposeBlock(int64_t, int64_t, Block<const float>, Block<float>);
template void TransposeBlock(int64_t, int64_t, Block<const uint32_t>, Block<uint32_t>);

}  // namespace cleave::runtime
