#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "runtime/device/device_vector.h"

namespace cleave::runtime {
namespace {

TEST(GuardDeathTest, TheHostCannotTouchTheDevicesMemory) {
  const DeviceVector<float> x({1.0f, 2.0f});
  EXPECT_EQ(x.Values(), (std::vector<float>{1.0f, 2.0f}));
  EXPECT_EXIT(std::printf("%f", static_cast<double>(x.get()[0])), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(x.get()[0] = 3.0f, testing::KilledBySignal(SIGSEGV), "");
}

TEST(Guard, WorkOfTheDeviceCan) {
  const DeviceVector<float> x({1.0f, 2.0f});
  float* const place = x.get();
  EXPECT_EQ(StandInEnqueue(nullptr, [place] { place[1] = 5.0f; }), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(x.Values()[1], 5.0f);
}

}  // namespace
}  // namespace cleave::runtime
