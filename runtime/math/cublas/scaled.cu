// Products of matrices of 8 bits by cuBLASLt.
//
// On Hopper the library multiplies them only where both are stored along the contracted dimension (its "TN"), at places
// and with rows of multiples of 16 bytes. So a factor that is stored along the other dimension is turned first; what
// the library still refuses, on other GPUs all, is widened to bf16 and multiplied so, and counted as a fallback. Bias
// and gelu are epilogues of the library, in bf16 as the result.
#include <cstdint>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/work.h"
#include "runtime/error/warning.h"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/math/cublas/product.cuh"
#include "runtime/math/scaled.h"  // IWYU pragma: associated

namespace cleave::runtime {
namespace {

constexpr int64_t kRun = 16;  // Elements: what rows are multiples of.

// `count` elements of 8 bits as numbers of bf16.
template <typename T>
__global__ void Widen(int64_t count, const T* values, const float* unit, BFloat16* wide) {
  const float factor = *unit;
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    wide[i] = BFloat16(factor * static_cast<float>(values[i]));
  }
}

constexpr int kTurned = 32;     // Rows and columns that a block turns.
constexpr int kTurnedRows = 8;  // Of them, that its threads move at once.

// turned[columns, rows] = the transpose of values[rows, columns], a tile for each block.
template <typename T>
__global__ void Turn(int64_t rows, int64_t columns, const T* values, T* turned) {
  __shared__ T tile[kTurned][kTurned + 4];  // With 4 more, bytes of a column lie in different banks.
  const int64_t across = (columns + kTurned - 1) / kTurned;
  const int64_t first_row = blockIdx.x / across * kTurned;
  const int64_t first_column = blockIdx.x % across * kTurned;
  const int lane = static_cast<int>(threadIdx.x) % kTurned;
  for (int i = static_cast<int>(threadIdx.x) / kTurned; i < kTurned; i += kTurnedRows) {
    const int64_t row = first_row + i, column = first_column + lane;
    if (row < rows && column < columns) tile[i][lane] = values[row * columns + column];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x) / kTurned; i < kTurned; i += kTurnedRows) {
    const int64_t row = first_row + lane, column = first_column + i;
    if (row < rows && column < columns) turned[column * rows + row] = tile[lane][i];
  }
}

// A factor of `batch` matrices of [rows, contracted], or where it is `turned` [contracted, rows].
template <typename T>
struct Factor {
  const T* values;
  const float* unit;
  int64_t batch;
  int64_t rows;
  int64_t contracted;
  bool turned;

  int64_t count() const { return batch * rows * contracted; }
};

// Writes into `upright` a factor that is turned. REQUIRES: one matrix.
template <typename T>
void TurnBack(const Factor<T>& factor, T* upright) {
  const auto tiles = [](int64_t size) { return (size + kTurned - 1) / kTurned; };
  const LaunchShape shape = {tiles(factor.contracted) * tiles(factor.rows), kTurned * kTurnedRows};
  if (factor.turned) Launch(Turn<T>, shape, factor.contracted, factor.rows, factor.values, upright);
}

// What the library does besides the product.
template <typename Out>
struct Besides {
  const Out* bias = nullptr;
  bool applies_gelu = false;
  const Out* before = nullptr;  // What gelu is of, if it is kept.

  cublasLtEpilogue_t epilogue() const {
    if (!applies_gelu) return bias != nullptr ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    if (before == nullptr) return bias != nullptr ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    return bias != nullptr ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  }
};

// Returns false, and does nothing, where the library cannot.
template <typename A, typename B, typename Out>
bool MultiplyIn8Bits(bool adds, const MatMulShape& shape, const Factor<A>& a, const Factor<B>& b,
                     const Besides<Out>& besides, Out* c) {
  if (shape.k % kRun != 0 || shape.n % kRun != 0 || shape.batch != 1) return false;
  ScratchLayout layout;
  const int64_t room_a = layout.Add<A>(a.turned ? a.count() : 0);
  const int64_t room_b = layout.Add<B>(b.turned ? b.count() : 0);
  const ScratchMemory scratch(layout);
  Product product;
  product.shape = {.m = shape.m, .n = shape.n, .k = shape.k, .transpose_b = true};
  product.type_a = kTypeOf<A>;
  product.type_b = kTypeOf<B>;
  product.result = kTypeOf<Out>;
  product.adds = adds;
  ProductPlaces places = {a.turned ? scratch.At<A>(room_a) : a.values, b.turned ? scratch.At<B>(room_b) : b.values, c};
  places.unit_a = a.unit;
  places.unit_b = b.unit;
  product.epilogue = besides.epilogue();
  places.bias = besides.bias;
  places.aux = besides.before;
  product.alignment_bias = AlignmentOf(places.bias);
  product.alignment_aux = AlignmentOf(places.aux);
  if (product.has_aux() && product.alignment_aux % kRun != 0) return false;
  product.alignment_a = AlignmentOf(places.a);
  product.alignment_b = AlignmentOf(places.b);
  product.alignment_c = AlignmentOf(c);
  if (!CanMultiply(product, places)) return false;
  TurnBack(a, scratch.At<A>(room_a));
  TurnBack(b, scratch.At<B>(room_b));
  return Multiply(product, places);
}

