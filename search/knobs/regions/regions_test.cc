#include "search/knobs/regions/regions.h"

#include <map>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/training/training.h"
#include "ir/testing/optimizers.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/regions/measure.h"
#include "search/knobs/regions/objective.h"
#include "search/model/cluster/cluster.h"
#include "search/search.h"

namespace cleave::search {
namespace {

constexpr int64_t kBatch = 64;
constexpr int64_t kWidth = 256;

ir::CountsPin Counts(std::vector<int64_t> numbers) {
  std::vector<ir::Placed<int64_t>> counts;
  for (int64_t number : numbers) counts.push_back({number, {}});
  return counts;
}

// head, two blocks of two products between borders, tail; the regions are the blocks "y" and "z".
class Model {
 public:
  Model() {
    const ir::OpId x = Add(ir::OpKind::kInput, {},
                           {{ir::attribute::kDType, ir::DType::kF32},
                            {ir::attribute::kShape, ir::Shape{kBatch, kWidth}},
                            {ir::attribute::kData, "x"}},
                           "x");
    const ir::OpId target = Add(ir::OpKind::kInput, {},
                                {{ir::attribute::kDType, ir::DType::kF32},
                                 {ir::attribute::kShape, ir::Shape{kBatch, kWidth}},
                                 {ir::attribute::kData, "t"}},
                                "t");
    const ir::OpId head = Product(x, "head");
    const ir::OpId first = Block(head, "y");
    const ir::OpId second = Block(first, "z");
    builder_.mutable_graph().loss = Add(ir::OpKind::kMse, {Product(second, "tail"), target}, {}, "loss");
    graph_ = *ir::Differentiate(std::move(builder_).Build(), {.kind = ir::TestOptimizer::Kind::kMomentum});
  }

  const ir::Graph& graph() const { return graph_; }
  ir::Pins& pins() { return pins_; }
  ir::OpId op(const std::string& name) const { return *graph_.Find(name); }

  void PinInput(const std::string& name, std::vector<int64_t> counts) {
    pins_.pins.push_back({op(name), ir::ShardPin{.in = {Counts(std::move(counts))}, .out = std::nullopt}, {}});
  }

  std::optional<ir::Plan> TryFind(const SearchOptions& options) {
    diagnostics_ = Diagnostics();
    return Search(graph_, CpuCluster(8), pins_, options, diagnostics_);
  }

  ir::Plan Found(const SearchOptions& options) {
    const std::optional<ir::Plan> plan = TryFind(options);
    EXPECT_TRUE(plan.has_value()) << (diagnostics_.items().empty() ? "" : diagnostics_.items()[0].message);
    if (!plan.has_value()) return {};
    EXPECT_EQ(ir::VerifyPlan(graph_, *plan), std::vector<std::string>());
    return *plan;
  }

  bool IsCut(const ir::Plan& plan, const std::string& name) const {
    return !(plan.ops[op(name)].strategy == ir::Strategy::Replicated(ir::RuleOf(graph_, graph_.op(op(name)))));
  }

  // The memory that a rank keeps because of the ops and parameters below `path`.
  double HeldBelow(const ir::Plan& plan, const std::string& path) const {
    const GraphFacts facts = FactsOf(graph_);
    double held = 0;
    for (const ir::Op& each : graph_.ops) {
      if (absl::StartsWith(each.name, path)) held += HeldBytes(facts, plan.mesh, each.id, plan.ops[each.id].strategy);
    }
    return held;
  }

  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  ir::OpId Add(ir::OpKind kind, std::vector<ir::OpId> inputs, ir::Attributes attributes, const std::string& name) {
    return builder_.Add(kind, std::move(inputs), {std::move(attributes)}, name);
  }

  ir::OpId Product(ir::OpId x, const std::string& name) {
    const ir::OpId weight = Add(ir::OpKind::kParameter, {},
                                {{ir::attribute::kShape, ir::Shape{kWidth, kWidth}},
                                 {ir::attribute::kInit, "constant"},
                                 {ir::attribute::kFirst, 0.5},
                                 {ir::attribute::kSecond, 0.0}},
                                absl::StrCat(name, ".weight"));
    return Add(ir::OpKind::kMatmul, {x, weight}, {}, name);
  }

  ir::OpId Block(ir::OpId x, const std::string& path) {
    ir::Region region{.name = path, .ops = {}, .objective = ir::Objective::kSpeed, .span = {}};
    const auto keep = [&](ir::OpId op) {
      region.ops.push_back(op);
      return op;
    };
    const ir::OpId in = keep(Add(ir::OpKind::kIdentity, {x}, {}, path + ".in_0"));
    const ir::OpId up = keep(Product(in, path + ".up"));
    const ir::OpId middle = keep(Add(ir::OpKind::kRelu, {up}, {}, path + ".relu"));
    const ir::OpId down = keep(Product(middle, path + ".down"));
    const ir::OpId out = keep(Add(ir::OpKind::kIdentity, {down}, {}, path + ".out"));
    pins_.regions.push_back(std::move(region));
    return out;
  }

