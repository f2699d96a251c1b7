#include "runtime/math/cudnn/handle.h"

#if CLEAVE_HAS_CUDNN

#include "runtime/device/cuda/cuda.h"
#include "runtime/error/error.h"

namespace cleave::runtime {

void CheckCudnn(cudnnStatus_t status, const std::string& what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  Die(ExitCode::kFailed, Format("cuDNN failed in %s: %s", what.c_str(), cudnnGetErrorString(status)));
}

cudnnHandle_t CudnnHandle() {
  thread_local cudnnHandle_t handle = nullptr;
  if (handle == nullptr) CheckCudnn(cudnnCreate(&handle), "its start");
  CheckCudnn(cudnnSetStream(handle, CurrentStream()), "choosing a stream");
  return handle;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_HAS_CUDNN
