#include "ir/transforms/zigzag/zigzag.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/text.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/tensor/types/tensor.h"
#include "ir/testing/graphs.h"
#include "ir/testing/sources.h"

namespace cleave::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ints = std::vector<int64_t>;

constexpr int64_t kBatch = 2, kRows = 8, kWidth = 8, kHead = 4;

struct Variant {
  bool learned_positions = false;
  bool dropout = false;
  bool cumsum = false;  // Of the rows that attention makes.
  bool look = false;    // At the rows that attention makes.
  int64_t rows = kRows;
};

// One layer of attention with two heads of queries and one of keys, a cap and rotary positions.
Graph Model(const Variant& variant) {
  const int64_t rows = variant.rows;
  GraphBuilder b;
  const OpId token = AddInput(b, "token", {kBatch, rows}, DType::kI32);
  const OpId label = AddInput(b, "label", {kBatch, rows}, DType::kI32);
  const auto product = [&](OpId x, const std::string& name, int64_t out) {
    return b.Add(OpKind::kMatmul, {x, AddParameter(b, name + ".weight", {kWidth, out})}, {}, name);
  };
  const auto heads = [&](OpId x, const std::string& name, int64_t count) {
    const OpId flat = product(x, name, count * kHead);
    return b.Add(OpKind::kReshape, {flat}, {{attribute::kShape, Shape{kBatch, rows, count, kHead}}}, name + ".heads");
  };
  const auto turned = [&](OpId x, const std::string& name) {
    return b.Add(OpKind::kRope, {x}, {{attribute::kAxis, 1}}, name);
  };
  OpId x = b.Add(OpKind::kEmbedding, {token, AddParameter(b, "table", {5, kWidth})}, {}, "x");
  if (variant.learned_positions) {
    const OpId places = AddParameter(b, "places", {rows, kWidth});
    const OpId all = b.Add(OpKind::kBroadcastTo, {places}, {{attribute::kShape, Shape{kBatch, rows, kWidth}}}, "all");
    x = b.Add(OpKind::kAdd, {x, all}, {}, "placed");
  }
  if (variant.dropout) x = b.Add(OpKind::kDropout, {x}, {{attribute::kRate, 0.5}}, "kept");
  const OpId q = turned(heads(x, "q", 2), "q.rope"), k = turned(heads(x, "k", 1), "k.rope"), v = heads(x, "v", 1);
  const Attributes sight = {
      {attribute::kCausal, true}, {attribute::kCap, 2.0}, {attribute::kHeadsInside, Ints{1, 1, 1, 1}}};
  const OpId sums = b.Add(OpKind::kAttentionLogsumexp, {q, k}, sight, "y.sums");
  OpId y = b.Add(OpKind::kAttention, {q, k, v, sums}, sight, "y");
  if (variant.look) b.mutable_graph().looks.push_back({.kind = LookKind::kPrint, .value = y, .name = "y"});
  if (variant.cumsum) y = b.Add(OpKind::kCumsum, {y}, {{attribute::kAxis, 1}}, "summed");
  y = b.Add(OpKind::kReshape, {y}, {{attribute::kShape, Shape{kBatch, rows, kWidth}}}, "joined");
  y = b.Add(OpKind::kAdd, {x, product(y, "out", kWidth)}, {}, "sum");
  b.mutable_graph().loss = b.Add(OpKind::kCrossEntropy, {product(y, "logits", 5), label}, {}, "loss");
  return std::move(b).Build();
}

// The loss, what is looked at, and the new values of parameters, by name.
std::map<std::string, Tensor> Results(const Graph& forward, bool strips) {
  Graph graph = TrainingGraph(forward, {.kind = TestOptimizer::Kind::kMomentum, .rate = 0.1});
  EXPECT_THAT(VerifyGraph(graph), IsEmpty());
  if (strips) graph = InOwnOrder(std::move(graph));
  // Sources by name: ids differ between graphs.
  SourceValues sources = RandomSources(graph, 7);
  std::map<std::string, Tensor> of_name;
  const Graph model = TrainingGraph(Model({.learned_positions = true}), {.kind = TestOptimizer::Kind::kMomentum});
  for (const auto& [source, tensor] : RandomSources(model, 7)) of_name[model.op(source).name] = tensor;
  for (auto& [source, tensor] : sources) tensor = of_name.at(graph.op(source).name);
  const IdVector<OpId, Tensor> values = InterpretGraph(graph, sources, 3);
  std::map<std::string, Tensor> results = {{"loss", values[*graph.loss]}};
  for (const Look& look : graph.looks) results["look " + look.name] = values[look.value];
  for (const StateUpdate& update : graph.updates) results[graph.op(update.state).name] = values[update.value];
  return results;
}

// The name of a result that differs; empty where none does.
std::string Different(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  if (a.size() != b.size()) return "other results";
  for (const auto& [name, x] : a) {
    const auto y = b.find(name);
    if (y == b.end() || x.values.size() != y->second.values.size()) return name;
    for (size_t i = 0; i < x.values.size(); ++i) {
      if (!(std::abs(x.values[i] - y->second.values[i]) <= 1e-9)) return name;
    }
  }
  return "";
}

std::vector<std::string> Moves(const Graph& graph) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kZigzag) names.push_back(op.name);
  }
  return names;
}

