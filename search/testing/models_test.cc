#include "search/testing/models.h"

#include <algorithm>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "search/testing/image_models.h"
#include "search/testing/small_graphs.h"

namespace cleave::testing {
namespace {

using Problems = std::vector<std::string>;

int64_t Parameters(const Graph& graph) {
  int64_t count = 0;
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kParameter) count += op.type.bytes().value() / 4;
  }
  return count;
}

int Products(const Graph& graph) {
  return static_cast<int>(std::count_if(graph.ops.begin(), graph.ops.end(), [](const Op& op) {
    return op.phase == Phase::kForward && DefinitionOf(op).op_class == OpClass::kProduct;
  }));
}

TEST(ModelsTest, HaveTheirPublishedNumbersOfParameters) {
  // Table 2.1 of the paper: 175.0 billion.
  EXPECT_NEAR(static_cast<double>(Parameters(Gpt(Gpt3(1)))), 175e9, 1e9);
  // ResNet-18 on ImageNet without the 9,600 parameters of its normalisations.
  const Graph resnet = ResNet({.batch = 2, .size = 224, .channels = 64, .blocks = {2, 2, 2, 2}, .classes = 1000});
  EXPECT_EQ(Parameters(resnet), 11689512 - 9600);
  EXPECT_EQ(Products(resnet), 18 + 3);  // And the three shortcuts.
}

TEST(ModelsTest, AreSound) {
  EXPECT_EQ(VerifyGraph(ResNet({})), Problems{});
  EXPECT_EQ(VerifyGraph(UNet({})), Problems{});
  EXPECT_EQ(VerifyGraph(MixtureOfExperts({})), Problems{});
  EXPECT_EQ(VerifyGraph(Gpt({})), Problems{});
}

TEST(ModelsTest, AUNetGivesImagesOfTheSizeItGets) {
  const Graph graph = UNet({.batch = 2, .size = 16, .channels = 4, .levels = 3});
  EXPECT_EQ(graph.op(*graph.Find("result")).type.shape, (Shape{2, 1, 16, 16}));
}

TEST(SmallGraphsTest, AreSoundAndWithinTheirBounds) {
  const SmallGraphOptions options{.most_products = 3, .most_light_ops = 2, .largest_size = 5};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = RandomSmallGraph(seed, options);
    ASSERT_EQ(VerifyGraph(graph), Problems{});
    EXPECT_GE(Products(graph), 2);
    EXPECT_LE(Products(graph), options.most_products);
    for (const Op& op : graph.ops) {
      for (int64_t size : op.type.shape) EXPECT_LE(size, options.largest_size) << op.name;
    }
  }
}

TEST(SmallGraphsTest, HaveEveryKindOfOpAndSharedWeights) {
  std::set<OpKind> kinds;
  bool shared = false;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = RandomSmallGraph(seed);
    EXPECT_EQ(graph, RandomSmallGraph(seed));
    for (const Op& op : graph.ops) {
      if (op.phase == Phase::kForward) kinds.insert(op.kind);
      const auto reads = [&](const Op& reader) {
        return reader.phase == Phase::kForward && std::count(reader.inputs.begin(), reader.inputs.end(), op.id) > 0;
      };
      shared =
          shared || (op.kind == OpKind::kParameter && std::count_if(graph.ops.begin(), graph.ops.end(), reads) > 1);
    }
  }
  EXPECT_EQ(kinds, (std::set<OpKind>{OpKind::kAdd, OpKind::kBiasAdd, OpKind::kCrossEntropy, OpKind::kInput,
                                     OpKind::kMatmul, OpKind::kMse, OpKind::kMul, OpKind::kParameter, OpKind::kRelu,
                                     OpKind::kReshape, OpKind::kSoftmax, OpKind::kTranspose}));
  EXPECT_TRUE(shared);
}

}  // namespace
}  // namespace cleave::testing
