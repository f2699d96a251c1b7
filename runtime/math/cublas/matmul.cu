// MatMul by cuBLASLt.
//
// Its matrices are column-major. In the same memory a row-major matrix is the transpose of the column-major one, so
// c = a b is asked for as transpose(c) = transpose(b) transpose(a): b is the library's first factor, and its results
// have n rows. Declared row-major instead, a result would get its bias along the wrong dimension: the library adds one
// value to a row.
//
// Where the library has no kernel that also adds the bias, which may happen with bf16 at places or of sizes that are
// not even, a separate kernel of ours adds it. Where it has no kernel at all, the product is a kernel of
// ours too. Both are counted, and said once (runtime/error/warning.h).
#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/work.h"
#include "runtime/device/workspace.h"
#include "runtime/error/error.h"
#include "runtime/error/warning.h"
#include "runtime/math/cublas/library.cuh"
#include "runtime/math/math.h"  // IWYU pragma: associated
#include "runtime/math/prepared_list.h"

namespace cleave::runtime {
namespace {

// All that the choice of a kernel depends on.
struct Product {
  MatMulShape shape;
  cudaDataType_t factors = CUDA_R_32F;
  cudaDataType_t result = CUDA_R_32F;
  Precision precision = Precision::kF32;
  bool has_bias = false;
  bool adds = false;  // To what the result holds.
  // In bytes, of each matrix of a batch.
  uint32_t alignment_a = 0;
  uint32_t alignment_b = 0;
  uint32_t alignment_c = 0;
  uint32_t alignment_bias = 0;

  bool operator==(const Product& other) const {
    const auto fields = [](const Product& p) {
      return std::tie(p.factors, p.result, p.precision, p.has_bias, p.adds, p.alignment_a, p.alignment_b, p.alignment_c,
                      p.alignment_bias);
    };
    return shape == other.shape && fields(*this) == fields(other);
  }

  std::string Text() const {
    return Format("a product of %lld times %lld x %lld and %lld x %lld%s%s", static_cast<long long>(shape.batch),
                  static_cast<long long>(shape.m), static_cast<long long>(shape.k), static_cast<long long>(shape.k),
                  static_cast<long long>(shape.n), shape.transpose_a ? ", the first stored transposed" : "",
                  shape.transpose_b ? ", the second stored transposed" : "");
  }
};

struct PreparedProduct {
  Product product;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t c = nullptr;
  bool is_supported = false;
  cublasLtMatmulAlgo_t algorithm = {};
};

template <typename T>
constexpr cudaDataType_t kTypeOf = CUDA_R_32F;
template <>
constexpr cudaDataType_t kTypeOf<BFloat16> = CUDA_R_16BF;
template <>
constexpr cudaDataType_t kTypeOf<Float16> = CUDA_R_16F;

// The largest power of two that divides the address and the bytes from a matrix to the next; more than 256 is of no use
// to the library.
uint32_t AlignmentOf(const void* values, int64_t stride = 0) {
  const uint64_t bits = reinterpret_cast<uintptr_t>(values) | static_cast<uint64_t>(stride) | 256u;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

template <typename T>
void SetOfOperation(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const T& value,
                    const Product& product) {
  CheckCublas(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value), product.Text());
}

// `bias`: as aligned as those of all calls.
cublasLtMatmulDesc_t DescribeOperation(const Product& product, const void* bias) {
  const bool tf32 = product.factors == CUDA_R_32F && product.precision == Precision::kTf32;
  cublasLtMatmulDesc_t operation;
  CheckCublas(
      cublasLtMatmulDescCreate(&operation, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
      product.Text());
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    SetOfOperation(operation, attribute, value, product);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, product.shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, product.shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, product.has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT);
  if (product.has_bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  return operation;
}

// A batch of row-major rows x columns matrices as they are stored.
cublasLtMatrixLayout_t DescribeMatrices(const Product& product, cudaDataType_t type, int64_t rows, int64_t columns) {
  cublasLtMatrixLayout_t layout;
  CheckCublas(
      cublasLtMatrixLayoutCreate(&layout, type, static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), columns),
      product.Text());
  if (product.shape.batch == 1) return layout;
  const auto count = static_cast<int32_t>(product.shape.batch);
  const int64_t stride = rows * columns;
  CheckCublas(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
              product.Text());
  CheckCublas(
      cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
      product.Text());
  return layout;
}

// What the library may assume and use. Partial sums are kept in f32: kernels that add them up in the result's type
// would lose digits of 16 bits.
cublasLtMatmulPreference_t DescribePreference(const Product& product) {
  cublasLtMatmulPreference_t preference;
  CheckCublas(cublasLtMatmulPreferenceCreate(&preference), product.Text());
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    CheckCublas(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value), product.Text());
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(TheCublas().workspace_bytes));
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, product.alignment_b);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, product.alignment_a);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, product.alignment_c);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, product.alignment_c);
  return preference;
}

