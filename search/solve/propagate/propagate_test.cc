#include "search/solve/propagate/propagate.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/text.h"
#include "ir/testing/seed.h"
#include "search/model/pins/pins.h"
#include "search/oracle/oracle.h"
#include "search/price/cost/cost.h"
#include "search/search.h"
#include "search/solve/propagate/reach.h"
#include "search/solve/sapp/choices.h"
#include "search/solve/sapp/classic_greedy.h"
#include "search/testing/models.h"
#include "search/testing/small_graphs.h"

namespace cleave::search {
namespace {

using testing::Gpt;
using testing::LettersOf;
using testing::Mlp;

Span At(int32_t place) { return {.file = FileId(0), .begin = place, .end = place + 1}; }

ir::Pin ShardOn(ir::OpId op, const std::vector<std::vector<int64_t>>& in, int32_t place = 0) {
  ir::ShardPin pin;
  for (const std::vector<int64_t>& counts : in) {
    pin.in.emplace_back(std::in_place);
    for (int64_t count : counts) pin.in.back()->push_back({.value = count, .span = {}});
  }
  return {.op = op, .demand = pin, .span = At(place)};
}

ir::Pin LayoutOn(ir::OpId op, const std::vector<std::string>& axes, int32_t place = 0) {
  ir::LayoutPin pin;
  for (const std::string& axis : axes) {
    pin.dimensions.emplace_back();
    if (!axis.empty()) pin.dimensions.back().push_back({.value = axis, .span = {}});
  }
  return {.op = op, .demand = pin, .span = At(place)};
}

ir::Pins PinsOf(std::vector<ir::Pin> pins) {
  ir::Pins result;
  result.pins = std::move(pins);
  return result;
}

struct SpreadPlan {
  std::optional<ir::Plan> plan;
  Diagnostics diagnostics;

  const Diagnostic* FirstWith(Code code) const {
    for (const Diagnostic& item : diagnostics.items()) {
      if (item.code == code) return &item;
    }
    return nullptr;
  }
};

SpreadPlan Spread(const ir::Graph& graph, int64_t devices, const ir::Pins& pins) {
  SpreadPlan found;
  found.plan = Search(graph, CpuCluster(devices), pins, {.algorithm = ir::SearchAlgorithm::kPropagate, .dataset = {}},
                      found.diagnostics);
  return found;
}

// The letters that the products have, "jjk iii".
std::string Letters(const ir::Graph& graph, const ir::Plan& plan) {
  std::string text;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kMatmul || op.phase != ir::Phase::kForward) continue;
    absl::StrAppend(&text, text.empty() ? "" : " ", LettersOf(graph, plan.mesh, op.id, plan.ops[op.id].strategy));
  }
  return text;
}

std::string LettersFor(const ir::Graph& graph, int64_t devices, const ir::Pins& pins) {
  const SpreadPlan found = Spread(graph, devices, pins);
  return found.plan.has_value() ? Letters(graph, *found.plan) : "";
}

TEST(PropagateTest, RowsGoThroughAllLayers) {
  const ir::Graph graph = Mlp(64, {16, 32, 32, 8});
  EXPECT_EQ(LettersFor(graph, 4, PinsOf({ShardOn(*graph.Find("h0"), {{4, 1}, {1, 1}})})), "ii ii ii");
  EXPECT_EQ(LettersFor(graph, 4, PinsOf({ShardOn(*graph.Find("h2"), {{4, 1}, {1, 1}})})), "ii ii ii");
}

TEST(PropagateTest, ColumnsAreContractedByTheNextLayer) {
  const ir::Graph graph = Mlp(64, {16, 32, 32, 8});
  const SpreadPlan found = Spread(graph, 4, PinsOf({ShardOn(*graph.Find("h0"), {{1, 1}, {4, 1}})}));
  ASSERT_TRUE(found.plan.has_value());
  EXPECT_EQ(Letters(graph, *found.plan), "jj kk --");
  const ir::OpPlan& second = found.plan->ops[*graph.Find("h1")];
  EXPECT_EQ(second.decided_by, ir::DecidedBy::kPropagation);
  EXPECT_TRUE(absl::StartsWith(second.reason, "follows `h0` (line ")) << second.reason;
  EXPECT_TRUE(absl::StrContains(second.reason, " on m0 m1, by way of `h0.relu`: k: m0 m1, causes ")) << second.reason;
  const Diagnostic* unreached = found.FirstWith(Code::kW0606);
  ASSERT_NE(unreached, nullptr);
  EXPECT_TRUE(absl::StrContains(unreached->message, "no pin's cut by `m0` and `m1` reaches `h2` (line "));
  EXPECT_EQ(unreached->help[0], "pin it in `parallel`: `pin \"h2\" = shard((4, 1), (1, 1));`");
}

