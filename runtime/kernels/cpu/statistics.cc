#include "runtime/kernels/statistics.h"

#include <algorithm>
#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/kernels/cpu/parallel.h"

namespace cleave::runtime {
namespace {

// The elements are taken in blocks, so that the result does not depend on the number of threads.
constexpr int64_t kStatisticsBlock = 4096;

template <typename T>
Statistics StatisticsOfBlock(const T* values, int64_t count) {
  Statistics block;
  block.count = static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(values[i]);
    block.squares += value * value;
    if (value == 0) ++block.zeros;
    if (value < block.least || value != value) block.least = value;
    if (value > block.most || value != value) block.most = value;
  }
  return block;
}

}  // namespace

template <typename T>
Statistics StatisticsOf(const T* values, int64_t count) {
  std::vector<Statistics> blocks(static_cast<size_t>((count + kStatisticsBlock - 1) / kStatisticsBlock));
#pragma omp parallel for if (count >= kParallelElements)
  for (int64_t i = 0; i < static_cast<int64_t>(blocks.size()); ++i) {
    blocks[static_cast<size_t>(i)] =
        StatisticsOfBlock(values + i * kStatisticsBlock, std::min(kStatisticsBlock, count - i * kStatisticsBlock));
  }
  Statistics all;
  for (const Statistics& block : blocks) all.Add(block);
  return all;
}

template Statistics StatisticsOf(const float*, int64_t);
template Statistics StatisticsOf(const BFloat16*, int64_t);
template Statistics StatisticsOf(const Float16*, int64_t);
template Statistics StatisticsOf(const int32_t*, int64_t);

}  // namespace cleave::runtime
