// MatMul by cuBLASLt.
//
// What a product does besides is an epilogue of the library: it adds the bias, applies gelu and keeps what was before
// it, multiplies by the slope of gelu, or adds up the columns of a factor as it is stored (BGRADA, BGRADB; the bias
// gradient of DGELU_BGRAD would have the type of the product, 16 bits). Where the library has no kernel with the
// epilogue, which may happen with bf16 at places or of sizes that are not even, a separate kernel of ours does it.
// Where it has no kernel at all, the product is a kernel of ours too. All are counted, and said once
// (runtime/error/warning.h).
//
// Outline: MultiplyAll is any product, with its bias; the functions behind it are those of math.h. What the library is
// asked for is in product.cuh.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/work.h"
#include "runtime/device/workspace.h"
#include "runtime/error/error.h"
#include "runtime/error/warning.h"
#include "runtime/kernels/cuda/columns.cuh"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/math/cublas/product.cuh"
#include "runtime/math/math.h"  // IWYU pragma: associated

namespace cleave::runtime {
namespace {

// `product` may be c.
template <typename T>
__global__ void AddBias(int64_t count, int64_t columns, const T* bias, const float* product, T* c) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    c[i] = static_cast<T>(product[i] + static_cast<float>(bias[i % columns]));
  }
}

// One thread for each element of c.
template <typename In, typename Out>
__global__ void MultiplyPlainly(bool adds, MatMulShape shape, const In* a, const In* b, const Out* bias, Out* c) {
  const int64_t step_a = shape.transpose_a ? shape.m : 1;
  const int64_t step_b = shape.transpose_b ? 1 : shape.n;
  for (int64_t at = FirstElement(); at < shape.batch * shape.m * shape.n; at += ElementStride()) {
    const int64_t column = at % shape.n;
    const int64_t row = at / shape.n % shape.m;
    const int64_t batch = at / shape.n / shape.m;
    const In* const from_a = a + batch * shape.m * shape.k + row * (shape.transpose_a ? 1 : shape.k);
    const In* const from_b = b + batch * shape.k * shape.n + column * (shape.transpose_b ? shape.k : 1);
    float sum = 0.0f;
    for (int64_t i = 0; i < shape.k; ++i) {
      sum += static_cast<float>(from_a[i * step_a]) * static_cast<float>(from_b[i * step_b]);
    }
    if (bias != nullptr) sum += static_cast<float>(bias[column]);
    c[at] = static_cast<Out>(adds ? static_cast<float>(c[at]) + sum : sum);
  }
}

constexpr int64_t kMostBatches = 65535;  // Blocks of a grid along its third dimension.

// What the library is asked for.
template <typename In, typename Out>
Product ProductOf(bool adds, const MatMulShape& shape, const In* a, const In* b, const Out* c, const Out* bias) {
  const auto alignment = [&](const auto* values, int64_t size) {
    return AlignmentOf(values, shape.batch > 1 ? size * static_cast<int64_t>(sizeof *values) : 0);
  };
  Product product;
  product.shape = shape;
  product.type_a = kTypeOf<In>;
  product.type_b = kTypeOf<In>;
  product.result = kTypeOf<Out>;
  product.precision = MatMulPrecision();
  product.epilogue = bias != nullptr ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  product.adds = adds;
  product.alignment_a = alignment(a, shape.m * shape.k);
  product.alignment_b = alignment(b, shape.k * shape.n);
  product.alignment_c = alignment(c, shape.m * shape.n);
  product.alignment_bias = AlignmentOf(bias);
  return product;
}

// Computes the product as f32, so that it is rounded once, and adds the bias by a kernel. Returns false, and does
// nothing, where the library cannot.
template <typename In, typename Out>
bool MultiplyThenAdd(const MatMulShape& shape, const In* a, const In* b, Out* c, const Out* bias) {
  const int64_t count = shape.batch * shape.m * shape.n;
  Scratch room;
  float* product;
  if constexpr (std::is_same_v<Out, float>) {
    product = c;
  } else {
    product = reinterpret_cast<float*>(room.AtLeast(count * static_cast<int64_t>(sizeof(float))));
  }
  const float* const no_bias = nullptr;
  if (!Multiply(ProductOf(/*adds=*/false, shape, a, b, product, no_bias), {a, b, product})) return false;
  Launch(AddBias<Out>, ForElements(count), count, shape.n, bias, product, c);
  return true;
}