TEST(ZigzagTest, TheSameLossUpdatesAndLooks) {
  for (const Variant& variant :
       {Variant{}, Variant{.learned_positions = true}, Variant{.dropout = true}, Variant{.cumsum = true},
        Variant{.learned_positions = true, .dropout = true, .cumsum = true, .look = true}}) {
    const Graph model = Model(variant);
    for (const int64_t pairs : {1, 2, 4}) {
      Pins pins;
      ASSERT_EQ(WhyNoZigzag(model, pairs), std::nullopt);
      const Graph changed = WithZigzag(model, pairs, pins);
      EXPECT_THAT(VerifyGraph(changed), IsEmpty()) << GraphText(changed);
      EXPECT_EQ(FindOtherChange(model, changed), "");
      EXPECT_EQ(Different(Results(model, false), Results(changed, false)), "");
      EXPECT_EQ(Different(Results(changed, true), Results(changed, false)), "");
    }
  }
}

TEST(ZigzagTest, MovesNoMoreThanItMust) {
  Pins pins;
  EXPECT_THAT(Moves(WithZigzag(Model({}), 2, pins)),
              ElementsAre("token.zigzag", "label.zigzag", "k.rope.in_order", "v.heads.in_order"));
  EXPECT_THAT(Moves(WithZigzag(Model({.learned_positions = true, .cumsum = true, .look = true}), 2, pins)),
              ElementsAre("token.zigzag", "label.zigzag", "places.zigzag", "k.rope.in_order", "v.heads.in_order",
                          "y.in_order", "summed.zigzag"));
}

TEST(ZigzagTest, PinsStayWithTheirOps) {
  const Graph model = Model({});
  const OpId y = *model.Find("y"), k = *model.Find("k.rope");
  Pins pins;
  pins.pins = {{.op = y, .demand = ReplicatePin(), .span = {}}};
  pins.regions = {{.name = "all", .ops = {k, *model.Find("y.sums"), y}, .span = {}}};
  pins.stages = {{.op = *model.Find("y.sums"), .stage = 1, .span = {}}};
  const Graph changed = WithZigzag(model, 4, pins);
  const OpId of_k = *changed.Find("k.rope.in_order");
  EXPECT_EQ(pins.pins[0].op, *changed.Find("y"));
  EXPECT_THAT(pins.regions[0].ops, ::testing::IsSupersetOf({*changed.Find("k.rope"), of_k, *changed.Find("y")}));
  ASSERT_EQ(pins.stages.size(), 2u);
  EXPECT_EQ(pins.stages[0].op, of_k);
}

// An op whose value lies in its own order again stays where it belongs, too.
TEST(ZigzagTest, WhatIsPutInOrderStaysInItsRegionAndStage) {
  const Graph model = Model({.look = true});
  const OpId y = *model.Find("y");
  Pins pins;
  pins.regions = {{.name = "all", .ops = {y}, .span = {}}};
  pins.stages = {{.op = y, .stage = 1, .span = {}}};
  const Graph changed = WithZigzag(model, 4, pins);
  // Its values are put in order for it.
  const std::vector<OpId> all = {*changed.Find("v.heads.in_order"), *changed.Find("y"), *changed.Find("y.in_order")};
  EXPECT_EQ(pins.regions[0].ops, all);
  ASSERT_EQ(pins.stages.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(pins.stages[i].op, all[i]);
}

TEST(ZigzagTest, WhatItCannotDo) {
  EXPECT_EQ(WhyNoZigzag(Model({.rows = 6}), 2), "the 6 rows of `y` are not 2 pairs of chunks of equal size");
  EXPECT_NE(WhyNoZigzag(Model({}), 0), std::nullopt);
  GraphBuilder b;
  b.mutable_graph().loss = b.Add(OpKind::kReduceMean, {AddParameter(b, "w", {4, 8})}, {}, "loss");
  EXPECT_NE(WhyNoZigzag(std::move(b).Build(), 2), std::nullopt);
}

// Each order that is missing or wrong somewhere is seen.
TEST(ZigzagTest, FaultsAreSeen) {
  const Graph model = Model({.learned_positions = true});
  Pins pins;
  const Graph changed = WithZigzag(model, 2, pins);
  const auto expected = Results(model, false);
  int faults = 0;
  for (const Op& op : changed.ops) {
    if (!op.attributes.Has(attribute::kZigzag)) continue;
    Graph wrong = changed;
    Attributes& attributes = wrong.ops[op.id].attributes;
    if (op.kind == OpKind::kZigzag) {
      attributes.Set(attribute::kInverse, !attributes.Get(attribute::kInverse));
    } else {
      attributes.Set(attribute::kZigzag, 4);
    }
    ++faults;
    EXPECT_NE(Different(expected, Results(wrong, false)), "") << op.name;
    EXPECT_EQ(FindOtherChange(model, wrong), "") << "only values tell";
  }
  EXPECT_EQ(faults, 9);
  Graph other = changed;
  std::swap(other.ops[*other.Find("y")].inputs[1], other.ops[*other.Find("y")].inputs[2]);
  EXPECT_NE(FindOtherChange(model, other), "");
}

}  // namespace
}  // namespace cleave::ir
