#include "runtime/device/cuda/cuda.h"
#include "runtime/device/workspace.h"
#include "runtime/error/error.h"
#include "runtime/math/cublas/library.cuh"

namespace cleave::runtime {
namespace {

// As much as the library takes by default where it has a default. The kernels of newer devices need more.
size_t WorkspaceOfDevice() {
  int device = 0;
  int generation = 0;
  CheckCuda(cudaGetDevice(&device), "asking for the device");
  CheckCuda(cudaDeviceGetAttribute(&generation, cudaDevAttrComputeCapabilityMajor, device),
            "asking for its generation");
  constexpr size_t kMebibyte = size_t{1} << 20;
  return generation >= 9 ? 64 * kMebibyte : 32 * kMebibyte;
}

}  // namespace

void CheckCublas(cublasStatus_t status, const std::string& what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  Die(ExitCode::kFailed, Format("cuBLASLt failed in %s: %s", what.c_str(), cublasLtGetStatusString(status)));
}

const Cublas& TheCublas() {
  thread_local Cublas cublas;
  if (cublas.handle == nullptr) {
    CheckCublas(cublasLtCreate(&cublas.handle), "its start");
    cublas.workspace_bytes = WorkspaceOfDevice();
    cublas.workspace = TakeForGood(static_cast<int64_t>(cublas.workspace_bytes));
  }
  return cublas;
}

}  // namespace cleave::runtime