TEST(PropagateTest, AxesThatPinsUseDifferentlyTravelAlone) {
  const ir::Graph graph = Mlp(64, {16, 32, 32, 32});
  const ir::Pins pins = PinsOf({ShardOn(*graph.Find("h0"), {{2, 1}, {2, 1}})});  // Rows are cut by m0, columns by m1.
  EXPECT_EQ(LettersFor(graph, 4, pins), "ij ik i-");
}

TEST(PropagateTest, AParametersLayoutIsAPin) {
  const ir::Graph graph = Mlp(64, {16, 32, 32});
  EXPECT_EQ(LettersFor(graph, 2, PinsOf({LayoutOn(*graph.Find("w0"), {"m0", ""})})), "j k");
  EXPECT_EQ(LettersFor(graph, 2, PinsOf({LayoutOn(*graph.Find("x"), {"m0", ""})})), "i i");
}

TEST(PropagateTest, AProductThatCannotTakeTheCutIsDividedInAnotherWay) {
  // The second dimension of a diagonal is never cut, but others can be.
  ir::GraphBuilder b;
  const auto input = [&](const std::string& name, const ir::Shape& shape) {
    return b.Add(
        ir::OpKind::kInput, {},
        {{ir::attribute::kData, name}, {ir::attribute::kDType, ir::DType::kF32}, {ir::attribute::kShape, shape}}, name);
  };
  const ir::OpId w = b.Add(ir::OpKind::kParameter, {},
                           {{ir::attribute::kShape, ir::Shape{8, 8}}, {ir::attribute::kInit, "constant"}}, "w");
  const ir::OpId first = b.Add(ir::OpKind::kMatmul, {input("x", {8, 8}), w}, {}, "first");
  b.Add(ir::OpKind::kEinsum, {first, input("y", {8, 4})}, {{ir::attribute::kEquation, "i i, i j -> i j"}}, "second");
  const ir::Graph graph = std::move(b).Build();
  const SpreadPlan found = Spread(graph, 4, PinsOf({ShardOn(*graph.Find("first"), {{1, 1}, {1, 4}})}));
  ASSERT_TRUE(found.plan.has_value());
  const ir::OpId second = *graph.Find("second");
  EXPECT_EQ(CutsText(found.plan->ops[second].strategy, ir::RuleOf(graph, graph.op(second)), found.plan->mesh),
            "i: m0 m1");
}

TEST(PropagateTest, WithoutAPinItSaysWhatToPin) {
  const ir::Graph graph = Mlp(64, {16, 32, 8});
  ir::Pins pins;
  pins.settings.search_span = At(7);
  const SpreadPlan found = Spread(graph, 8, pins);
  EXPECT_FALSE(found.plan.has_value());
  const Diagnostic* error = found.FirstWith(Code::kE0309);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->labels[0].span, At(7));
  EXPECT_TRUE(absl::StartsWith(error->notes[0], "the heaviest products are `h0` (line ")) << error->notes[0];
  EXPECT_EQ(error->help[0], "pin one of them in `parallel`: `pin \"h0\" = shard((8, 1), (1, 1));`");
  EXPECT_TRUE(Spread(graph, 1, {}).plan.has_value());  // One device: nothing to cut.
}

// Pins the rows of one product and the columns of another, with a relu between them.
ir::Pins Opposed(const ir::Graph& graph) {
  return PinsOf({ShardOn(*graph.Find("h0"), {{2, 1}, {1, 1}}, 10), ShardOn(*graph.Find("h2"), {{1, 2}, {1, 2}}, 20)});
}

