// Ranks may be threads of one process: each must compute as if it were alone.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "runtime/math/convolution.h"
#include "runtime/math/math.h"

namespace cleave::runtime {
namespace {

// A product and a convolution of ones; each result is the number of its products.
template <typename T>
void ExpectCounts(int64_t size) {
  const std::vector<T> ones(static_cast<size_t>(4 * size * size), T(1.0f));
  std::vector<T> results(static_cast<size_t>(size * size));
  for (int round = 0; round < 20; ++round) {
    MatMul({.m = size, .n = size, .k = size}, ones.data(), ones.data(), results.data(), ones.data());
    for (const T& result : results) ASSERT_EQ(static_cast<float>(result), size + 1);
    const Sliding whole = {.input = {0, size + 1}, .output = {0, size}, .kernel = 2};
    Conv2d({1, 2, 1, 2}, whole, whole, ones.data(), ones.data(), results.data());
    for (const T& result : results) ASSERT_EQ(static_cast<float>(result), 8);
  }
}

TEST(ThreadsTest, DoNotSeeEachOther) {
  std::vector<std::thread> threads;
  for (const int64_t size : {5, 8, 16, 5}) {
    threads.emplace_back([size] {
      ExpectCounts<float>(size);
      ExpectCounts<BFloat16>(size);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace cleave::runtime
