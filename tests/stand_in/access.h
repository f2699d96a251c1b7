// Private to tests/stand_in: what a thread of a kernel reads and writes, looked at one access after another.
//
// Code that is compiled with `-fsanitize=thread` calls a function before each access. Here these are ours, and no
// library of the compiler is linked: the stand-in, which is compiled with `-DSTAND_IN_CHECKS_ACCESS` and without that
// option, ends the process where a thread of a block
// - touches memory that is neither its own, nor the block's, nor in an allocation of the device, nor pinned;
// - reads or writes what another thread writes, without a barrier between them: of the block, or of the warp if both
//   are in one, and for memory of the device also where the other is in another block of the launch;
// - uses an address that is no multiple of what it moves.
//
// Not seen: copies by memcpy, atomic operations, and an access so long ago that others took its place in the table.
// Kernels take about ten times as long.
#ifndef STAND_IN_ACCESS_H_
#define STAND_IN_ACCESS_H_

#include <cstdint>

namespace stand_in {

// Where the calling thread of the host is in a kernel.
struct InBlock {
  bool is_running = false;     // The kernel itself, not what stands around it.
  uint32_t launch = 0;         // Of all launches of the calling thread.
  uint32_t block = 0;          // Of all blocks.
  uint32_t barriers = 0;       // That the block has passed.
  uint32_t warp_barriers = 0;  // That the thread's warp has passed.
  uint32_t thread = 0;         // In the block.
  // The memory of the thread itself, and the arguments of the kernel.
  const char* stack = nullptr;
  const char* stack_end = nullptr;
  const char* arguments = nullptr;
  const char* arguments_end = nullptr;
};

inline thread_local InBlock in_block;

}  // namespace stand_in

#endif  // STAND_IN_ACCESS_H_
