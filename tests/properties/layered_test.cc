// Programs of random models of layers train as their models do, whatever settings they are compiled with.

#include <cstdint>
#include <iostream>
#include <string>

#include "gtest/gtest.h"
#include "ir/testing/seed.h"
#include "tests/properties/layered_check.h"
#include "tests/support/command.h"

namespace cleave::tests::properties {
namespace {

// Parts run side by side.
class LayeredTest : public testing::TestWithParam<int> {};

TEST_P(LayeredTest, WhatRunsIsTheModel) {
  constexpr int64_t kModels = 15;
  const uint64_t first = ir::TestSeed() + static_cast<uint64_t>(GetParam()) * kModels;
  const LayeredReport report = CheckLayered(first, kModels, FreshFolder("layered_" + std::to_string(GetParam())));
  std::cout << report.Text() << "\n";
  EXPECT_TRUE(report.failures.empty()) << report.failures.front();
  EXPECT_GT(report.equal, kModels / 3);
}

INSTANTIATE_TEST_SUITE_P(Parts, LayeredTest, testing::Range(0, 4));

}  // namespace
}  // namespace cleave::tests::properties
