// What is special about cuBLASLt: alignment, many batches, TF32.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "runtime/device/device_vector.h"
#include "runtime/error/warning.h"
#include "runtime/math/math.h"

namespace cleave::runtime {
namespace {

// c = a b, where a holds ones and b the numbers of its columns, at places that begin `offset` elements late. All
// numbers are exact in bf16.
template <typename T>
void ExpectProductAt(int64_t offset) {
  constexpr int64_t kSize = 7;
  std::vector<T> a(static_cast<size_t>(offset + kSize * kSize), T(1.0f));
  std::vector<T> b = a;
  for (int64_t i = 0; i < kSize * kSize; ++i) {
    b[static_cast<size_t>(offset + i)] = static_cast<T>(static_cast<float>(i % kSize));
  }
  const DeviceVector<T> device_a(a), device_b(b), c(static_cast<int64_t>(a.size()));
  MatMul({.m = kSize, .n = kSize, .k = kSize}, device_a.get() + offset, device_b.get() + offset, c.get() + offset,
         device_b.get() + offset);
  const std::vector<T> values = c.Values();
  for (int64_t i = 0; i < kSize * kSize; ++i) {
    const float value = values[static_cast<size_t>(offset + i)];
    ASSERT_EQ(value, (kSize + 1) * (i % kSize)) << "element " << i;
  }
}

// The same shape is used again and again: a kernel that was chosen for aligned matrices must not get others.
TEST(CublasTest, PlacesMayBeAlignedToOneElementOnly) {
  for (const int64_t offset : {0, 1, 2, 3, 4, 8, 16, 64, 5, 0}) {
    SCOPED_TRACE(testing::Message() << "offset " << offset);
    ExpectProductAt<float>(offset);
    ExpectProductAt<BFloat16>(offset);
  }
}

// GPUs differ in what they have kernels for.
TEST(CublasTest, WhatTheLibraryDoesNotComputeIsCountedAndSaidOnce) {
  constexpr int kCalls = 3;
  std::string expected;
  testing::internal::CaptureStderr();
  std::thread rank([&] {
    for (int i = 0; i < kCalls; ++i) ExpectProductAt<BFloat16>(1);
    for (const auto& [kind, calls] : Fallbacks()) {
      EXPECT_EQ(calls, kCalls) << kind;
      expected += std::string("warning: cuBLASLt does not ") + (kind == "biases" ? "add the bias of" : "compute") +
                  " a product of 1 times 7 x 7 and 7 x 7; kernels of this program do, which take longer\n";
    }
  });
  rank.join();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), expected);
}

TEST(CublasTest, MoreBatchesThanAGridHasBlocks) {
  constexpr int64_t kBatches = 65535 + 20;
  std::vector<float> a(kBatches * 2), b(kBatches * 2), expected;
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 251);
    b[i] = static_cast<float>(i % 7);
  }
  for (size_t i = 0; i < kBatches; ++i) expected.push_back(a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]);
  const DeviceVector<float> device_a(a), device_b(b), c(kBatches);
  MatMul({.batch = kBatches, .m = 1, .n = 1, .k = 2}, device_a.get(), device_b.get(), c.get());
  EXPECT_EQ(c.Values(), expected);
}

// 1 + 2^-12 has one digit more than TF32 keeps.
TEST(CublasTest, Tf32IsUsedWhereItIsAskedFor) {
  constexpr int64_t kSize = 128;
  constexpr float kLong = 1.0f + 1.0f / 4096;
  const std::vector<float> ones(kSize * kSize, 1.0f);
  const DeviceVector<float> a(std::vector<float>(kSize * kSize, kLong)), b(ones), c(kSize * kSize);
  const auto first = [&] {
    MatMul({.m = kSize, .n = kSize, .k = kSize}, a.get(), b.get(), c.get());
    return c.Values()[0];
  };
  EXPECT_EQ(first(), kSize * kLong);
  SetMatMulPrecision(Precision::kTf32);
  EXPECT_EQ(first(), kSize);
  SetMatMulPrecision(Precision::kF32);
  EXPECT_EQ(first(), kSize * kLong);
}

TEST(CublasDeathTest, AFailureNamesTheShape) {
  const DeviceVector<float> a(std::vector<float>(12, 1.0f));
  EXPECT_EXIT(MatMul({.m = 2, .n = 4, .k = 3, .transpose_b = true}, a.get(), a.get(), static_cast<float*>(nullptr)),
              testing::ExitedWithCode(6),
              "cuBLASLt failed in a product of 1 times 2 x 3 and 3 x 4, the second stored transposed: ");
}

}  // namespace
}  // namespace cleave::runtime
