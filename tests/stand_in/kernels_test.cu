// Tests what kernels may rely on: their place, barriers, shared memory, shuffles.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/device_vector.h"

namespace cleave::runtime {
namespace {

__global__ void AddOne(int64_t count, float* x) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) x[i] += 1.0f;
}

TEST(StandIn, EveryThreadOfEveryBlockRunsOnce) {
  for (const int64_t count : {0, 1, 31, 256, 257, 100000}) {
    const DeviceVector<float> x(std::vector<float>(static_cast<size_t>(count), 0.5f));
    Launch(AddOne, ForElements(count), count, x.get());
    EXPECT_EQ(x.Values(), std::vector<float>(static_cast<size_t>(count), 1.5f));
  }
}

// Each thread writes to the place of another one, in two rounds. The result is right only if all threads wait for all
// others between the rounds.
__global__ void Rotate(int* x) {
  __shared__ int shared[256];
  shared[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  const int next = shared[(threadIdx.x + 1) % blockDim.x];
  __syncthreads();
  shared[threadIdx.x] = next;
  __syncthreads();
  x[blockIdx.x * blockDim.x + threadIdx.x] = shared[(threadIdx.x + 1) % blockDim.x];
}

TEST(StandIn, BarriersOrderWhatThreadsOfABlockDo) {
  for (const int threads : {1, 32, 96, 256}) {
    std::vector<int> values(static_cast<size_t>(3 * threads));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
    const DeviceVector<int> x(values);
    Launch(Rotate, {3, threads}, x.get());
    const std::vector<int> rotated = x.Values();
    for (int i = 0; i < 3 * threads; ++i) {
      EXPECT_EQ(rotated[static_cast<size_t>(i)], i / threads * threads + (i + 2) % threads) << threads;
    }
  }
}

__global__ void SumOfWarps(const float* x, float* sums) {
  float sum = x[threadIdx.x];
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, lanes);
  sums[threadIdx.x] = sum;
}

TEST(StandIn, ButterflySumsReachEveryLane) {
  std::vector<float> values(64);
  for (size_t i = 0; i < 64; ++i) values[i] = static_cast<float>(i);
  const DeviceVector<float> x(values);
  const DeviceVector<float> sums(values);
  Launch(SumOfWarps, {1, 64}, x.get(), sums.get());
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(sums.Values()[i], i < 32 ? 496.0f : 1520.0f);
}

__global__ void Shuffles(int* down, int* up, int* of_eight, double* carried, unsigned* votes) {
  const int lane = static_cast<int>(threadIdx.x);
  down[lane] = __shfl_down_sync(0xFFFFFFFFu, lane, 3);
  up[lane] = __shfl_up_sync(0xFFFFFFFFu, lane, 3);
  of_eight[lane] = __shfl_sync(0xFFFFFFFFu, lane, 2, 8);
  carried[lane] = __shfl_sync(0xFFFFFFFFu, lane / 3.0, 31);
  votes[lane] = __ballot_sync(0xFFFFFFFFu, lane % 5 == 0);
}

TEST(StandIn, ShufflesGiveWhatTheLaneHas) {
  const std::vector<int> none(32);
  const DeviceVector<int> down(none), up(none), of_eight(none);
  const DeviceVector<double> carried(std::vector<double>(32));
  const DeviceVector<unsigned> votes(std::vector<unsigned>(32));
  Launch(Shuffles, {1, 32}, down.get(), up.get(), of_eight.get(), carried.get(), votes.get());
  for (int lane = 0; lane < 32; ++lane) {
    const size_t i = static_cast<size_t>(lane);
    EXPECT_EQ(down.Values()[i], lane + 3 < 32 ? lane + 3 : lane);
    EXPECT_EQ(up.Values()[i], lane >= 3 ? lane - 3 : lane);
    EXPECT_EQ(of_eight.Values()[i], lane / 8 * 8 + 2);
    EXPECT_EQ(carried.Values()[i], 31 / 3.0);
    EXPECT_EQ(votes.Values()[i], 0x42108421u);
  }
}

// Nobody waits for threads that have ended.
__global__ void HalfEnds(int* x) {
  if (threadIdx.x >= 40) return;
  x[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 40; ++i) x[0] += x[i];
  }
}

