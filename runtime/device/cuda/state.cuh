// Private to runtime/device/cuda: what a rank, which is a thread, has on its GPU.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_STATE_CUH_
#define CLEAVE_RUNTIME_DEVICE_CUDA_STATE_CUH_

#include <cuda_runtime.h>

#include <vector>

namespace cleave::runtime {

struct RankState {
  int device = 0;
  int multiprocessors = 0;
  cudaStream_t compute = nullptr;
  cudaStream_t communication = nullptr;
  cudaStream_t host_copies = nullptr;
  cudaStream_t current = nullptr;  // One of the three.
  cudaEvent_t computed = nullptr;  // What the others wait for.
  // By number: what AwaitCommunication waits for.
  struct Communicated {
    cudaEvent_t event = nullptr;
    bool pending = false;  // Not yet awaited.
  };
  std::vector<Communicated> communicated;
  std::vector<int> free_numbers;
};

// Of the calling thread's rank; made on the thread's current device at the first call. Never destroyed: what a rank
// holds of its GPU is given back when its process ends.
RankState& State();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_CUDA_STATE_CUH_
