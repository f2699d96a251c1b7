// What cuBLASLt is asked for, and its answer, which is kept for each thread.
//
// The library's matrices are column-major. In the same memory a row-major matrix is the transpose of the column-major
// one, so c = a b is asked for as transpose(c) = transpose(b) transpose(a): b is the library's first factor, and its
// results have n rows. Declared row-major instead, a result would get its bias along the wrong dimension: the library
// adds one value to a row.
#ifndef CLEAVE_RUNTIME_MATH_CUBLAS_PRODUCT_CUH_
#define CLEAVE_RUNTIME_MATH_CUBLAS_PRODUCT_CUH_

#include <cublasLt.h>

#include <cstdint>
#include <string>
#include <tuple>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/device/float8.h"
#include "runtime/math/math.h"
#include "runtime/math/precision.h"

namespace cleave::runtime {

constexpr int kAux = CUBLASLT_EPILOGUE_GELU_AUX & ~CUBLASLT_EPILOGUE_GELU;

// What a product reads and writes.
struct ProductPlaces {
  const void* a;
  const void* b;
  void* c;
  const void* bias = nullptr;
  const void* aux = nullptr;
  const float* unit_a = nullptr;
  const float* unit_b = nullptr;
};

// All that the choice of a kernel depends on.
struct Product {
  MatMulShape shape;
  cudaDataType_t type_a = CUDA_R_32F;
  cudaDataType_t type_b = CUDA_R_32F;
  cudaDataType_t result = CUDA_R_32F;
  Precision precision = Precision::kF32;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  bool adds = false;  // To what the result holds.
  // In bytes, of each matrix of a batch.
  uint32_t alignment_a = 0;
  uint32_t alignment_b = 0;
  uint32_t alignment_c = 0;
  uint32_t alignment_bias = 0;
  uint32_t alignment_aux = 0;

  // Whether it reads a bias, or writes the sums of a factor.
  bool has_bias() const {
    return (epilogue & (CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB)) != 0;
  }
  // Whether its factors, of 8 bits, are multiplied by units.
  bool has_units() const { return type_a == CUDA_R_8F_E4M3 || type_a == CUDA_R_8F_E5M2; }
  // Whether it writes or reads what is before gelu.
  bool has_aux() const { return (epilogue & kAux) != 0; }

  bool operator==(const Product& other) const {
    const auto fields = [](const Product& p) {
      return std::tie(p.type_a, p.type_b, p.result, p.precision, p.epilogue, p.adds, p.alignment_a, p.alignment_b,
                      p.alignment_c, p.alignment_bias, p.alignment_aux);
    };
    return shape == other.shape && fields(*this) == fields(other);
  }

  std::string Text() const;
};

template <typename T>
constexpr cudaDataType_t kTypeOf = CUDA_R_32F;
template <>
constexpr cudaDataType_t kTypeOf<BFloat16> = CUDA_R_16BF;
template <>
constexpr cudaDataType_t kTypeOf<Float16> = CUDA_R_16F;
template <>
constexpr cudaDataType_t kTypeOf<Float8E4M3> = CUDA_R_8F_E4M3;
template <>
constexpr cudaDataType_t kTypeOf<Float8E5M2> = CUDA_R_8F_E5M2;

// The largest power of two that divides the address and the bytes from a matrix to the next; more than 256 is of no use
// to the library.
inline uint32_t AlignmentOf(const void* values, int64_t stride = 0) {
  const uint64_t bits = reinterpret_cast<uintptr_t>(values) | static_cast<uint64_t>(stride) | 256u;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

// Whether the library has a kernel for it. `places`: as aligned as those of the product.
bool CanMultiply(const Product& product, const ProductPlaces& places);

// Multiplies by the kernel that the library ranks first. Returns false, and does nothing, where it has none.
bool Multiply(const Product& product, const ProductPlaces& places);

// y = gelu(before), in its tanh form; `y` may be `before`. T is float, BFloat16 or Float16.
template <typename T>
void ApplyGelu(int64_t count, const T* before, T* y);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_CUBLAS_PRODUCT_CUH_