TEST(StandIn, BarriersDoNotWaitForThreadsThatHaveEnded) {
  const DeviceVector<int> x(std::vector<int>(64));
  Launch(HalfEnds, {1, 64}, x.get());
  EXPECT_EQ(x.Values()[0], 40);
}

__global__ void DifferentBarriers() {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

__global__ void ReadsFromTheDead(float* x) {
  if (threadIdx.x == 31) return;
  x[threadIdx.x] = __shfl_sync(0xFFFFFFFFu, x[threadIdx.x], 31);
}

TEST(StandInDeathTest, RefusesWhatNeverEndsOrIsNotDefined) {
  EXPECT_DEATH((Launch(DifferentBarriers, {1, 32}), FinishWork()), "threads of a block wait at different barriers");
  EXPECT_DEATH(__syncthreads(), "outside a kernel");
  EXPECT_DEATH(
      {
        const DeviceVector<float> x(std::vector<float>(32));
        Launch(ReadsFromTheDead, {1, 32}, x.get());
        FinishWork();
      },
      "a lane that is not there, or has ended");
}

__global__ void FillShared(float* x) {
  auto* const shared = reinterpret_cast<float*>(DynamicShared());
  x[threadIdx.x] = shared[threadIdx.x];
  shared[threadIdx.x] = 1.0f;
}

TEST(StandIn, DynamicSharedMemoryIsTheBlocksAndNotANumberAtFirst) {
  const DeviceVector<float> x(std::vector<float>(32));
  Launch(FillShared, {2, 32, 128}, x.get());
  for (const float value : x.Values()) EXPECT_TRUE(std::isnan(value));
}

__global__ void Copy4(int64_t quads, const float4* from, float4* to) {
  for (int64_t i = FirstElement(); i < quads; i += ElementStride()) to[i] = from[i];
}

TEST(StandIn, VectorsAreFourNumbersInARow) {
  static_assert(sizeof(float4) == 16 && alignof(float4) == 16 && sizeof(float3) == 12 && alignof(float2) == 8, "");
  static_assert(sizeof(ushort4) == 8 && alignof(ushort4) == 8 && alignof(uchar4) == 4 && alignof(int4) == 16, "");
  std::vector<float> values(400);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const DeviceVector<float> from(values);
  const DeviceVector<float> to(std::vector<float>(400));
  Launch(Copy4, ForElements(100), int64_t{100}, reinterpret_cast<const float4*>(from.get()),
         reinterpret_cast<float4*>(to.get()));
  EXPECT_EQ(to.Values(), values);
}

__global__ void Count(unsigned* counter, int* largest) {
  atomicAdd(counter, 2u);
  atomicMax(largest, static_cast<int>(threadIdx.x * 7 % 32));
}

TEST(StandIn, AtomicsOfIntegers) {
  const DeviceVector<unsigned> counter(std::vector<unsigned>{0});
  const DeviceVector<int> largest(std::vector<int>{-5});
  Launch(Count, {4, 32}, counter.get(), largest.get());
  EXPECT_EQ(counter.Values()[0], 256u);
  EXPECT_EQ(largest.Values()[0], 31);
}

TEST(StandIn, RefusesShapesThatNoDeviceHas) {
  const auto launch = [](dim3 blocks, dim3 threads, size_t shared_bytes) {
    StandInLaunch(reinterpret_cast<const void*>(FillShared), blocks, threads, shared_bytes, nullptr, [] {});
    return cudaGetLastError();
  };
  for (const dim3 threads : {dim3(0), dim3(1025), dim3(32, 33), dim3(1, 1, 65)})
    EXPECT_EQ(launch(1, threads, 0), cudaErrorInvalidConfiguration);
  for (const dim3 blocks : {dim3(0), dim3(1, 0), dim3(1, 0x10000), dim3(1, 1, 0x10000)})
    EXPECT_EQ(launch(blocks, 1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, 1, 48 << 10), cudaSuccess);
  EXPECT_EQ(launch(1, 1, (48 << 10) + 1), cudaErrorInvalidValue);
  const auto allow = [](int bytes) {
    return cudaFuncSetAttribute(reinterpret_cast<const void*>(FillShared), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                bytes);
  };
  EXPECT_EQ(allow((227 << 10) + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(allow(64 << 10), cudaSuccess);
  EXPECT_EQ(launch(1, 1, 64 << 10), cudaSuccess);
  EXPECT_EQ(launch(1, 1, (64 << 10) + 1), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace cleave::runtime
