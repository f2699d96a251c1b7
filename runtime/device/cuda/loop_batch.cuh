// Loops over tensors of different sizes that one kernel runs at the same time.
//
//   struct AddLoop {
//     int64_t count;
//     const float* x;
//     float* y;
//   };
//   template <int kWidth>
//   __global__ void Add(LoopBatch<AddLoop> batch) {
//     const BatchPart part = PartOfBlock<kWidth>(batch);
//     const AddLoop of = batch.loops[part.loop];
//     for (int64_t i = part.begin; i < part.end; i += part.stride) {
//       Vector<float, kWidth> y = Load<kWidth>(of.y + i); …
//     }
//   }
//   LaunchBatch(Add<4>, std::vector<AddLoop>{{3, a, b}, {1000003, c, d}});
//
// Loops are taken apart into parts of one size, one for each block. The table of the loops is a parameter of the
// kernel. Parameters of a kernel have 4 KiB on all devices, so that longer lists are several launches.
//
// A thread takes groups of kWidth elements, also where the last one is not whole. REQUIRES: tensors begin at multiples
// of 64 bytes, and nothing else lies between their end and the next one.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_LOOP_BATCH_CUH_
#define CLEAVE_RUNTIME_DEVICE_CUDA_LOOP_BATCH_CUH_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/device/cuda/cuda.h"

namespace cleave::runtime {

// The elements that the threads of a block take at once, at most: a part has a multiple of them.
constexpr int64_t kBatchElements = int64_t{8} * kThreadsPerBlock;

template <typename Loop>
struct LoopBatch {
  static constexpr size_t kBytes = 4096 - 512;  // Of the parameters; the rest is for those of the kernel itself.
  static constexpr int kMost = static_cast<int>((kBytes - 16) / (sizeof(Loop) + sizeof(int)));

  Loop loops[kMost];
  int first_blocks[kMost];  // Of each loop.
  int count = 0;
  int64_t part = 0;  // Elements of a block.
};

// What a thread works on: every `stride`-th element from `begin` on, and its neighbours.
struct BatchPart {
  int loop = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t stride = 0;
};

// Which of several pieces of work, of which the first blocks are given, has this block: the last that begins at it or
// before it; others that begin there are empty.
__device__ inline int PieceOfBlock(const int* first_blocks, int count) {
  const int block = static_cast<int>(blockIdx.x);
  int low = 0, high = count - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (first_blocks[middle] <= block) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

template <int kWidth, typename Loop>
__device__ inline BatchPart PartOfBlock(const LoopBatch<Loop>& batch) {
  const int block = static_cast<int>(blockIdx.x), own = PieceOfBlock(batch.first_blocks, batch.count);
  const int64_t begin = (block - batch.first_blocks[own]) * batch.part;
  const int64_t count = batch.loops[own].count;
  const int64_t end = begin + batch.part < count ? begin + batch.part : count;
  return {own, begin + static_cast<int64_t>(kWidth) * threadIdx.x, end, static_cast<int64_t>(kWidth) * blockDim.x};
}

template <typename Loop, typename... Parameters, typename... Arguments>
void LaunchBatch(void (*kernel)(LoopBatch<Loop>, Parameters...), const std::vector<Loop>& loops,
                 Arguments... arguments) {
  static_assert(LoopBatch<Loop>::kMost > 0, "a loop has too many tensors");
  const auto round_up = [](int64_t count, int64_t to) { return (count + to - 1) / to * to; };
  for (size_t first = 0; first < loops.size(); first += LoopBatch<Loop>::kMost) {
    LoopBatch<Loop> batch;
    batch.count = static_cast<int>(std::min<size_t>(LoopBatch<Loop>::kMost, loops.size() - first));
    std::copy_n(loops.begin() + static_cast<std::ptrdiff_t>(first), batch.count, batch.loops);
    int64_t elements = 0;
    for (int i = 0; i < batch.count; ++i) elements += batch.loops[i].count;
    // About as many blocks as ForElements has at most.
    batch.part = std::max(kBatchElements, round_up(elements / (int64_t{32} * Multiprocessors()), kBatchElements));
    int64_t blocks = 0;
    for (int i = 0; i < batch.count; ++i) {
      batch.first_blocks[i] = static_cast<int>(blocks);
      blocks += round_up(batch.loops[i].count, batch.part) / batch.part;
    }
    Launch(kernel, {blocks, kThreadsPerBlock}, batch, arguments...);
  }
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_CUDA_LOOP_BATCH_CUH_