  ir::GraphBuilder builder_;
  ir::Graph graph_;
  ir::Pins pins_;
  Diagnostics diagnostics_;
};

TEST(RegionSearchTest, OutsideOpsAreReplicatedInsideOnesAreCut) {
  Model model;
  const ir::Plan plan = model.Found({});
  for (const char* name : {"head", "tail", "loss"}) {
    EXPECT_FALSE(model.IsCut(plan, name)) << name;
    EXPECT_EQ(plan.ops[model.op(name)].decided_by, ir::DecidedBy::kFallback) << name;
    EXPECT_EQ(plan.ops[model.op(name)].reason, "outside of regions ops are replicated");
  }
  for (const char* name : {"y.up", "y.down", "z.up", "z.down"}) {
    EXPECT_TRUE(model.IsCut(plan, name)) << name;
    EXPECT_EQ(plan.ops[model.op(name)].decided_by, ir::DecidedBy::kSearch) << name;
  }
  EXPECT_TRUE(absl::StartsWith(plan.ops[model.op("y.up")].reason, "inside region `y` (objective speed): causes "))
      << plan.ops[model.op("y.up")].reason;
  // Every rank has the whole data.
  EXPECT_FALSE(model.IsCut(plan, "x"));
  EXPECT_EQ(plan.search.objective, "speed");
}

TEST(RegionSearchTest, OutsideMayBeSearched) {
  Model model;
  const ir::Plan plan = model.Found({.outside = ir::Outside::kSearch, .dataset = {}});
  for (const char* name : {"head", "tail"}) {
    EXPECT_TRUE(model.IsCut(plan, name)) << name;
    EXPECT_EQ(plan.ops[model.op(name)].decided_by, ir::DecidedBy::kSearch) << name;
    EXPECT_FALSE(absl::StrContains(plan.ops[model.op(name)].reason, "region"));
  }
}

TEST(RegionSearchTest, PinsOfTheBorderAreKept) {
  for (const ir::SearchAlgorithm algorithm :
       {ir::SearchAlgorithm::kSapp, ir::SearchAlgorithm::kExact, ir::SearchAlgorithm::kPropagate,
        ir::SearchAlgorithm::kDataParallel, ir::SearchAlgorithm::kReplicate}) {
    Model model;
    model.PinInput("y.in_0", {4, 2});
    model.pins().pins.push_back({model.op("y.out"), ir::DataParallelPin(), {}});
    model.pins().pins.push_back({model.op("z.out"), ir::ReplicatePin(), {}});
    model.pins().pins.push_back({model.op("y.up.weight"), ir::ShardPin{.in = {}, .out = Counts({2, 4})}, {}});
    const ir::Plan plan = model.Found({.algorithm = algorithm, .dataset = {}});
    const auto slices = [&](const std::string& name) {
      const ir::Op& op = model.graph().op(model.op(name));
      const ir::Layout layout = ir::OutputLayout(plan.ops[op.id].strategy, ir::RuleOf(model.graph(), op));
      std::vector<int64_t> counts;
      for (const ir::AxisList& axes : layout.dimensions) counts.push_back(plan.mesh.Size(axes));
      return counts;
    };
    using Slices = std::vector<int64_t>;
    EXPECT_EQ(slices("y.in_0"), (Slices{4, 2})) << AlgorithmName(algorithm);
    EXPECT_EQ(slices("y.out"), (Slices{8, 1})) << AlgorithmName(algorithm);
    EXPECT_EQ(slices("z.out"), (Slices{1, 1})) << AlgorithmName(algorithm);
    EXPECT_EQ(slices("y.up.weight"), (Slices{2, 4})) << AlgorithmName(algorithm);
    EXPECT_EQ(plan.ops[model.op("y.in_0")].decided_by, ir::DecidedBy::kPin);
    EXPECT_FALSE(model.IsCut(plan, "head")) << AlgorithmName(algorithm);
  }
}

TEST(RegionSearchTest, DataParallelCutsTheBatchInEveryRegion) {
  Model model;
  model.pins().pins.push_back({model.op("y.out"), ir::ReplicatePin(), {}});
  const ir::Plan plan = model.Found({.algorithm = ir::SearchAlgorithm::kDataParallel, .dataset = {}});
  for (const char* name : {"y.up", "y.relu", "y.down", "z.in_0", "z.up", "z.relu", "z.down"}) {
    const ir::Op& op = model.graph().op(model.op(name));
    const ir::Layout layout = ir::OutputLayout(plan.ops[op.id].strategy, ir::RuleOf(model.graph(), op));
    EXPECT_EQ(plan.mesh.Size(layout.dimensions[0]), 8) << name;
    EXPECT_TRUE(layout.dimensions[1].empty()) << name;
  }
  EXPECT_FALSE(model.IsCut(plan, "head"));
}

TEST(RegionSearchTest, EachRegionHasItsOwnObjective) {
  Model speed, mixed;  // The second region differs.
  speed.pins().regions[1].objective = ir::Objective::kComputeToCommunication;
  mixed.pins().regions[1].objective = ir::Objective::kMemory;
  const ir::Plan fast = speed.Found({});
  const ir::Plan plan = mixed.Found({});
  EXPECT_EQ(plan.search.objective, "speed, memory");
  EXPECT_EQ(mixed.HeldBelow(plan, "y."), speed.HeldBelow(fast, "y."));
  EXPECT_LT(mixed.HeldBelow(plan, "z."), speed.HeldBelow(fast, "z."));
  EXPECT_GE(plan.search.cost, fast.search.cost);
  EXPECT_TRUE(absl::StartsWith(plan.ops[mixed.op("z.up")].reason, "inside region `z` (objective memory): "));
}

// With one objective for both regions, its plan takes less of what it makes least than the plans of the other two.
TEST(RegionSearchTest, EachObjectiveIsTheBestByItsOwnMeasure) {
  const Cluster cluster = CpuCluster(8);
  for (const ir::Price price : {ir::Price::kBytes, ir::Price::kTime}) {
    std::map<ir::Objective, Measured> measured;
    for (const ir::Objective objective :
         {ir::Objective::kSpeed, ir::Objective::kMemory, ir::Objective::kComputeToCommunication}) {
      Model model;
      for (ir::Region& region : model.pins().regions) region.objective = objective;
      measured[objective] = Measure(model.graph(), model.Found({.price = price, .dataset = {}}), cluster, {});
    }
    for (const auto& [objective, own] : measured) {
      for (const auto& [other, theirs] : measured) {
        EXPECT_FALSE(IsBetter(objective, theirs, own))
            << ObjectiveName(other) << " is better than " << ObjectiveName(objective) << " under " << PriceName(price);
      }
    }
  }
}

TEST(RegionSearchTest, PropagationFollowsThePinsOfItsRegion) {
  Model model;
  model.PinInput("y.in_0", {8, 1});
  model.pins().pins.push_back({model.op("z.out"), ir::ReplicatePin(), {}});
  const ir::Plan plan = model.Found({.algorithm = ir::SearchAlgorithm::kPropagate, .dataset = {}});
  EXPECT_TRUE(model.IsCut(plan, "y.up"));
  EXPECT_EQ(plan.ops[model.op("y.up")].decided_by, ir::DecidedBy::kPropagation);
  EXPECT_TRUE(absl::StrContains(plan.ops[model.op("y.up")].reason, "follows `y.in_0`"))
      << plan.ops[model.op("y.up")].reason;
  EXPECT_FALSE(model.IsCut(plan, "head"));
  EXPECT_FALSE(model.IsCut(plan, "z.up")) << "no cut reaches the other region";
}

TEST(RegionSearchTest, WithoutAPinARegionHasNothingToPropagate) {
  Model model;
  EXPECT_FALSE(model.TryFind({.algorithm = ir::SearchAlgorithm::kPropagate, .dataset = {}}).has_value());
  EXPECT_EQ(model.diagnostics().items()[0].code, Code::kE0309);
}

TEST(RegionSearchTest, TheSameInputGivesTheSamePlan) {
  Model a, b;
  ir::Plan first = a.Found({.outside = ir::Outside::kSearch, .dataset = {}});
  ir::Plan second = b.Found({.outside = ir::Outside::kSearch, .dataset = {}});
  EXPECT_EQ(first, second);
}

TEST(RegionSearchTest, ADefaultResultIsNoPinOfTheUsers) {
  Model model;
  const Span place{FileId(0), 3, 9};
  model.pins().regions[0].span = place;
  model.pins().pins.push_back({model.op("y.out"), ir::ReplicatePin(), place});
  const ir::Plan plan = model.Found({});
  EXPECT_TRUE(absl::StartsWith(plan.ops[model.op("y.out")].reason,
                               "inside region `y` (objective speed): as `out` is by default; causes "))
      << plan.ops[model.op("y.out")].reason;
}

TEST(RegionSearchTest, TheClassicPriceIsForWholeModels) {
  Model model;
  EXPECT_FALSE(model.TryFind({.price = ir::Price::kClassic, .dataset = {}}).has_value());
  EXPECT_EQ(model.diagnostics().items()[0].code, Code::kE0220);
}

TEST(ObjectivesTextTest, EachOnceInOrder) {
  const auto region = [](ir::Objective objective) {
    return ir::Region{.name = "", .ops = {}, .objective = objective, .span = {}};
  };
  EXPECT_EQ(
      ObjectivesText({region(ir::Objective::kMemory), region(ir::Objective::kSpeed), region(ir::Objective::kMemory)}),
      "memory, speed");
}

}  // namespace
}  // namespace cleave::search