TEST(PropagateTest, ConflictsAreListedWithBothPins) {
  const ir::Graph graph = Mlp(64, {16, 32, 32, 8});
  const SpreadPlan found = Spread(graph, 2, Opposed(graph));
  ASSERT_TRUE(found.plan.has_value());
  const Diagnostic* warning = found.FirstWith(Code::kW0605);
  ASSERT_NE(warning, nullptr);
  ASSERT_EQ(warning->labels.size(), 2u);
  EXPECT_EQ(std::min(warning->labels[0].span.begin, warning->labels[1].span.begin), 10);
  EXPECT_EQ(std::max(warning->labels[0].span.begin, warning->labels[1].span.begin), 20);
  // An all-to-all of [64, 32] over two ranks, and one of its gradient: half of the rank's half, each.
  EXPECT_TRUE(absl::StrContains(warning->message, ": 4,096 weighted bytes per step")) << warning->message;
  EXPECT_EQ(std::count_if(found.diagnostics.items().begin(), found.diagnostics.items().end(),
                          [](const Diagnostic& item) { return item.code == Code::kW0605; }),
            1);
}

// Where `in` and `out` of a region differ, something in it is redistributed, as the user wants it.
TEST(PropagateTest, CutsAtTheTwoEndsOfARegionDoNotContradictEachOther) {
  const ir::Graph graph = Mlp(64, {16, 32, 32, 8});
  ir::Pins pins = Opposed(graph);
  pins.regions = {{.name = "r", .ops = {}, .span = {.file = FileId(0), .begin = 10, .end = 21}}};
  for (const ir::Op& op : graph.ops) {
    if (op.phase == ir::Phase::kForward && !op.inputs.empty()) pins.regions[0].ops.push_back(op.id);
  }
  const SpreadPlan of_one = Spread(graph, 2, pins);
  EXPECT_TRUE(of_one.plan.has_value());
  EXPECT_EQ(of_one.FirstWith(Code::kW0605), nullptr);
  pins.regions[0].span.end = 15;  // The second pin is not the region's.
  const SpreadPlan of_two = Spread(graph, 2, pins);
  EXPECT_NE(of_two.FirstWith(Code::kW0605), nullptr);
}

TEST(PropagateTest, PinsThatCanBePastedNameTheAxesOfTheUsersMesh) {
  const ir::Graph graph = Mlp(64, {16, 32, 8});
  ir::Pins pins;
  for (const std::string name : {"m0", "m1"}) pins.settings.mesh.push_back({.name = name, .size = 2, .span = {}});
  const SpreadPlan found = Spread(graph, 4, pins);
  EXPECT_EQ(found.FirstWith(Code::kE0309)->help[0],
            "pin one of them in `parallel`: `pin \"h0\" = layout((\"m0\", \"m1\"), _);`");
}

TEST(PropagateTest, ListsTwentyConflictsTheDearestFirst) {
  std::vector<int64_t> widths(70, 32);
  const ir::Graph graph = Mlp(64, widths);
  ir::Pins pins;  // Pins on rows and on columns alternate, and the layer between can follow only one of them.
  for (int layer = 0; layer < 69; layer += 2) {
    const ir::OpId product = *graph.Find(absl::StrCat("h", layer));
    const std::vector<std::vector<int64_t>> rows = {{2, 1}, {1, 1}}, columns = {{1, 1}, {2, 1}};
    pins.pins.push_back(ShardOn(product, layer % 4 == 0 ? rows : columns, layer));
  }
  const SpreadPlan found = Spread(graph, 2, pins);
  std::vector<const Diagnostic*> warnings;
  for (const Diagnostic& item : found.diagnostics.items()) {
    if (item.code == Code::kW0605) warnings.push_back(&item);
  }
  ASSERT_EQ(warnings.size(), 20u);
  EXPECT_TRUE(absl::StartsWith(warnings.back()->notes.back(), "and at ")) << warnings.back()->notes.back();
  EXPECT_EQ(warnings.front()->notes.size(), 1u);
}

TEST(PropagateTest, NeighboursThatAreBothPinnedAreNoConflict) {
  const ir::Graph graph = testing::MatmulChain({8, 8, 8, 8});
  const ir::Pins pins =
      PinsOf({ShardOn(*graph.Find("m0"), {{2, 1}, {1, 1}}), ShardOn(*graph.Find("m1"), {{1, 1}, {1, 2}})});
  const SpreadPlan found = Spread(graph, 2, pins);
  EXPECT_EQ(found.FirstWith(Code::kW0605), nullptr);
}