// REQUIRES: no size is 0, a grid has as many blocks as there are batches, and a product that is added has no bias.
template <typename In, typename Out>
void MultiplyBatches(bool adds, const MatMulShape& shape, const In* a, const In* b, Out* c, const Out* bias) {
  const Product product = ProductOf(adds, shape, a, b, c, bias);
  if (Multiply(product, {a, b, c, bias})) return;
  if (bias != nullptr && MultiplyThenAdd(shape, a, b, c, bias)) {
    return FallBack("biases", [&] { return "cuBLASLt does not add the bias of " + product.Text(); });
  }
  FallBack("products", [&] { return "cuBLASLt does not compute " + product.Text(); });
  Launch(MultiplyPlainly<In, Out>, ForElements(shape.batch * shape.m * shape.n), adds, shape, a, b, bias, c);
}

template <typename In, typename Out>
void MultiplyAll(bool adds, const MatMulShape& shape, const In* a, const In* b, Out* c, const Out* bias) {
  const int64_t count = shape.batch * shape.m * shape.n;
  if (count == 0) return;
  // With nothing to contract, the product is zeros.
  if (shape.k == 0) return Launch(MultiplyPlainly<In, Out>, ForElements(count), adds, shape, a, b, bias, c);
  for (int64_t first = 0; first < shape.batch; first += kMostBatches) {
    MatMulShape part = shape;
    part.batch = std::min(kMostBatches, shape.batch - first);
    MultiplyBatches(adds, part, a + first * shape.m * shape.k, b + first * shape.k * shape.n,
                    c + first * shape.m * shape.n, bias);
  }
}

// Gelu in its tanh form is x s with s = sigmoid(2 u) and 2 u = kSlope (x + kCube x^3): ir/graph/ops/gelu.cc.
constexpr float kSlope = 1.5957691216057308f;
constexpr float kCube = 0.044715f;

__device__ float ShareOf(float x) { return 1.0f / (1.0f + expf(-kSlope * (x + kCube * x * x * x))); }

// `y` may be `before`.
template <typename T>
__global__ void GeluOfElements(int64_t count, const T* before, T* y) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    const float x = static_cast<float>(before[i]);
    y[i] = static_cast<T>(x * ShareOf(x));
  }
}

template <typename T>
__global__ void MultiplyBySlopeOfGelu(int64_t count, const T* before, T* c) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    const float x = static_cast<float>(before[i]);
    const float share = ShareOf(x);
    const float slope = share + x * share * (1.0f - share) * kSlope * (1.0f + 3.0f * kCube * x * x);
    c[i] = static_cast<T>(static_cast<float>(c[i]) * slope);
  }
}

// Computes the product with the epilogue. Returns false, and does nothing, where the library cannot.
template <typename T>
bool MultiplyByGelu(cublasLtEpilogue_t epilogue, const MatMulShape& shape, const ProductPlaces& places) {
  const bool is_empty = shape.batch * shape.m * shape.n == 0 || shape.k == 0;
  Product product = ProductOf(/*adds=*/false, shape, static_cast<const T*>(places.a), static_cast<const T*>(places.b),
                              static_cast<T*>(places.c), static_cast<const T*>(places.bias));
  product.epilogue = epilogue;
  product.alignment_aux = AlignmentOf(places.aux, shape.batch > 1 ? shape.m * shape.n * int64_t{sizeof(T)} : 0);
  constexpr int64_t kWholeRun = 8, kWholeLoad = 16;  // Elements, and bytes, that the library demands.
  const bool lies_well = !product.has_aux() || (shape.n % kWholeRun == 0 && product.alignment_aux % kWholeLoad == 0);
  return !is_empty && shape.batch <= kMostBatches && lies_well && Multiply(product, places);
}

// sums[column] of a row-major rows x columns matrix.
template <typename T>
void SumColumns(int64_t rows, int64_t columns, const T* x, float* sums) {
  if (columns == 0) return;
  const ColumnReduction reduction({1, rows, columns});
  ScratchLayout layout;
  const int64_t parts = layout.Add<float>(reduction.part_count());
  const ScratchMemory scratch(layout);
  reduction.Run<Sum>(ElementOf{x}, 1.0f, scratch.At<float>(parts), sums);
}

}  // namespace

template <typename In, typename Out>
void MatMul(const MatMulShape& shape, const In* a, const In* b, Out* c, const Out* bias) {
  CountFlops(FlopsOf(shape));
  MultiplyAll(/*adds=*/false, shape, a, b, c, bias);
}

template <typename In>
void AccumulateMatMul(bool first, const MatMulShape& shape, const In* a, const In* b, float* c) {
  const float* const no_bias = nullptr;
  CountFlops(FlopsOf(shape));
  MultiplyAll(!first, shape, a, b, c, no_bias);
}

