#include "ir/graph/sliced_losses/sliced_losses.h"

#include <gtest/gtest.h>

#include "ir/graph/ops/builder.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

// The cross_entropy of a capped product.
struct Maker {
  Maker() {
    const auto source = [&](OpKind kind, DType type, Shape shape, const std::string& name) {
      const OpId id = builder.AddSource({type, std::move(shape)}, name);
      builder.mutable_graph().ops[id].kind = kind;
      if (kind == OpKind::kParameter) builder.mutable_graph().ops[id].attributes.Set(attribute::kTrained, true);
      return id;
    };
    const OpId x = source(OpKind::kParameter, DType::kF32, {2, 6, 3}, "x");
    const OpId weight = source(OpKind::kParameter, DType::kF32, {5, 3}, "weight");
    label = source(OpKind::kInput, DType::kI32, {2, 6}, "label");
    const OpId product = builder.Add(OpKind::kMatmul, {x, weight}, {{attribute::kTransposeB, true}}, "product");
    logits = builder.Add(OpKind::kTanh, {product}, {}, "logits");
    loss = builder.Add(OpKind::kCrossEntropy, {logits, label}, {}, "loss");
    result = loss;
  }

  std::variant<SlicedLoss, std::string> Find() {
    builder.mutable_graph().loss = result;
    graph = *Differentiate(std::move(builder).Build(), {});
    return FindSlicedLoss(graph, loss);
  }

  GraphBuilder builder;
  OpId label, logits, loss, result;
  Graph graph;
};

std::string ObstacleOf(Maker maker) {
  const auto found = maker.Find();
  return std::holds_alternative<std::string>(found) ? std::get<std::string>(found) : "";
}

TEST(SlicedLossesTest, GoesFromTheProductToTheLoss) {
  Maker maker;
  const auto found = maker.Find();
  ASSERT_TRUE(std::holds_alternative<SlicedLoss>(found)) << std::get<std::string>(found);
  const SlicedLoss& loss = std::get<SlicedLoss>(found);
  ASSERT_EQ(loss.ops.size(), 3);
  EXPECT_EQ(maker.graph.op(loss.ops[0].op).name, "product");
  EXPECT_EQ(loss.ops[2].result, SliceResult::kMean);
  EXPECT_EQ(loss.ops[2].places.size(), 2);
}

TEST(SlicedLossesTest, SaysWhatElseReadsTheLogits) {
  Maker maker;
  maker.builder.SetPhase(Phase::kMetric);
  maker.builder.Add(OpKind::kAccuracy, {maker.logits, maker.label}, {}, "accuracy");
  EXPECT_EQ(ObstacleOf(std::move(maker)), "`accuracy` reads `logits`");
}

}  // namespace
}  // namespace cleave::ir
