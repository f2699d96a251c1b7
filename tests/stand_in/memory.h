// Private to tests/stand_in: which memory is the device's.
#ifndef STAND_IN_MEMORY_H_
#define STAND_IN_MEMORY_H_

#include <cstddef>

#include "cuda_runtime.h"

namespace stand_in {

struct Memory {
  char* begin = nullptr;
  size_t bytes = 0;
  cudaMemoryType type = cudaMemoryTypeUnregistered;
  int device = 0;
};

// The allocation in which the place lies; of type cudaMemoryTypeUnregistered where none does.
Memory FindMemory(const void* place);

// Keeps `error` as the thread's last one, and returns it.
cudaError_t Failed(cudaError_t error);

// What a block may have of shared memory, where its kernel was told so: as a device of architecture 9.0.
constexpr size_t kMostSharedBytes = 227 << 10;

// Bytes that each device has.
size_t DeviceBytes();

// Bytes of the device's memory that are taken.
size_t TakenBytes(int device);

// Whether a stream is being captured that the calling thread began to capture: calls that are no work of a stream are
// refused then.
bool ThreadCaptures();

// cudaSuccess where there is a device; the thread then has a current one.
cudaError_t FindDevice();

}  // namespace stand_in

#endif  // STAND_IN_MEMORY_H_