template <typename A>
Factor<A> FirstFactor(const MatMulShape& shape, const A* a, const float* unit) {
  return {a, unit, shape.batch, shape.m, shape.k, shape.transpose_a};
}
template <typename B>
Factor<B> SecondFactor(const MatMulShape& shape, const B* b, const float* unit) {
  return {b, unit, shape.batch, shape.n, shape.k, !shape.transpose_b};
}

bool IsEmpty(const MatMulShape& shape) { return shape.batch == 0 || shape.m == 0 || shape.n == 0 || shape.k == 0; }

template <typename A, typename B, typename Out, typename Wide>
void MultiplyScaled(bool adds, const MatMulShape& shape, const A* a, const float* unit_a, const B* b,
                    const float* unit_b, Out* c, const Out* bias, Wide multiply_wide) {
  const Factor<A> of_a = FirstFactor(shape, a, unit_a);
  const Factor<B> of_b = SecondFactor(shape, b, unit_b);
  const bool is_empty = IsEmpty(shape);
  const Besides<Out> besides = {.bias = bias};
  if (!is_empty && MultiplyIn8Bits(adds, shape, of_a, of_b, besides, c)) return CountFlops(FlopsOf(shape));
  ScratchLayout layout;
  const int64_t wide_a = layout.Add<BFloat16>(of_a.count());
  const int64_t wide_b = layout.Add<BFloat16>(of_b.count());
  const ScratchMemory scratch(layout);
  if (!is_empty) {
    FallBack("products_of_8_bits", [&] {
      Product product;
      product.shape = shape;
      return "cuBLASLt does not compute in 8 bits " + product.Text();
    });
    Launch(Widen<A>, ForElements(of_a.count()), of_a.count(), a, unit_a, scratch.At<BFloat16>(wide_a));
    Launch(Widen<B>, ForElements(of_b.count()), of_b.count(), b, unit_b, scratch.At<BFloat16>(wide_b));
  }
  multiply_wide(scratch.At<BFloat16>(wide_a), scratch.At<BFloat16>(wide_b));
}

}  // namespace

template <typename A, typename B, typename Out>
void ScaledMatMul(const MatMulShape& shape, const A* a, const float* unit_a, const B* b, const float* unit_b, Out* c,
                  const Out* bias) {
  MultiplyScaled(/*adds=*/false, shape, a, unit_a, b, unit_b, c, bias,
                 [&](const BFloat16* wide_a, const BFloat16* wide_b) { MatMul(shape, wide_a, wide_b, c, bias); });
}

template <typename A, typename B>
void ScaledMatMulGelu(const MatMulShape& shape, const A* a, const float* unit_a, const B* b, const float* unit_b,
                      const BFloat16* bias, BFloat16* before, BFloat16* y) {
  const Besides<BFloat16> besides = {.bias = bias, .applies_gelu = true, .before = before};
  if (!IsEmpty(shape) && MultiplyIn8Bits(/*adds=*/false, shape, FirstFactor(shape, a, unit_a),
                                         SecondFactor(shape, b, unit_b), besides, y)) {
    return CountFlops(FlopsOf(shape));
  }
  if (before == nullptr) before = y;
  ScaledMatMul(shape, a, unit_a, b, unit_b, before, bias);
  const int64_t count = shape.batch * shape.m * shape.n;
  if (count == 0) return;
  FallBack("activations", [&] {
    Product product;
    product.shape = shape;
    return "cuBLASLt does not compute gelu in 8 bits of " + product.Text();
  });
  ApplyGelu(count, before, y);
}

template <typename A, typename B>
void AccumulateScaledMatMul(bool first, const MatMulShape& shape, const A* a, const float* unit_a, const B* b,
                            const float* unit_b, float* c) {
  const float* const no_bias = nullptr;
  MultiplyScaled(!first, shape, a, unit_a, b, unit_b, c, no_bias, [&](const BFloat16* wide_a, const BFloat16* wide_b) {
    AccumulateMatMul(first, shape, wide_a, wide_b, c);
  });
}

CLEAVE_SCALED_PRODUCTS(Float8E4M3, Float8E4M3)
CLEAVE_SCALED_PRODUCTS(Float8E4M3, Float8E5M2)
CLEAVE_SCALED_PRODUCTS(Float8E5M2, Float8E4M3)
#define CLEAVE_SCALED_GELU(A, B)                                                                                      \
  template void ScaledMatMulGelu(const MatMulShape&, const A*, const float*, const B*, const float*, const BFloat16*, \
                                 BFloat16*, BFloat16*);
CLEAVE_SCALED_GELU(Float8E4M3, Float8E4M3)
CLEAVE_SCALED_GELU(Float8E4M3, Float8E5M2)
CLEAVE_SCALED_GELU(Float8E5M2, Float8E4M3)
#undef CLEAVE_SCALED_GELU

}  // namespace cleave::runtime
