// Private to tests/stand_in: runs the threads of one block on the calling thread.
//
// Threads are fibers. A thread that meets no barrier needs no switch: one fiber runs thread after thread to its end;
// when a thread has to wait at a barrier, its fiber waits with it and another one goes on with the threads that have
// not begun.
#ifndef STAND_IN_BLOCK_H_
#define STAND_IN_BLOCK_H_

#include <cstddef>
#include <functional>

#include "stand_in/in_kernels.h"

namespace stand_in {

// Called before the blocks of a launch run. A number that is another one in each launch, chosen by the seed
// (schedule.h).
uint64_t BeginLaunch();

// Runs `thread` for each thread of a block of `shape` with this much dynamic shared memory; blockIdx, blockDim and
// gridDim are set. Ends the process with a message where threads wait for each other forever.
void RunBlock(const dim3& shape, size_t shared_bytes, const std::function<void()>& thread);

// Whether the last thread of a block runs first: it does in about half of the launches, so that what threads that race
// leave behind differs from launch to launch.
bool Reversed();

// Of the block that runs.
size_t DynamicSharedBytes();

// Whether the caller is a thread of a kernel.
bool InKernel();

// Prints what forbidden thing a program did, and aborts.
[[noreturn]] void Refuse(const char* what);

}  // namespace stand_in

#endif  // STAND_IN_BLOCK_H_
