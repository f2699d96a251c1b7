// The types of 16 bits as tensor cores know them, and whether the rank's GPU multiplies them.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_TENSOR_CORES_CUH_
#define CLEAVE_RUNTIME_DEVICE_CUDA_TENSOR_CORES_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <type_traits>

#include "runtime/device/bfloat16.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/float16.h"
#include "runtime/error/error.h"

namespace cleave::runtime {

template <typename T>
struct OnTensorCores;
template <>
struct OnTensorCores<BFloat16> {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  using Type = __half;  // Never run: CheckTensorCores.
#else
  using Type = __nv_bfloat16;
#endif
};
template <>
struct OnTensorCores<Float16> {
  using Type = __half;
};
template <typename T>
using Narrow = typename OnTensorCores<T>::Type;

// Ends the program on a GPU whose tensor cores do not know the type; `what` needs them.
template <typename T>
void CheckTensorCores(const char* what) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    constexpr int kAmpere = 8;
    int device = 0;
    int generation = 0;
    CheckCuda(cudaGetDevice(&device), "asking for the device");
    CheckCuda(cudaDeviceGetAttribute(&generation, cudaDevAttrComputeCapabilityMajor, device),
              "asking for its generation");
    if (generation >= kAmpere) return;
    Die(ExitCode::kEnvironment, Format("this GPU's tensor cores do not multiply bf16, which %s needs; all have f16: "
                                       "compile the model with `precision = f16`",
                                       what));
  }
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_CUDA_TENSOR_CORES_CUH_
