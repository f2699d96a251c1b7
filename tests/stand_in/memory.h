// Private to tests/stand_in: knows which memory belongs to the device.
#ifndef STAND_IN_MEMORY_H_
#define STAND_IN_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "cuda_runtime.h"

namespace stand_in {

struct Memory {
  char* begin = nullptr;
  size_t bytes = 0;
  cudaMemoryType type = cudaMemoryTypeUnregistered;
  int device = 0;
};

// The allocation that contains the place; of type cudaMemoryTypeUnregistered if there is none.
Memory FindMemory(const void* place);

// Grows with each allocation and each free.
uint64_t MemoryVersion();

// Whether `bytes` bytes from `place` on are in one allocation of the device, or of pinned memory.
bool IsOfDevice(const void* place, size_t bytes);

// Ends the process with a message where they are not.
void CheckOfDevice(const void* place, size_t bytes, const char* what);

// Whether a library refuses what it could do, as real ones do for reasons of their own: with seeds other than 0 about
// one of four `what`.
bool RefusesAtRandom(uint64_t what);

// Keeps `error` as the thread's last one, and returns it.
cudaError_t Failed(cudaError_t error);

// The most shared memory that a block may have if its kernel has asked for it, as on a device of architecture 9.0.
constexpr size_t kMostSharedBytes = 227 << 10;

// Bytes of dynamic shared memory that a block of the kernel may have on the current device.
size_t AllowedSharedBytes(const void* kernel);

// Whether a test has asked for that fault of the device: CUDA_STAND_IN_FAULT.
bool HasDeviceFault(const char* fault);

// Bytes that each device has.
size_t DeviceBytes();

// Bytes of the device's memory that are taken.
size_t TakenBytes(int device);

// Whether a stream is being captured that the calling thread began to capture: then calls that are not work of a stream
// are refused.
bool ThreadCaptures();

// cudaSuccess where there is a device; the thread then has a current one.
cudaError_t FindDevice();

}  // namespace stand_in

#endif  // STAND_IN_MEMORY_H_
