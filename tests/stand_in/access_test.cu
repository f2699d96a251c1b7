// Tests that accesses which a GPU does not forgive, or which come out by chance, end the process.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <csignal>
#include <vector>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/vector.cuh"
#include "runtime/device/device_vector.h"

namespace cleave::runtime {
namespace {

constexpr int kThreads = 64;

// What is missing between a write to shared memory and the read of another thread's value.
enum class Barrier { kNone, kOfWarp, kOfBlock };

template <Barrier kBarrier>
__global__ void Exchange(int partner, const int* x, int* y) {
  __shared__ int shared[kThreads];
  const int me = static_cast<int>(threadIdx.x);
  shared[me] = x[me];
  if (kBarrier == Barrier::kOfBlock) __syncthreads();
  if (kBarrier == Barrier::kOfWarp) __syncwarp();
  y[me] = shared[me ^ partner];
}

// A shuffle orders nothing in memory.
__global__ void ExchangeByShuffle(const int* x, int* y) {
  __shared__ int shared[kThreads];
  const int me = static_cast<int>(threadIdx.x);
  shared[me] = x[me];
  const int other = __shfl_xor_sync(0xFFFFFFFFu, me, 1);
  y[me] = shared[other];
}

// The second round overwrites what others may still read.
__global__ void RotateTwice(bool waits, int* x) {
  __shared__ int shared[kThreads];
  for (int round = 0; round < 2; ++round) {
    shared[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = shared[(threadIdx.x + 1) % kThreads];
    if (waits) __syncthreads();
  }
}

__global__ void ReverseInPlace(int64_t count, int* x) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) x[i] = x[count - 1 - i];
}

__global__ void CopyFours(int64_t fours, int offset, const float* x, float* y) {
  for (int64_t i = FirstElement(); i < fours; i += ElementStride()) Store(Load<4>(x + offset + 4 * i), y + 4 * i);
}

__global__ void Fill(int64_t count, int* x) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) x[i] = 1;
}

class AccessDeathTest : public testing::Test {
 protected:
  const DeviceVector<int> x_{std::vector<int>(1024, 1)};
  const DeviceVector<int> y_{std::vector<int>(1024, 1)};
  const int* const in_ = x_.get();
  int* const out_ = y_.get();
};

// Which of the two comes first is chance.
constexpr char kRace[] = "a thread (uses|writes) what another one (writes|reads), with no barrier between";
constexpr char kForbidden[] = "a thread touches memory that no kernel may touch";

#define EXPECT_REFUSED(launch, why) EXPECT_DEATH((launch, FinishWork()), why)

TEST_F(AccessDeathTest, SharedMemoryNeedsBarriers) {
  constexpr int kOfSameWarp = 1;
  constexpr int kOfOtherWarp = 32;
  Launch(Exchange<Barrier::kOfBlock>, {1, kThreads}, kOfOtherWarp, in_, out_);
  Launch(Exchange<Barrier::kOfWarp>, {1, kThreads}, kOfSameWarp, in_, out_);
  FinishWork();
  EXPECT_REFUSED(Launch(Exchange<Barrier::kNone>, {1, kThreads}, kOfSameWarp, in_, out_), kRace);
  EXPECT_REFUSED(Launch(Exchange<Barrier::kOfWarp>, {1, kThreads}, kOfOtherWarp, in_, out_), kRace);
  EXPECT_REFUSED(Launch(ExchangeByShuffle, {1, kThreads}, in_, out_), kRace);
}

TEST_F(AccessDeathTest, WhatIsReadIsNotOverwritten) {
  Launch(RotateTwice, {1, kThreads}, true, out_);
  FinishWork();
  EXPECT_REFUSED(Launch(RotateTwice, {1, kThreads}, false, out_), kRace);
}

TEST_F(AccessDeathTest, BlocksAreNotOrdered) {
  EXPECT_REFUSED(Launch(ReverseInPlace, {4, kThreads}, int64_t{4 * kThreads}, out_), kRace);
}

TEST_F(AccessDeathTest, KernelsStayInAllocations) {
  EXPECT_REFUSED(Launch(Fill, ForElements(1025), int64_t{1025}, out_), kForbidden);
  std::vector<int> host(16);
  EXPECT_REFUSED(Launch(Fill, ForElements(16), int64_t{16}, host.data()), kForbidden);
}

TEST_F(AccessDeathTest, VectorsAreAligned) {
  const DeviceVector<float> x(std::vector<float>(68, 1));
  const DeviceVector<float> y(std::vector<float>(64, 1));
  const float* const from = x.get();
  Launch(CopyFours, {1, kThreads}, int64_t{16}, 4, from, y.get());
  FinishWork();
  EXPECT_EXIT((Launch(CopyFours, {1, kThreads}, int64_t{16}, 1, from, y.get()), FinishWork()),
              testing::KilledBySignal(SIGILL), "");
}

}  // namespace
}  // namespace cleave::runtime
