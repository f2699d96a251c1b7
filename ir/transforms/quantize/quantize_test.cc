#include "ir/transforms/quantize/quantize.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/text.h"
#include "ir/testing/sources.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

OpId Frozen(GraphBuilder& builder, const std::string& name, const Shape& shape) {
  return AddParameter(builder, name, shape, {{attribute::kTrained, false}});
}

OpId Product(GraphBuilder& builder, OpId x, OpId weight, const std::string& name) {
  return builder.Add(OpKind::kMatmul, {x, weight}, {}, name);
}

Graph Loss(GraphBuilder builder, OpId y) {
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {y}, {}, "loss");
  return std::move(builder).Build();
}

std::vector<std::string> Dequantized(const Graph& graph) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kDequantize) names.push_back(op.name);
  }
  return names;
}

TEST(QuantizeTest, NumbersAndScalesInFrontOfTheFirstReader) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {4, 6});
  const OpId far = Frozen(builder, "far", {6, 5});
  const OpId weight = Frozen(builder, "weight", {6, 6});
  const OpId turned = builder.Add(OpKind::kTranspose, {weight}, {}, "turned");
  const OpId y = Product(builder, x, turned, "y");
  const OpId z = Product(builder, y, far, "z");
  Graph graph = Loss(std::move(builder), z);
  Pins pins;
  pins.pins = {{.op = weight, .demand = ReplicatePin(), .span = {}}};
  pins.regions = {{.name = "y", .ops = {turned, y}, .span = {}}};
  pins.stages = {{.op = turned, .stage = 1, .span = {}}};
  graph = Quantize(std::move(graph), {}, pins);
  EXPECT_THAT(VerifyGraph(graph), IsEmpty()) << GraphText(graph);
  std::vector<std::string> names;
  for (const Op& op : graph.ops) names.push_back(op.name);
  EXPECT_THAT(names, ElementsAre("x", "far_i8", "far_scale", "weight_i8", "weight_scale", "weight", "turned", "y",
                                 "far", "z", "loss"));
  EXPECT_EQ(graph.op(*graph.Find("weight_i8")).type.ToString(), "i8[6, 6]");
  EXPECT_EQ(graph.op(*graph.Find("weight_scale")).type.ToString(), "f32[6, 1]");
  EXPECT_EQ(graph.op(*graph.Find("weight_scale")).attributes.Get(attribute::kStores), "weight");
  EXPECT_EQ(pins.pins[0].op, *graph.Find("weight_i8"));
  EXPECT_THAT(pins.regions[0].ops, ElementsAre(*graph.Find("weight"), *graph.Find("turned"), *graph.Find("y")));
  ASSERT_EQ(pins.stages.size(), 2u);
  EXPECT_EQ(pins.stages[0].op, *graph.Find("weight"));
  std::vector<OpId> again;
  for (const RetentionPin& pin : pins.retentions) again.push_back(pin.op);
  EXPECT_THAT(again, ElementsAre(*graph.Find("weight"), *graph.Find("turned"), *graph.Find("far")));
  // In bf16 the op makes bf16 at once.
  const Graph rounded = ApplyPrecision(graph, Precision::kBf16).graph;
  EXPECT_THAT(VerifyGraph(rounded), IsEmpty());
  EXPECT_EQ(rounded.op(*rounded.Find("far")).type.ToString(), "bf16[6, 5]");
  EXPECT_EQ(rounded.op(*rounded.Find("far_scale")).type.dtype, DType::kF32);
  EXPECT_EQ(rounded.op(*rounded.Find("far_i8")).type.dtype, DType::kI8);
  EXPECT_EQ(GraphText(InF32(rounded)), GraphText(graph));
}

TEST(QuantizeTest, OnlyFactorsThatNothingChanges) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {4, 6});
  const OpId table = Frozen(builder, "table", {6, 6});
  const OpId rows = builder.Add(OpKind::kEmbedding, {AddInput(builder, "token", {4}, DType::kI32), table}, {}, "rows");
  OpId y = builder.Add(OpKind::kAdd, {rows, Product(builder, x, table, "tied")}, {}, "sum");
  y = Product(builder, y, AddParameter(builder, "trained", {6, 6}, {}), "y0");
  y = builder.Add(OpKind::kMul, {y, Frozen(builder, "vector", {6})}, {}, "y1");
  y = builder.Add(OpKind::kMul, {y, Frozen(builder, "matrix", {4, 6})}, {}, "y2");
  y = Product(builder, y, Frozen(builder, "factor", {6, 6}), "y3");
  Pins pins;
  const Graph graph = Quantize(Loss(std::move(builder), y), {.trains = false}, pins);
  EXPECT_THAT(VerifyGraph(graph), IsEmpty());
  EXPECT_THAT(Dequantized(graph), ElementsAre("factor"));
  EXPECT_THAT(pins.retentions, IsEmpty());
}

}  // namespace
}  // namespace cleave::ir
