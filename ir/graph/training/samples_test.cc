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

TEST(CustomData, StandsAloneOrInAMixture) {
  const DataSource digits = {.kind = "digits"}, custom = {.kind = "custom", .path = "own.h"};
  EXPECT_EQ(CustomDataOf(digits), nullptr);
  EXPECT_EQ(CustomDataOf(custom), &custom);
  const DataSource mixture = {.kind = "mix", .parts = {digits, custom}};
  EXPECT_EQ(CustomDataOf(mixture), &mixture.parts[1]);
  EXPECT_EQ(CustomDataOf({.kind = "mix", .parts = {digits, digits}}), nullptr);
}

}  // namespace
}  // namespace cleave::ir
