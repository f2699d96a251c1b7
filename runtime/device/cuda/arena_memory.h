// Whose memory the arena of the calling thread's rank is: that of a library which knows how other GPUs reach it, or
// ordinary memory of the GPU.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_ARENA_MEMORY_H_
#define CLEAVE_RUNTIME_DEVICE_CUDA_ARENA_MEMORY_H_

#include <cstdint>
#include <functional>

namespace cleave::runtime {

struct ArenaMemory {
  // Memory of so many bytes, or of none; null: the arena takes ordinary memory. All ranks take theirs at one time.
  std::function<void*(int64_t bytes)> take;
  // Called when no work uses it any more.
  std::function<void(void* memory)> give;
};

// From now on the arenas of this thread are from there; of empty functions: from the GPU. What was taken is given to
// the functions of now.
void TakeArenasFrom(ArenaMemory memory);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_CUDA_ARENA_MEMORY_H_