// The kernel that the library ranks first: the same on every rank and in every run.
void ChooseAlgorithm(PreparedProduct& prepared) {
  const Product& product = prepared.product;
  const cublasLtMatmulPreference_t preference = DescribePreference(product);
  cublasLtMatmulHeuristicResult_t best = {};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(TheCublas().handle, prepared.operation, prepared.b, prepared.a, prepared.c,
                                     prepared.c, preference, 1, &best, &found);
  CheckCublas(cublasLtMatmulPreferenceDestroy(preference), product.Text());
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) CheckCublas(status, "choosing a kernel for " + product.Text());
  prepared.is_supported = status == CUBLAS_STATUS_SUCCESS && found > 0 && best.state == CUBLAS_STATUS_SUCCESS;
  prepared.algorithm = best.algo;
}

PreparedProduct Prepare(const Product& product, const void* bias) {
  const MatMulShape& shape = product.shape;
  PreparedProduct prepared;
  prepared.product = product;
  prepared.operation = DescribeOperation(product, bias);
  prepared.a = DescribeMatrices(product, product.factors, shape.transpose_a ? shape.k : shape.m,
                                shape.transpose_a ? shape.m : shape.k);
  prepared.b = DescribeMatrices(product, product.factors, shape.transpose_b ? shape.n : shape.k,
                                shape.transpose_b ? shape.k : shape.n);
  prepared.c = DescribeMatrices(product, product.result, shape.m, shape.n);
  ChooseAlgorithm(prepared);
  return prepared;
}

// Returns false, and does nothing, where the library cannot.
bool Multiply(const Product& product, const void* a, const void* b, void* c, const void* bias) {
  thread_local auto& all = *new PreparedList<PreparedProduct>;
  const PreparedProduct& prepared = all.Get([&](const PreparedProduct& known) { return known.product == product; },
                                            [&] { return Prepare(product, bias); });
  if (!prepared.is_supported) return false;
  if (product.has_bias) SetOfOperation(prepared.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias, product);
  const Cublas& cublas = TheCublas();
  const float one = 1.0f;
  const float of_old = product.adds ? 1.0f : 0.0f;
  const cublasStatus_t status =
      cublasLtMatmul(cublas.handle, prepared.operation, &one, b, prepared.b, a, prepared.a, &of_old, c, prepared.c, c,
                     prepared.c, &prepared.algorithm, cublas.workspace, cublas.workspace_bytes, CurrentStream());
  if (status != CUBLAS_STATUS_SUCCESS) CheckCublas(status, product.Text());
  return true;
}

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

// What the library is asked for.
template <typename In, typename Out>
Product ProductOf(bool adds, const MatMulShape& shape, const In* a, const In* b, const Out* c, const Out* bias) {
  const auto alignment = [&](const auto* values, int64_t size) {
    return AlignmentOf(values, shape.batch > 1 ? size * static_cast<int64_t>(sizeof *values) : 0);
  };
  Product product;
  product.shape = shape;
  product.factors = kTypeOf<In>;
  product.result = kTypeOf<Out>;
  product.precision = MatMulPrecision();
  product.has_bias = bias != nullptr;
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
  if (!Multiply(ProductOf(/*adds=*/false, shape, a, b, product, no_bias), a, b, product, no_bias)) return false;
  Launch(AddBias<Out>, ForElements(count), count, shape.n, bias, product, c);
  return true;
}

// REQUIRES: no size is 0, a grid has as many blocks as there are batches, and a product that is added has no bias.
template <typename In, typename Out>
void MultiplyBatches(bool adds, const MatMulShape& shape, const In* a, const In* b, Out* c, const Out* bias) {
  const Product product = ProductOf(adds, shape, a, b, c, bias);
  if (Multiply(product, a, b, c, bias)) return;
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
  constexpr int64_t kMostBatches = 65535;  // Blocks of a grid along its third dimension.
  for (int64_t first = 0; first < shape.batch; first += kMostBatches) {
    MatMulShape part = shape;
    part.batch = std::min(kMostBatches, shape.batch - first);
    MultiplyBatches(adds, part, a + first * shape.m * shape.k, b + first * shape.k * shape.n,
                    c + first * shape.m * shape.n, bias);
  }
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

#define CLEAVE_PRODUCTS(In, Out) template void MatMul(const MatMulShape&, const In*, const In*, Out*, const Out*);
CLEAVE_PRODUCTS(float, float)
CLEAVE_PRODUCTS(BFloat16, float)
CLEAVE_PRODUCTS(BFloat16, BFloat16)
CLEAVE_PRODUCTS(Float16, float)
CLEAVE_PRODUCTS(Float16, Float16)
#undef CLEAVE_PRODUCTS
template void AccumulateMatMul(bool, const MatMulShape&, const float*, const float*, float*);
template void AccumulateMatMul(bool, const MatMulShape&, const BFloat16*, const BFloat16*, float*);
template void AccumulateMatMul(bool, const MatMulShape&, const Float16*, const Float16*, float*);

}  // namespace cleave::runtime
