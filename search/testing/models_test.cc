#include "search/testing/models.h"

#include <algorithm>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "search/testing/image_models.h"
#include "search/testing/small_graphs.h"

namespace cleave::search::testing {
namespace {

using Problems = std::vector<std::string>;

int64_t Parameters(const ir::Graph& graph) {
  int64_t count = 0;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kParameter) count += op.type.bytes().value() / 4;
  }
  return count;
}

int Products(const ir::Graph& graph) {
  return static_cast<int>(std::count_if(graph.ops.begin(), graph.ops.end(), [](const ir::Op& op) {
    return op.phase == ir::Phase::kForward && ir::DefinitionOf(op).op_class == ir::OpClass::kProduct;
  }));
}

TEST(ModelsTest, HaveTheirPublishedNumbersOfParameters) {
  // Table 2.1 of the paper: 175.0 billion.
  EXPECT_NEAR(static_cast<double>(Parameters(Gpt(Gpt3(1)))), 175e9, 1e9);
  // ResNet-18 on ImageNet without the 9,600 parameters of its normalisations.
  const ir::Graph resnet = ResNet({.batch = 2, .size = 224, .channels = 64, .blocks = {2, 2, 2, 2}, .classes = 1000});
  EXPECT_EQ(Parameters(resnet), 11689512 - 9600);
  EXPECT_EQ(Products(resnet), 18 + 3);  // And the three shortcuts.
}

TEST(ModelsTest, AreSound) {
  EXPECT_EQ(ir::VerifyGraph(ResNet({})), Problems{});
  EXPECT_EQ(ir::VerifyGraph(UNet({})), Problems{});
  EXPECT_EQ(ir::VerifyGraph(MixtureOfExperts({})), Problems{});
  EXPECT_EQ(ir::VerifyGraph(Gpt({})), Problems{});
}

TEST(ModelsTest, AUNetGivesImagesOfTheSizeItGets) {
  const ir::Graph graph = UNet({.batch = 2, .size = 16, .channels = 4, .levels = 3});
  EXPECT_EQ(graph.op(*graph.Find("result")).type.shape, (ir::Shape{2, 1, 16, 16}));
}

TEST(SmallGraphsTest, AreSoundAndWithinTheirBounds) {
  const SmallGraphOptions options{.most_products = 3, .most_light_ops = 2, .largest_size = 5};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const ir::Graph graph = RandomSmallGraph(seed, options);
    ASSERT_EQ(ir::VerifyGraph(graph), Problems{});
    EXPECT_GE(Products(graph), 2);
    EXPECT_LE(Products(graph), options.most_products);
    for (const ir::Op& op : graph.ops) {
      for (int64_t size : op.type.shape) EXPECT_LE(size, options.largest_size) << op.name;
    }
  }
}

TEST(SmallGraphsTest, HaveEveryKindOfOpAndSharedWeights) {
  std::set<ir::OpKind> kinds;
  bool shared = false;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const ir::Graph graph = RandomSmallGraph(seed);
    EXPECT_EQ(graph, RandomSmallGraph(seed));
    for (const ir::Op& op : graph.ops) {
      if (op.phase == ir::Phase::kForward) kinds.insert(op.kind);
      const auto reads = [&](const ir::Op& reader) {
        return reader.phase == ir::Phase::kForward && std::count(reader.inputs.begin(), reader.inputs.end(), op.id) > 0;
      };
      shared =
          shared || (op.kind == ir::OpKind::kParameter && std::count_if(graph.ops.begin(), graph.ops.end(), reads) > 1);
    }
  }
  EXPECT_EQ(kinds, (std::set<ir::OpKind>{ir::OpKind::kAdd, ir::OpKind::kBiasAdd, ir::OpKind::kCrossEntropy,
                                         ir::OpKind::kInput, ir::OpKind::kMatmul, ir::OpKind::kMse, ir::OpKind::kMul,
                                         ir::OpKind::kParameter, ir::OpKind::kRelu, ir::OpKind::kReshape,
                                         ir::OpKind::kSoftmax, ir::OpKind::kTranspose}));
  EXPECT_TRUE(shared);
}

}  // namespace
}  // namespace cleave::search::testing
