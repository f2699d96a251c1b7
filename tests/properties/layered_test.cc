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

// What once trained other numbers than the model's.
LayeredModel Uneven() {
  LayeredModel model;
  model.text = R"(
model Uneven(batch: int = 8) {
    input tokens: i32[batch, 8];
    input next: i32[batch, 8];
    let mut x = embedding(tokens, 20, 16) + position(8, 16);
    for i in 0..5 {
        x = block(x, 2);
    }
    loss cross_entropy(dense(layer_norm(x), 20), next);
}
train Uneven {
    data = synthetic(train = 32);
    optimizer = sgd(lr = 0.02);
    epochs = 100;
    steps = 4;
    checkpoint = every(4);
    log_every = 1;
}
)";
  return model;
}

// The pieces of a field, one for each micro-batch, begin elsewhere in the first layer.
TEST(LayersTest, StagesAreUneven) {
  LayeredModel model = Uneven();
  model.devices = 2;
  model.settings = {{"stages", "2"}, {"micro_batches", "4"}};
  EXPECT_EQ(CheckLayered(model, FreshFolder("uneven")).failure, "");
}

LayeredModel WithLoop(const std::string& image, const std::string& layer) {
  LayeredModel model;
  model.text = R"(
model Looped(batch: int = 8) {
    input image: f32[batch, )" +
               image + R"(];
    input label: i32[batch];
    let mut x = image;
    for i in 0..4 {
        x = )" +
               layer + R"(;
    }
    loss cross_entropy(dense(flatten(x), 10), label);
}
train Looped {
    data = synthetic(train = 32);
    optimizer = momentum(lr = 0.01, momentum = 0.9);
    epochs = 100;
    steps = 4;
    checkpoint = every(4);
    log_every = 1;
}
)";
  return model;
}

// The images of some layers lie in blocks of channels, and those of others do not.
TEST(LayersTest, ImagesLieOtherwise) {
  const LayeredModel model = WithLoop("3, 16, 16", "relu(conv2d(x, 16, 3, padding = 1))");
  EXPECT_EQ(CheckLayered(model, FreshFolder("images")).failure, "");
}

TEST(LayersTest, GroupsTakeTurns) {
  const LayeredModel model = WithLoop("16, 8, 8", "relu(conv2d(x, 16, 3, padding = 1, groups = 1 + 3 * (i % 2)))");
  EXPECT_EQ(CheckLayered(model, FreshFolder("groups")).failure, "");
}

// A field of the first layer is an input, which is another one in each micro-batch.
TEST(LayersTest, TheFirstLayerReadsAnInput) {
  LayeredModel model = WithLoop("16", "relu(dense(x, 16))");
  model.settings = {{"micro_batches", "4"}};
  EXPECT_EQ(CheckLayered(model, FreshFolder("input")).failure, "");
}

// Parts run side by side.
class LayeredTest : public testing::TestWithParam<int> {};

TEST_P(LayeredTest, WhatRunsIsTheModel) {
  constexpr int64_t kModels = 5;
  const uint64_t first = ir::TestSeed() + static_cast<uint64_t>(GetParam()) * kModels;
  const LayeredReport report = CheckLayered(first, kModels, FreshFolder("layered_" + std::to_string(GetParam())));
  std::cout << report.Text() << "\n";
  EXPECT_TRUE(report.failures.empty()) << report.failures.front();
  EXPECT_GT(report.equal, 0);
}

INSTANTIATE_TEST_SUITE_P(Parts, LayeredTest, testing::Range(0, 4));

}  // namespace
}  // namespace cleave::tests::properties
