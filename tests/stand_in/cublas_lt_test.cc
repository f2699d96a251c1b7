// Tests that the stand-in multiplies matrices in every layout, and refuses what the library refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "cublasLt.h"

namespace {

// Memory of the device.
template <typename T>
struct Memory {
  T* values = nullptr;
  size_t count;

  explicit Memory(const std::vector<T>& from) : count(from.size()) {
    EXPECT_EQ(cudaMalloc(&values, count * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(values, from.data(), count * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~Memory() { cudaFree(values); }

  std::vector<T> Values() const {
    std::vector<T> host(count);
    EXPECT_EQ(cudaMemcpy(host.data(), values, count * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return host;
  }
};

struct Layout {
  uint64_t rows;
  uint64_t columns;
  int64_t leading_dimension;
  int32_t order = CUBLASLT_ORDER_COL;
  int64_t batch_stride = 0;
};

cublasLtMatrixLayout_t Make(const Layout& layout, int32_t batch = 1) {
  cublasLtMatrixLayout_t made;
  cublasLtMatrixLayoutCreate(&made, CUDA_R_32F, layout.rows, layout.columns, layout.leading_dimension);
  cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_ORDER, &layout.order, sizeof layout.order);
  cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
  cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &layout.batch_stride,
                                   sizeof layout.batch_stride);
  return made;
}

// One product, from its choice to its end.
class Product {
 public:
  Product(const Layout& a, const Layout& b, const Layout& d, int32_t batch = 1)
      : a_(Make(a, batch)), b_(Make(b, batch)), d_(Make(d, batch)) {
    cublasLtCreate(&handle_);
    cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulPreferenceCreate(&preference_);
    const uint32_t alignment = 4;
    for (const auto of : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      cublasLtMatmulPreferenceSetAttribute(preference_, of, &alignment, sizeof alignment);
    }
  }
  ~Product() {
    cublasLtMatmulPreferenceDestroy(preference_);
    cublasLtMatmulDescDestroy(operation_);
    for (const cublasLtMatrixLayout_t layout : {a_, b_, d_}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtDestroy(handle_);
  }

  template <typename T>
  void Set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
  }
  void AllowWorkspace(uint64_t bytes) {
    cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
  }

  cublasStatus_t Choose() {
    int found = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle_, operation_, a_, b_, d_, d_, preference_, 1, &chosen_, &found);
  }
  size_t workspace_bytes() const { return chosen_.workspaceSize; }

  cublasStatus_t Run(const float* a, const float* b, float* d, float alpha = 1, float beta = 0,
                     void* workspace = nullptr, size_t workspace_bytes = 0) {
    return cublasLtMatmul(handle_, operation_, &alpha, a, a_, b, b_, &beta, d, d_, d, d_, &chosen_.algo, workspace,
                          workspace_bytes, nullptr);
  }

 private:
  cublasLtMatrixLayout_t a_, b_, d_;
  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t operation_;
  cublasLtMatmulPreference_t preference_;
  cublasLtMatmulHeuristicResult_t chosen_ = {};
};

// [1 2 3; 4 5 6] times [1 0; 2 1; 0 3].
const std::vector<float> kProduct = {5, 11, 14, 23};  // Row by row.

TEST(CublasLtTest, LayoutsSayWhereElementsLie) {
  const Memory<float> by_columns({1, 4, 2, 5, 3, 6}), padded({1, 2, 3, -9, 4, 5, 6, -9});
  const Memory<float> b_by_columns({1, 2, 0, 0, 1, 3}), b_transposed({1, 0, 2, 1, 0, 3});
  const Memory<float> d({0, 0, 0, 0, 0, 0});
  Product plain({2, 3, 2}, {3, 2, 3}, {2, 2, 3});  // Columns of the result are 3 apart.
  ASSERT_EQ(plain.Choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(plain.Run(by_columns.values, b_by_columns.values, d.values), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.Values(), (std::vector<float>{5, 14, 0, 11, 23, 0}));
  Product by_rows({2, 3, 4, CUBLASLT_ORDER_ROW}, {2, 3, 2}, {2, 2, 2, CUBLASLT_ORDER_ROW});
  by_rows.Set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T);
  ASSERT_EQ(by_rows.Choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(by_rows.Run(padded.values, b_transposed.values, d.values), CUBLAS_STATUS_SUCCESS);
  std::vector<float> values = d.Values();
  values.resize(4);
  EXPECT_EQ(values, kProduct);
}

TEST(CublasLtTest, BatchesScalesAndBias) {
  const Memory<float> a({1, 2, 3, 4}), b({5, 6, 7, 8}), bias({-100, 1}), d({1, 1, 1, 1, 1, 1, 1, 1, 9});
  // Matrices with columns of two and rows of one element: 2 x 1 times 1 x 2, twice.
  Product product({2, 1, 2, CUBLASLT_ORDER_COL, 2}, {1, 2, 1, CUBLASLT_ORDER_COL, 2}, {2, 2, 2, CUBLASLT_ORDER_COL, 4},
                  2);
  product.Set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  product.Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias.values));
  ASSERT_EQ(product.Choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(product.Run(a.values, b.values, d.values, 2, 3), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.Values(), (std::vector<float>{-87, 24, -85, 28, -55, 60, -49, 68, 9}));
}

TEST(CublasLtTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Product({2, 3, 1}, {3, 2, 3}, {2, 2, 2}).Choose(), CUBLAS_STATUS_INVALID_VALUE) << "leading dimension";
  EXPECT_EQ(Product({2, 3, 2}, {2, 2, 2}, {2, 2, 2}).Choose(), CUBLAS_STATUS_INVALID_VALUE) << "contracted sizes";
  EXPECT_EQ(Product({2, 3, 2}, {3, 2, 3}, {3, 2, 3}).Choose(), CUBLAS_STATUS_INVALID_VALUE) << "rows of the result";
  EXPECT_EQ(Product({2, 3, 2}, {3, 2, 3}, {2, 2, 2}).Run(nullptr, nullptr, nullptr), CUBLAS_STATUS_NOT_SUPPORTED)
      << "no algorithm";
  const Memory<float> a(std::vector<float>(7, 1.0f)), b(std::vector<float>(6, 1.0f)), d(std::vector<float>(4, 0.0f));
  Product product({2, 3, 2}, {3, 2, 3}, {2, 2, 2});
  ASSERT_EQ(product.Choose(), CUBLAS_STATUS_SUCCESS);
  const auto* const odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(a.values) + 2);
  EXPECT_EQ(product.Run(odd, b.values, d.values), CUBLAS_STATUS_INVALID_VALUE) << "alignment";
  product.Set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  EXPECT_NE(product.Run(a.values, b.values, d.values), CUBLAS_STATUS_SUCCESS) << "an algorithm for something else";
}

TEST(CublasLtTest, LongSumsNeedTheirWorkspace) {
  const Memory<float> a(std::vector<float>(64, 1.0f)), b(std::vector<float>(64, 2.0f)), d({0.0f}), workspace({0, 0});
  Product product({1, 64, 1}, {64, 1, 64}, {1, 1, 1});
  product.AllowWorkspace(8);
  ASSERT_EQ(product.Choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(product.workspace_bytes(), 8u);
  EXPECT_EQ(product.Run(a.values, b.values, d.values), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(product.Run(a.values, b.values, d.values, 1, 0, workspace.values, 8), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.Values()[0], 128.0f);
  EXPECT_TRUE(std::isnan(workspace.Values()[0])) << "a workspace is written to";
}

}  // namespace
