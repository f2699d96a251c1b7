// The GPU of the calling rank: its streams, and how kernels are started.
//
//   __global__ void AddOne(int64_t count, float* x) {
//     for (int64_t i = FirstElement(); i < count; i += ElementStride()) x[i] += 1.0f;
//   }
//   Launch(AddOne, ForElements(count), count, x);
//
// A rank is a thread; several ranks may be threads of one process that share a GPU. Everything here speaks of the
// calling thread's rank. Kernels run in the order in which they were launched on the current stream: between
// BeginCommunication or BeginHostCopies and EndCommunication (runtime/device/streams.h) that is another stream,
// otherwise the compute stream.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_CUDA_H_
#define CLEAVE_RUNTIME_DEVICE_CUDA_CUDA_H_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace cleave::runtime {

cudaStream_t CurrentStream();
cudaStream_t ComputeStream();
cudaStream_t CommunicationStream();

// A new event that has no time. A new stream whose work runs before kernels where both could: other ranks wait for it.
cudaEvent_t NewEvent();
cudaStream_t NewCommunicationStream();

// Ends the program when a call of CUDA failed: exit code 6, or 5 where the driver or the device is not there. `what`
// was attempted: "cudaMalloc of 4096 bytes".
void CheckCuda(cudaError_t error, const char* what);

// A workspace (runtime/device/workspace.h) that is never given back. It is always a new one: a workspace that a call
// has given back must be there when the call takes it again in the next step, in which nothing may be allocated.
void* TakeForGood(int64_t bytes);

// Multiprocessors of the device.
int Multiprocessors();

struct LaunchShape {
  int64_t blocks = 1;
  int threads = 1;       // Per block; a multiple of 32.
  int shared_bytes = 0;  // What DynamicShared() gives each block, beside its __shared__ arrays.
};

// The block's dynamic shared memory, aligned to 128 bytes.
__device__ inline unsigned char* DynamicShared() {
#ifdef __CUDACC__
  extern __shared__ __align__(128) unsigned char bytes[];
  return bytes;
#else
  return StandInDynamicShared();
#endif
}

constexpr int kThreadsPerBlock = 256;

// Enough blocks for one element per thread, up to the number that keeps the device busy; beyond that a thread takes
// several elements.
inline LaunchShape ForElements(int64_t count) {
  const int64_t blocks = (count + kThreadsPerBlock - 1) / kThreadsPerBlock;
  return {std::min<int64_t>(blocks, int64_t{32} * Multiprocessors()), kThreadsPerBlock};
}

// The elements of a thread of a kernel that was launched ForElements.
__device__ inline int64_t FirstElement() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline int64_t ElementStride() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

// Launches the kernel on the current stream; with no blocks it does nothing.
template <typename... Parameters, typename... Arguments>
void Launch(void (*kernel)(Parameters...), const LaunchShape& shape, Arguments... arguments) {
  if (shape.blocks == 0) return;
  const dim3 blocks(static_cast<unsigned>(shape.blocks));
  const dim3 threads(static_cast<unsigned>(shape.threads));
  constexpr int kWithoutAsking = 48 * 1024;  // Bytes of shared memory; for more a kernel has to be told.
  if (shape.shared_bytes > kWithoutAsking) {
    CheckCuda(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   shape.shared_bytes),
              "asking for shared memory");
  }
#ifdef __CUDACC__
  kernel<<<blocks, threads, static_cast<size_t>(shape.shared_bytes), CurrentStream()>>>(
      static_cast<Parameters>(arguments)...);
#else
  // The stand-in for the CUDA runtime (tests/stand_in) has no such syntax.
  StandInLaunch(reinterpret_cast<const void*>(kernel), blocks, threads, static_cast<size_t>(shape.shared_bytes),
                CurrentStream(), [=] { kernel(static_cast<Parameters>(arguments)...); });
#endif
  CheckCuda(cudaGetLastError(), "launching a kernel");
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_CUDA_CUDA_H_
