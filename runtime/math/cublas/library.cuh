// cuBLASLt as a rank's products share it.
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
  // Kernels put what they add up in pieces there. One after another, as the stream runs them, so one piece is enough.
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

// Of the calling thread's rank; started at its first product. REQUIRES: then no work is being recorded.
const Cublas& TheCublas();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_CUBLAS_LIBRARY_CUH_
