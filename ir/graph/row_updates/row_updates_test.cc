#include "ir/graph/row_updates/row_updates.h"

#include <functional>

#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

// A table [9, 2], its gradient by three numbers, a state and a rate.
struct Step {
  GraphBuilder builder;
  OpId table, ids, state, rate, gradient;

  Step() {
    table = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{9, 2}}}, "table");
    ids = builder.Add(
        OpKind::kInput, {},
        {{attribute::kDType, DType::kI32}, {attribute::kShape, Shape{3}}, {attribute::kData, std::string("ids")}},
        "ids");
    const OpId rows = builder.Add(OpKind::kEmbedding, {ids, table}, {}, "rows");
    builder.SetPhase(Phase::kBackward);
    gradient = builder.Add(OpKind::kEmbeddingGradient, {rows, ids}, {{attribute::kRows, 9}}, "table.grad");
    builder.mutable_graph().ops[gradient].gradient_of = table;
    builder.SetPhase(Phase::kUpdate);
    state = builder.Add(OpKind::kState, {}, {{attribute::kShape, Shape{9, 2}}}, "state");
    rate = builder.Add(OpKind::kStepScalar, {}, {{attribute::kFormula, std::string("0.1")}}, "rate");
  }

  OpId Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes = {}) {
    return builder.Add(kind, std::move(inputs), std::move(attributes), OpKindName(kind).data());
  }
  void Update(OpId kept, OpId value) { builder.mutable_graph().updates.push_back({.state = kept, .value = value}); }
  void Descend(OpId gradient_of_step) {
    Update(table, Add(OpKind::kSub, {table, Add(OpKind::kMul, {gradient_of_step, rate})}));
  }
};

// Why the gradient must be whole; empty where it need not be.
std::string WhyWhole(const std::function<void(Step&)>& update) {
  Step step;
  update(step);
  const Graph graph = std::move(step.builder).Build();
  const RowUpdates found = FindRowUpdates(graph);
  EXPECT_EQ(found.possible.size() + found.impossible.size(), 1u);
  return found.impossible.empty() ? "" : found.impossible[0].why;
}

TEST(RowUpdatesTest, Descent) {
  Step step;
  step.Descend(step.gradient);
  const Graph graph = std::move(step.builder).Build();
  const RowUpdates found = FindRowUpdates(graph);
  ASSERT_EQ(found.possible.size(), 1u);
  const RowUpdate& update = found.possible[0];
  EXPECT_EQ(update.table, step.table);
  EXPECT_EQ(update.indices, step.ids);
  EXPECT_EQ(update.places, 3);
  EXPECT_EQ(update.ops.size(), 2u);
  EXPECT_EQ(update.reads, std::vector<OpId>{step.table});
  EXPECT_TRUE(RowUpdatesOf(graph).empty());
  const Graph by_rows = WithRowUpdates(graph, {step.gradient});
  EXPECT_EQ(RowUpdatesOf(by_rows), found.possible);
  EXPECT_EQ(VerifyGraph(by_rows), std::vector<std::string>());
  EXPECT_EQ(WithRowUpdates(by_rows, {}), graph);
}

TEST(RowUpdatesTest, SumsOfSquaresAndClipping) {
  EXPECT_EQ(WhyWhole([](Step& step) {
              const OpId squares = step.Add(OpKind::kSquare, {step.gradient});
              const OpId norm = step.Add(OpKind::kReduceSum, {squares});
              const OpId clipped = step.Add(OpKind::kMul, {step.gradient, norm});
              const OpId sum = step.Add(OpKind::kAdd, {step.state, step.Add(OpKind::kSquare, {clipped})});
              step.Update(step.state, sum);
              const OpId root = step.Add(OpKind::kSqrt, {sum});
              const OpId divisor =
                  step.Add(OpKind::kAdd, {root, step.Add(OpKind::kConstant, {}, {{attribute::kValue, 1e-10}})});
              step.Descend(step.Add(OpKind::kDiv, {clipped, divisor}));
            }),
            "");
}

TEST(RowUpdatesTest, WhatNeedsAllRows) {
  // Momentum goes on without a gradient.
  EXPECT_EQ(WhyWhole([](Step& step) {
              const OpId kept = step.Add(OpKind::kScale, {step.state}, {{attribute::kFactor, 0.9}});
              const OpId velocity = step.Add(OpKind::kAdd, {step.gradient, kept});
              step.Update(step.state, velocity);
              step.Descend(velocity);
            }),
            "`add` reads `scale`");
  EXPECT_EQ(WhyWhole([](Step& step) { step.Update(step.state, step.Add(OpKind::kAbs, {step.gradient})); }),
            "`state` changes where the gradient is zero");
  // Weight decay moves every row.
  EXPECT_EQ(WhyWhole([](Step& step) {
              step.Descend(step.Add(OpKind::kAdd, {step.gradient, step.table}));
            }),
            "`table` changes where the gradient is zero");
  // 0 / 0 is not 0.
  EXPECT_EQ(WhyWhole([](Step& step) {
              step.Descend(step.Add(OpKind::kDiv, {step.gradient, step.state}));
            }),
            "`table` changes where the gradient is zero");
  EXPECT_EQ(WhyWhole([](Step& step) {
              step.Descend(step.gradient);
              step.Add(OpKind::kReduceMax, {step.gradient});
            }),
            "`reduce_max` reads all of it");
  EXPECT_EQ(WhyWhole([](Step& step) {
              step.Descend(step.gradient);
              step.Add(OpKind::kReduceSum, {step.Add(OpKind::kExp, {step.gradient})});
            }),
            "`reduce_sum` sums what has no gradient");
  EXPECT_EQ(WhyWhole([](Step& step) {
              step.Descend(step.gradient);
              step.builder.mutable_graph().looks.push_back({.value = step.gradient, .name = "table.grad"});
            }),
            "`table.grad` is looked at as a whole");
  EXPECT_EQ(WhyWhole([](Step&) {}), "no update reads it");
}

}  // namespace
}  // namespace cleave::ir
