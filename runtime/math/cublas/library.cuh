// The objects of cuBLASLt that a rank's products share.
#ifndef CLEAVE_RUNTIME_MATH_CUBLAS_LIBRARY_CUH_
#define CLEAVE_RUNTIME_MATH_CUBLAS_LIBRARY_CUH_

#include <cublasLt.h>

#include <cstddef>
#include <string>

namespace cleave::runtime {

// Ends the program when cuBLASLt refuses; `what`: what it was asked for.
void CheckCublas(cublasStatus_t status, const std::string& what);

struct Cublas {
  cublasLtHandle_t handle = nullptr;
  // Kernels that compute sums in parts keep the parts here. The stream runs one kernel after another, so they can share
  // it.
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

// The library of the calling thread's rank, started at its first product. REQUIRES: no work is being recorded at that
// time.
const Cublas& TheCublas();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_CUBLAS_LIBRARY_CUH_