TEST(PropagateTest, PriorityChangesTheWinner) {
  const ir::Graph graph = Mlp(64, {16, 32, 32, 8});
  ir::Pins pins = Opposed(graph);
  pins.priorities = {{.op = *graph.Find("h0"), .value = 0}, {.op = *graph.Find("h2"), .value = 1}};
  EXPECT_EQ(LettersFor(graph, 2, pins), "i i k");
  pins.priorities = {{.op = *graph.Find("h0"), .value = 1}, {.op = *graph.Find("h2"), .value = 0}};
  EXPECT_EQ(LettersFor(graph, 2, pins), "i j k");
  pins.priorities = {{.op = *graph.Find("h0"), .value = 5}};  // A pin without one comes last.
  EXPECT_EQ(LettersFor(graph, 2, pins), "i i k");
}

// A sum that is partial over m1 leaves no cut by m1 behind it, in whichever round its pin spreads, though it would be
// cheaper to cut what follows by m1: the sum is scattered then, and only the means are gathered.
TEST(PropagateTest, NoRoundPlacesAnAxisThatDoesNotReachTheOp) {
  ir::GraphBuilder b;
  const auto input = [&](const std::string& name) {
    return b.Add(ir::OpKind::kInput, {},
                 {{ir::attribute::kData, name},
                  {ir::attribute::kDType, ir::DType::kF32},
                  {ir::attribute::kShape, ir::Shape{16, 16}}},
                 name);
  };
  const ir::OpId w = b.Add(ir::OpKind::kParameter, {},
                           {{ir::attribute::kShape, ir::Shape{16, 16}}, {ir::attribute::kInit, "constant"}}, "w");
  const ir::OpId first = b.Add(ir::OpKind::kMatmul, {input("x"), w}, {}, "first");
  const ir::OpId relu = b.Add(ir::OpKind::kRelu, {first}, {}, "relu");
  b.Add(ir::OpKind::kReduceMean, {relu}, {{ir::attribute::kAxes, std::vector<int64_t>{1}}}, "means");
  const ir::OpId second = b.Add(ir::OpKind::kMatmul, {input("y"), w}, {}, "second");
  const ir::Graph graph = std::move(b).Build();
  ir::Pins pins = PinsOf({ShardOn(first, {{2, 2}, {2, 1}}), ShardOn(second, {{2, 1}, {1, 1}})});
  for (const bool is_ranked : {false, true}) {
    SCOPED_TRACE(is_ranked);
    if (is_ranked) pins.priorities = {{.op = first, .value = 0}};
    const SpreadPlan found = Spread(graph, 4, pins);
    ASSERT_TRUE(found.plan.has_value());
    EXPECT_EQ(CutsText(found.plan->ops[relu].strategy, ir::RuleOf(graph, graph.op(relu)), found.plan->mesh), "d0: m0");
  }
}

TEST(PropagateTest, RepeatedLayersAreCutLikeThePinnedOne) {
  testing::GptShape shape;
  shape.layers = 3;
  const ir::Graph graph = Gpt(shape);
  std::vector<std::string> names;
  for (const ir::Op& op : graph.ops) {
    if (absl::StrContains(op.name, "0") && op.kind == ir::OpKind::kMatmul && op.phase == ir::Phase::kForward)
      names.push_back(op.name);
  }
  ASSERT_FALSE(names.empty());
  const std::string up =
      *std::find_if(names.begin(), names.end(), [](const std::string& name) { return absl::EndsWith(name, ".up"); });
  const SpreadPlan found = Spread(graph, 4, PinsOf({ShardOn(*graph.Find(up), {{1, 1, 1}, {4, 1}})}));
  ASSERT_TRUE(found.plan.has_value());
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kMatmul || op.phase != ir::Phase::kForward) continue;
    const std::string cuts = CutsText(found.plan->ops[op.id].strategy, ir::RuleOf(graph, op), found.plan->mesh);
    if (absl::EndsWith(op.name, ".up")) {
      EXPECT_EQ(cuts, "j: m0 m1") << op.name;
    }
    if (absl::EndsWith(op.name, ".down")) {
      EXPECT_EQ(cuts, "k: m0 m1") << op.name;
    }
  }
}

TEST(PropagateTest, AnAxisWithoutAPinIsReportedOnce) {
  const ir::Graph graph = Mlp(64, {16, 32, 8});
  const SpreadPlan found = Spread(graph, 4, PinsOf({ShardOn(*graph.Find("h0"), {{2, 1}, {1, 1}})}));
  ASSERT_NE(found.FirstWith(Code::kW0603), nullptr);
  EXPECT_EQ(found.FirstWith(Code::kW0603)->notes[0], "`m1` is used by no pin: its ranks repeat the work");
  EXPECT_EQ(found.FirstWith(Code::kW0606), nullptr);
}

