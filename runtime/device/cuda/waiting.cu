#include <thread>
#include <utility>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/waiting.h"

namespace cleave::runtime {
namespace {

// Never destroyed: other objects of the thread may wait when it ends.
std::function<void()>& LookOfThread() {
  thread_local auto* const look = new std::function<void()>;
  return *look;
}

}  // namespace

void WhileWaiting(std::function<void()> look) { LookOfThread() = std::move(look); }

void WaitForStream(cudaStream_t stream) {
  const std::function<void()>& look = LookOfThread();
  if (!look) return CheckCuda(cudaStreamSynchronize(stream), "waiting for the GPU");
  while (true) {
    look();
    const cudaError_t state = cudaStreamQuery(stream);
    if (state != cudaErrorNotReady) return CheckCuda(state, "waiting for the GPU");
    std::this_thread::yield();
  }
}

}  // namespace cleave::runtime
