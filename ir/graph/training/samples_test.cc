#include "ir/graph/training/samples.h"

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

TEST(MadeSamplesTest, WhatIsToldCountsOverWhatASourceMakesByItself) {
  EXPECT_EQ(MadeSamplesOf({.kind = "digits", .path = "", .numbers = {}}), (MadeSamples{.train = 20000, .test = 4000}));
  EXPECT_EQ(MadeSamplesOf({.kind = "digits", .path = "", .numbers = {{"test", 8}}}),
            (MadeSamples{.train = 20000, .test = 8}));
  EXPECT_EQ(MadeSamplesOf({.kind = "synthetic", .path = "", .numbers = {{"train", 16}}}),
            (MadeSamples{.train = 16, .test = 0}));
  EXPECT_EQ(MadeSamplesOf({.kind = "mnist", .path = "data", .numbers = {}}), std::nullopt);
}

}  // namespace
}  // namespace cleave::ir