// Two products that are connected only by a weight, which the second reads transposed or not.
ir::Graph Tied(bool transpose_second) {
  ir::GraphBuilder b;
  const auto input = [&](const std::string& name) {
    return b.Add(ir::OpKind::kInput, {},
                 {{ir::attribute::kData, name},
                  {ir::attribute::kDType, ir::DType::kF32},
                  {ir::attribute::kShape, ir::Shape{8, 16}}},
                 name);
  };
  const ir::OpId w = b.Add(ir::OpKind::kParameter, {},
                           {{ir::attribute::kShape, ir::Shape{16, 16}}, {ir::attribute::kInit, "constant"}}, "w");
  b.Add(ir::OpKind::kMatmul, {input("x"), w}, {{ir::attribute::kTransposeB, true}}, "first");
  b.Add(ir::OpKind::kMatmul, {input("y"), w}, {{ir::attribute::kTransposeB, transpose_second}}, "second");
  return std::move(b).Build();
}

TEST(PropagateTest, ReadersOfOneWeightCutItAlike) {
  for (const bool transpose : {false, true}) {
    const ir::Graph graph = Tied(transpose);
    const SpreadPlan found = Spread(graph, 4, PinsOf({ShardOn(*graph.Find("first"), {{1, 1}, {4, 1}})}));
    ASSERT_TRUE(found.plan.has_value());
    EXPECT_EQ(Letters(graph, *found.plan), transpose ? "jj jj" : "jj kk");
    EXPECT_EQ(
        ir::OutputLayout(found.plan->ops[*graph.Find("w")].strategy, ir::RuleOf(graph, graph.op(*graph.Find("w")))),
        (ir::Layout{.dimensions = {{ir::AxisId(0), ir::AxisId(1)}, {}}, .partial = {}}));
  }
}

// Pins on some products of the graph, each with a random strategy that uses all axes for which it has elements.
ir::Pins RandomPins(const GraphFacts& facts, const ir::Mesh& mesh, std::mt19937_64& random) {
  ir::Pins pins;
  for (ir::OpId product : ProductsOf(facts)) {
    if (random() % 2 == 0) continue;
    ir::Strategy strategy = ir::Strategy::Replicated(facts.rule(product));
    for (ir::AxisId axis : mesh.AxisIds()) {
      const std::vector<int> factors = FactorsFor(strategy, facts.rule(product), mesh, axis);
      if (factors.empty()) continue;
      strategy = *Moved(strategy, facts.rule(product), mesh, factors[random() % factors.size()], axis);
    }
    pins.pins.push_back(ShardOn(product, ir::InStrategy(strategy, facts.rule(product), mesh), product.value()));
  }
  return pins;
}

// Random pins on random graphs, some with tied weights, must give valid plans, with the price of the whole plan, in any
// order of the pins.
TEST(PropagateTest, AnyPinsGiveOneSoundPlan) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const ir::Graph graph = testing::RandomSmallGraph(seed);
    std::mt19937_64 random(seed);
    const int64_t devices = std::vector<int64_t>{2, 3, 4, 6, 8}[random() % 5];
    ir::Pins pins = RandomPins(FactsOf(graph), ir::Mesh::OfDevices(devices), random);
    if (pins.pins.empty()) continue;
    for (const ir::Pin& pin : pins.pins) {
      if (random() % 2 == 0) pins.priorities.push_back({.op = pin.op, .value = static_cast<int64_t>(random() % 3)});
    }
    const SpreadPlan first = Spread(graph, devices, pins);
    ASSERT_TRUE(first.plan.has_value());
    EXPECT_EQ(ir::VerifyPlan(graph, *first.plan), std::vector<std::string>{});
    EXPECT_NEAR(first.plan->search.cost, PlanCost(FactsOf(graph), *first.plan).price, 1e-6 * first.plan->search.cost);
    std::shuffle(pins.pins.begin(), pins.pins.end(), random);
    std::shuffle(pins.priorities.begin(), pins.priorities.end(), random);
    const SpreadPlan second = Spread(graph, devices, pins);
    EXPECT_EQ(*first.plan, *second.plan);
    EXPECT_EQ(first.diagnostics.items(), second.diagnostics.items());
  }
}

