#include <gtest/gtest.h>

#include "runtime/device/device.h"

namespace cleave::runtime {
namespace {

TEST(Arena, IsAlignedAndZero) {
  const Arena arena(1000);
  EXPECT_EQ(arena.bytes(), 1024);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.At<float>(0)) % Arena::kAlignment, 0u);
  for (int64_t i = 0; i < 250; ++i) EXPECT_EQ(arena.At<float>(0)[i], 0.0f);
  EXPECT_EQ(arena.At<char>(64), arena.At<char>(0) + 64);
}

TEST(Arena, MayBeEmpty) { EXPECT_EQ(Arena(0).bytes(), 0); }

TEST(Arena, TooLargeEndsTheProgramWithNumbers) {
  EXPECT_EXIT(Arena(int64_t{1} << 55), testing::ExitedWithCode(6),
              "out of memory: asked for 36028797018963968 bytes; the plan predicts that this rank needs "
              "36028797018963968, the machine has [0-9]+ left");
}

TEST(Arena, WhatIsNeededBesideItCounts) {
  EXPECT_EXIT(Arena(1024, int64_t{1} << 55), testing::ExitedWithCode(6),
              "asked for 1024 bytes; the plan predicts that this rank needs 36028797018963968, the machine has");
}

}  // namespace
}  // namespace cleave::runtime
