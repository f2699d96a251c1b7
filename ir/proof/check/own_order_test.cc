#include "ir/proof/check/own_order.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/proof/check/check.h"
#include "ir/testing/graphs.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/sources.h"
#include "ir/transforms/distribute/distribute.h"
#include "ir/transforms/zigzag/zigzag.h"

namespace cleave::ir {
namespace {

// Attention of rows with themselves, by one weight, and the training graph of its rows in two pairs.
Graph RowsInPairs() {
  GraphBuilder b;
  const OpId x = AddInput(b, "x", {2, 8, 2, 4});
  const OpId weight = AddParameter(b, "weight", {4, 4});
  const OpId q =
      b.Add(OpKind::kRope, {b.Add(OpKind::kMatmul, {x, weight}, {}, "product")}, {{attribute::kAxis, 1}}, "q");
  const Attributes sight = {{attribute::kCausal, true}, {attribute::kHeadsInside, std::vector<int64_t>{1, 1, 1, 1}}};
  const OpId sums = b.Add(OpKind::kAttentionLogsumexp, {q, q}, sight, "sums");
  const OpId y = b.Add(OpKind::kAttention, {q, q, x, sums}, sight, "y");
  b.mutable_graph().loss = b.Add(OpKind::kMse, {y, AddInput(b, "target", {2, 8, 2, 4})}, {}, "loss");
  Pins pins;
  return TrainingGraph(WithZigzag(std::move(b).Build(), 2, pins), {.kind = TestOptimizer::Kind::kSgd, .rate = 0.1});
}

TEST(OwnOrderTest, SplitsOfRowsInPairsAreProven) {
  const Graph graph = RowsInPairs();
  Random random(5);
  for (int i = 0; i < 8; ++i) {
    const absl::StatusOr<Distributed> distributed = Distribute(graph, RandomPlan(graph, Mesh::OfDevices(4), random));
    ASSERT_TRUE(distributed.ok()) << distributed.status();
    const absl::StatusOr<Program> program = Partition(distributed->graph, distributed->plan);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_THAT(CheckStatically(*program), ::testing::IsEmpty());
    const auto report = CheckBySimulation(graph, *distributed, *program, {.in_zigzag = true});
    EXPECT_TRUE(report.ok()) << report.status();
  }
}

TEST(OwnOrderTest, AnOrderThatIsWrongSomewhereIsNamed) {
  const Graph graph = RowsInPairs();
  EXPECT_TRUE(CompareInOwnOrder(graph).ok());
  int wrong = 0;
  for (const Op& op : graph.ops) {
    if (!op.attributes.Has(attribute::kZigzag)) continue;
    Graph other = graph;
    Attributes& attributes = other.ops[op.id].attributes;
    if (op.kind == OpKind::kZigzag) {
      attributes.Set(attribute::kInverse, !attributes.Get(attribute::kInverse));
    } else {
      attributes.Set(attribute::kZigzag, 0);
    }
    EXPECT_THAT(std::string(CompareInOwnOrder(other).message()), ::testing::HasSubstr("with rows in zigzag order"))
        << op.name;
    ++wrong;
  }
  EXPECT_GE(wrong, 8);
}

}  // namespace
}  // namespace cleave::ir