// A pin on `product`, with a random strategy that uses as many of `axes` as have elements.
ir::Pin RandomPin(const GraphFacts& facts, const ir::Mesh& mesh, ir::OpId product, const AxisGroup& axes,
                  std::mt19937_64& random) {
  ir::Strategy strategy = ir::Strategy::Replicated(facts.rule(product));
  for (ir::AxisId axis : axes) {
    const std::vector<int> factors = FactorsFor(strategy, facts.rule(product), mesh, axis);
    if (factors.empty()) continue;
    strategy = *Moved(strategy, facts.rule(product), mesh, factors[random() % factors.size()], axis);
  }
  return ShardOn(product, ir::InStrategy(strategy, facts.rule(product), mesh), product.value());
}

// The products that the first round divides have the same cuts by the axes of that round, however a later pin cuts.
TEST(PropagateTest, ARoundDoesNotSeeTheCutsOfLaterPins) {
  constexpr int64_t kDevices = 4;
  const ir::Mesh mesh = ir::Mesh::OfDevices(kDevices);
  const AxisGroup first_axis = {ir::AxisId(0)};
  int compared = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const ir::Graph graph = testing::RandomSmallGraph(seed);
    const GraphFacts facts = FactsOf(graph);
    const std::vector<ir::OpId> products = ProductsOf(facts);
    const ir::OpId later = products[random() % products.size()];
    ir::Pins pins;
    for (ir::OpId product : products) {
      if (product == later || random() % 2 == 0) continue;
      pins.pins.push_back(RandomPin(facts, mesh, product, first_axis, random));
      pins.priorities.push_back({.op = product, .value = 0});
    }
    if (pins.pins.empty()) continue;
    std::vector<ir::Plan> plans;
    for (int i = 0; i < 2; ++i) {
      ir::Pins all = pins;
      all.pins.push_back(RandomPin(facts, mesh, later, mesh.AxisIds(), random));
      plans.push_back(*Spread(graph, kDevices, all).plan);
    }
    Diagnostics diagnostics;
    const OpDemands own = *ResolvePins(facts, mesh, pins, diagnostics);
    OpDemands demands = own;
    demands[later].strategy = plans[0].ops[later].strategy;
    const Assignment assignment(facts, mesh, {.dataset = {}}, demands);
    const Reach reach(assignment, own, first_axis);
    for (ir::OpId product : products) {
      if (!reach.reaches(product)) continue;
      EXPECT_EQ(FactorCutBy(plans[0].ops[product].strategy, first_axis[0]),
                FactorCutBy(plans[1].ops[product].strategy, first_axis[0]))
          << graph.op(product).name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 50);
}

// The axes that pins use, each with those that every pin uses alike.
std::vector<AxisGroup> UsedTogether(const ir::Mesh& mesh, const OpDemands& demands) {
  std::map<std::vector<int>, AxisGroup> groups;  // By the factor that each pin cuts.
  for (ir::AxisId axis : mesh.AxisIds()) {
    std::vector<int> factors;
    for (const auto& [op, demand] : demands) factors.push_back(FactorCutBy(*demand.strategy, axis));
    if (*std::max_element(factors.begin(), factors.end()) >= 0) groups[factors].push_back(axis);
  }
  std::vector<AxisGroup> used;
  for (const auto& [factors, group] : groups) used.push_back(group);
  return used;
}