template <typename T>
void ApplyGelu(int64_t count, const T* before, T* y) {
  Launch(GeluOfElements<T>, ForElements(count), count, before, y);
}

template <typename T>
void MatMulGelu(const MatMulShape& shape, const T* a, const T* b, const typename TypeOfOthers<T>::Type* bias,
                typename TypeOfOthers<T>::Type* before, T* y) {
  const cublasLtEpilogue_t with_bias =
      before != nullptr ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_BIAS;
  const cublasLtEpilogue_t without = before != nullptr ? CUBLASLT_EPILOGUE_GELU_AUX : CUBLASLT_EPILOGUE_GELU;
  CountFlops(FlopsOf(shape));
  if (MultiplyByGelu<T>(bias != nullptr ? with_bias : without, shape, {a, b, y, bias, before})) return;
  const int64_t count = shape.batch * shape.m * shape.n;
  if (count == 0) return;
  FallBack("activations", [&] {
    return "cuBLASLt does not compute gelu of " + ProductOf(/*adds=*/false, shape, a, b, y, bias).Text();
  });
  if (before == nullptr) before = y;
  MultiplyAll(/*adds=*/false, shape, a, b, before, bias);
  ApplyGelu(count, before, y);
}

template <typename T>
void MatMulGeluGradient(const MatMulShape& shape, const T* a, const T* b, const T* before, T* c) {
  const T* const no_bias = nullptr;
  CountFlops(FlopsOf(shape));
  if (MultiplyByGelu<T>(CUBLASLT_EPILOGUE_DGELU, shape, {a, b, c, nullptr, before})) return;
  const int64_t count = shape.batch * shape.m * shape.n;
  if (count == 0) return;
  FallBack("activations", [&] {
    return "cuBLASLt does not apply the slope of gelu to " + ProductOf(/*adds=*/false, shape, a, b, c, no_bias).Text();
  });
  MultiplyAll(/*adds=*/false, shape, a, b, c, no_bias);
  Launch(MultiplyBySlopeOfGelu<T>, ForElements(count), count, before, c);
}

// The library adds up one of the factors. Its first one is b.
template <typename T>
void MatMulAndSums(const MatMulShape& shape, const T* a, const T* b, float* c, float* sums_a, float* sums_b) {
  const float* const no_bias = nullptr;
  CountFlops(FlopsOf(shape));
  Product product = ProductOf(/*adds=*/false, shape, a, b, c, no_bias);
  product.epilogue = sums_a != nullptr ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_BGRADA;
  float*& sums = sums_a != nullptr ? sums_a : sums_b;
  product.alignment_bias = AlignmentOf(sums);
  const bool is_empty = shape.m == 0 || shape.n == 0 || shape.k == 0;
  if (!is_empty && Multiply(product, {a, b, c, sums})) {
    sums = nullptr;
  } else {
    MultiplyAll(/*adds=*/false, shape, a, b, c, no_bias);
    if (!is_empty) {
      FallBack("bias_gradients", [&] { return "cuBLASLt does not add up a factor of " + product.Text(); });
    }
  }
  if (sums_a != nullptr) SumColumns(shape.k, shape.m, a, sums_a);
  if (sums_b != nullptr) SumColumns(shape.k, shape.n, b, sums_b);
}

#define CLEAVE_PRODUCTS(In, Out) template void MatMul(const MatMulShape&, const In*, const In*, Out*, const Out*);
CLEAVE_PRODUCTS(float, float)
CLEAVE_PRODUCTS(BFloat16, float)
CLEAVE_PRODUCTS(BFloat16, BFloat16)
CLEAVE_PRODUCTS(Float16, float)
CLEAVE_PRODUCTS(Float16, Float16)
#undef CLEAVE_PRODUCTS
#define CLEAVE_EPILOGUES(T)                                                               \
  template void ApplyGelu(int64_t, const T*, T*);                                         \
  template void MatMulGelu(const MatMulShape&, const T*, const T*, const T*, T*, T*);     \
  template void MatMulGeluGradient(const MatMulShape&, const T*, const T*, const T*, T*); \
  template void MatMulAndSums(const MatMulShape&, const T*, const T*, float*, float*, float*);
CLEAVE_EPILOGUES(float)
CLEAVE_EPILOGUES(BFloat16)
CLEAVE_EPILOGUES(Float16)
#undef CLEAVE_EPILOGUES
template void AccumulateMatMul(bool, const MatMulShape&, const float*, const float*, float*);
template void AccumulateMatMul(bool, const MatMulShape&, const BFloat16*, const BFloat16*, float*);
template void AccumulateMatMul(bool, const MatMulShape&, const Float16*, const Float16*, float*);

}  // namespace cleave::runtime
