#include "runtime/device/cuda/cuda.h"
#include "runtime/error/error.h"
#include "runtime/math/cublas/library.cuh"
#include "runtime/math/cublas/product.cuh"
#include "runtime/math/prepared_list.h"

namespace cleave::runtime {
namespace {

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
void SetOfOperation(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const T& value,
                    const Product& product) {
  CheckCublas(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value), product.Text());
}

void SetPlaces(cublasLtMatmulDesc_t operation, const Product& product, const ProductPlaces& places) {
  if (product.has_bias()) SetOfOperation(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, places.bias, product);
  if (product.has_aux()) SetOfOperation(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, places.aux, product);
  if (!product.has_units()) return;
  SetOfOperation(operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, places.unit_b, product);
  SetOfOperation(operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, places.unit_a, product);
}

// `places`: as aligned as those of all calls.
cublasLtMatmulDesc_t DescribeOperation(const Product& product, const ProductPlaces& places) {
  const bool tf32 = product.type_a == CUDA_R_32F && product.precision == Precision::kTf32;
  cublasLtMatmulDesc_t operation;
  CheckCublas(
      cublasLtMatmulDescCreate(&operation, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
      product.Text());
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    SetOfOperation(operation, attribute, value, product);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, product.shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, product.shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(product.epilogue));
  SetPlaces(operation, product, places);
  if (product.has_aux()) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, product.shape.n);
    if (product.shape.batch > 1) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, product.shape.m * product.shape.n);
    }
  }
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
  // Of an epilogue for which it has none, and of factors of 8 bits, the library may say either.
  const bool is_refused =
      status == CUBLAS_STATUS_NOT_SUPPORTED ||
      (status == CUBLAS_STATUS_INVALID_VALUE && (product.epilogue != CUBLASLT_EPILOGUE_DEFAULT || product.has_units()));
  if (!is_refused) CheckCublas(status, "choosing a kernel for " + product.Text());
  prepared.is_supported = status == CUBLAS_STATUS_SUCCESS && found > 0 && best.state == CUBLAS_STATUS_SUCCESS;
  prepared.algorithm = best.algo;
}

PreparedProduct Prepare(const Product& product, const ProductPlaces& places) {
  const MatMulShape& shape = product.shape;
  PreparedProduct prepared;
  prepared.product = product;
  prepared.operation = DescribeOperation(product, places);
  prepared.a = DescribeMatrices(product, product.type_a, shape.transpose_a ? shape.k : shape.m,
                                shape.transpose_a ? shape.m : shape.k);
  prepared.b = DescribeMatrices(product, product.type_b, shape.transpose_b ? shape.n : shape.k,
                                shape.transpose_b ? shape.k : shape.n);
  prepared.c = DescribeMatrices(product, product.result, shape.m, shape.n);
  ChooseAlgorithm(prepared);
  return prepared;
}

const PreparedProduct& PreparedFor(const Product& product, const ProductPlaces& places) {
  thread_local auto& all = *new PreparedList<PreparedProduct>;
  return all.Get([&](const PreparedProduct& known) { return known.product == product; },
                 [&] { return Prepare(product, places); });
}

}  // namespace

std::string Product::Text() const {
  return Format("a product of %lld times %lld x %lld and %lld x %lld%s%s", static_cast<long long>(shape.batch),
                static_cast<long long>(shape.m), static_cast<long long>(shape.k), static_cast<long long>(shape.k),
                static_cast<long long>(shape.n), shape.transpose_a ? ", the first stored transposed" : "",
                shape.transpose_b ? ", the second stored transposed" : "");
}

bool CanMultiply(const Product& product, const ProductPlaces& places) {
  return PreparedFor(product, places).is_supported;
}

bool Multiply(const Product& product, const ProductPlaces& places) {
  const PreparedProduct& prepared = PreparedFor(product, places);
  if (!prepared.is_supported) return false;
  SetPlaces(prepared.operation, product, places);
  const Cublas& cublas = TheCublas();
  const float one = 1.0f;
  const float of_old = product.adds ? 1.0f : 0.0f;
  const cublasStatus_t status = cublasLtMatmul(
      cublas.handle, prepared.operation, &one, places.b, prepared.b, places.a, prepared.a, &of_old, places.c,
      prepared.c, places.c, prepared.c, &prepared.algorithm, cublas.workspace, cublas.workspace_bytes, CurrentStream());
  if (status != CUBLAS_STATUS_SUCCESS) CheckCublas(status, product.Text());
  return true;
}

}  // namespace cleave::runtime