// The price of the best of all plans that follow these pins, found by trying them: ops use only axes that reach them,
// and products must use them, on no other factors than those by which they are reached while these have elements.
double LeastCost(const GraphFacts& facts, const ir::Mesh& mesh, const ir::Pins& pins) {
  Diagnostics diagnostics;
  const OpDemands demands = *ResolvePins(facts, mesh, pins, diagnostics);
  Assignment assignment(facts, mesh, {.dataset = {}}, demands);
  std::map<ir::AxisId, Reach> reaches;
  for (const AxisGroup& group : UsedTogether(mesh, demands)) {
    for (ir::AxisId axis : group) reaches.emplace(axis, Reach(assignment, demands, group));
  }
  const auto may_take = [&](ir::OpId op, const ir::Strategy& strategy) {
    AxisGroup used, required;
    for (const auto& [axis, reach] : reaches) {
      const int factor = FactorCutBy(strategy, axis);
      if (!reach.reaches(op)) continue;
      if (factor >= 0) used.push_back(axis);
      if (facts.roles[op] != Role::kProduct) continue;
      required.push_back(axis);
      const std::vector<int> led = reach.factors(op);
      if (factor < 0 || std::count(led.begin(), led.end(), factor) > 0) continue;
      for (int fitting : FactorsFor(strategy, facts.rule(op), mesh, axis)) {
        if (std::count(led.begin(), led.end(), fitting) > 0) return false;
      }
    }
    size_t cuts = 0;
    for (const ir::AxisList& factor : strategy.cuts) cuts += factor.size();
    return cuts == used.size() && UsesAxes(strategy, facts.rule(op), mesh, required);
  };
  return TryAllPlans(assignment, {.may_take = may_take})->cost.price;
}

TEST(PropagateTest, NoPlanThatFollowsThePinsCostsLess) {
  constexpr int kGraphs = 250;
  int tried = 0, contradictions = 0;
  for (uint64_t seed = ir::TestSeed(); tried < kGraphs; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const int64_t devices = std::vector<int64_t>{2, 3, 4, 5, 6}[random() % 5];
    const ir::Graph graph = testing::RandomSmallGraph(seed);
    const GraphFacts facts = FactsOf(graph);
    const ir::Mesh mesh = ir::Mesh::OfDevices(devices);
    const ir::Pins pins = RandomPins(facts, mesh, random);
    if (pins.pins.empty() || facts.set_ops.size() - pins.pins.size() > 8) continue;
    const SpreadPlan found = Spread(graph, devices, pins);
    ASSERT_TRUE(found.plan.has_value());
    const double least = LeastCost(facts, mesh, pins);
    EXPECT_NEAR(found.plan->search.cost, least, 1e-9 * (1 + least)) << ir::GraphText(graph);
    ASSERT_TRUE(found.plan->search.lower_bound.has_value());
    EXPECT_NEAR(*found.plan->search.lower_bound, least, 1e-9 * (1 + least));
    ++tried;
    if (found.FirstWith(Code::kW0605) != nullptr) ++contradictions;
  }
  EXPECT_GT(contradictions, kGraphs / 10);
}

// A value that is read by rows and by columns lies in one of these ways, and is moved for the other reader. Made whole,
// it would need no move, but both of its gradients would be gathered.
TEST(PropagateTest, AValueWithTwoPinnedReadersIsNotMadeWhole) {
  for (const int64_t rows : {64, 1024}) {
    SCOPED_TRACE(rows);
    const ir::Graph graph = testing::TwoReaders(rows, 128);
    const ir::Pins pins = PinsOf({ShardOn(*graph.Find("by_rows"), {{8, 1}, {1, 1}}, 10),
                                  ShardOn(*graph.Find("by_columns"), {{1, 8}, {1, 8}}, 20)});
    const SpreadPlan found = Spread(graph, 8, pins);
    ASSERT_TRUE(found.plan.has_value());
    for (const char* name : {"first", "first.bias", "relu"}) {
      const ir::Op& op = graph.op(*graph.Find(name));
      EXPECT_NE(found.plan->ops[op.id].strategy, ir::Strategy::Replicated(ir::RuleOf(graph, op))) << name;
    }
    for (const std::vector<int64_t>& slices : {std::vector<int64_t>{8, 1}, {1, 8}}) {
      ir::Pins pinned = pins;
      pinned.pins.push_back(ShardOn(*graph.Find("relu"), {slices}, 30));
      EXPECT_LE(found.plan->search.cost, Spread(graph, 8, pinned).plan->search.cost + 1e-6);
    }
    // An all-to-all of the value, and one of a gradient: 7/8 of a rank's eighth, each.
    const Diagnostic* warning = found.FirstWith(Code::kW0605);
    ASSERT_NE(warning, nullptr);
    EXPECT_TRUE(absl::StrContains(warning->message, rows == 64 ? ": 7,168 weighted" : ": 114,688 weighted"))
        << warning->message;
  }
}

// A cut that ends is reported where it does, with the pin from which it comes.
TEST(PropagateTest, TheEndOfACutIsReported) {
  ir::GraphBuilder b;
  const ir::OpId x = b.Add(ir::OpKind::kInput, {},
                           {{ir::attribute::kData, "x"},
                            {ir::attribute::kDType, ir::DType::kF32},
                            {ir::attribute::kShape, ir::Shape{1, 16}}},
                           "x");
  const ir::OpId w = b.Add(ir::OpKind::kParameter, {},
                           {{ir::attribute::kShape, ir::Shape{16, 64}}, {ir::attribute::kInit, "constant"}}, "w");
  const ir::OpId product = b.Add(ir::OpKind::kMatmul, {x, w}, {}, "product");
  b.Add(ir::OpKind::kCumsum, {product}, {{ir::attribute::kAxis, int64_t{1}}}, "sums");
  const ir::Graph graph = std::move(b).Build();
  const SpreadPlan found = Spread(graph, 4, PinsOf({ShardOn(product, {{1, 1}, {1, 4}}, 10)}));
  ASSERT_TRUE(found.plan.has_value());
  const Diagnostic* warning = found.FirstWith(Code::kW0607);
  ASSERT_NE(warning, nullptr);
  EXPECT_EQ(warning->message,
            "the cut by `m0` and `m1` ends at `sums`, which `m0` and `m1` do not cut; `product` is redistributed: 192 "
            "weighted bytes per step");
  EXPECT_EQ(warning->labels[0].span, At(10));
}

// An op may be cut by other axes than those whose cut ends there.
TEST(PropagateTest, TheEndOfACutNamesItsOwnAxesAlone) {
  ir::GraphBuilder b;
  const ir::OpId x = b.Add(ir::OpKind::kInput, {},
                           {{ir::attribute::kData, "x"},
                            {ir::attribute::kDType, ir::DType::kF32},
                            {ir::attribute::kShape, ir::Shape{2, 16}}},
                           "x");
  const ir::OpId w = b.Add(ir::OpKind::kParameter, {},
                           {{ir::attribute::kShape, ir::Shape{16, 64}}, {ir::attribute::kInit, "constant"}}, "w");
  const ir::OpId product = b.Add(ir::OpKind::kMatmul, {x, w}, {}, "product");
  const ir::OpId sums = b.Add(ir::OpKind::kCumsum, {product}, {{ir::attribute::kAxis, int64_t{1}}}, "sums");
  const ir::Graph graph = std::move(b).Build();
  const SpreadPlan found = Spread(graph, 4, PinsOf({ShardOn(product, {{2, 1}, {1, 2}}, 10)}));
  ASSERT_TRUE(found.plan.has_value());
  EXPECT_EQ(ir::LayoutText(ir::OutputLayout(found.plan->ops[sums].strategy, ir::RuleOf(graph, graph.op(sums))),
                           found.plan->mesh),
            "[m0, -]");
  const Diagnostic* warning = found.FirstWith(Code::kW0607);
  ASSERT_NE(warning, nullptr);
  EXPECT_TRUE(absl::StartsWith(warning->message, "the cut by `m1` ends at `sums`, which `m1` does not cut; "))
      << warning->message;
}

TEST(PropagateTest, AnyNumberOfDevices) {
  const ir::Graph graph = Gpt({});
  for (int64_t devices : {2, 3, 5, 6, 7, 12}) {
    SCOPED_TRACE(devices);
    const ir::Mesh mesh = ir::Mesh::OfDevices(devices);
    const GraphFacts facts = FactsOf(graph);
    std::vector<ir::OpId> pinned = ProductsOf(facts);
    if (devices != 6) pinned.resize(2);  // Every product is pinned once, on axes of two sizes.
    for (ir::OpId product : pinned) {
      ir::Strategy strategy = ir::Strategy::Replicated(facts.rule(product));
      for (ir::AxisId axis : mesh.AxisIds()) {
        const std::vector<int> factors = FactorsFor(strategy, facts.rule(product), mesh, axis);
        if (!factors.empty()) strategy = *Moved(strategy, facts.rule(product), mesh, factors.back(), axis);
      }
      const ir::Pins pins = PinsOf({ShardOn(product, ir::InStrategy(strategy, facts.rule(product), mesh))});
      const SpreadPlan found = Spread(graph, devices, pins);
      ASSERT_TRUE(found.plan.has_value());
      EXPECT_EQ(ir::VerifyPlan(graph, *found.plan), std::vector<std::string>{});
    }
  }
}

}  // namespace
}  // namespace cleave::search
