#include "search/regions/regions.h"

#include <map>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/training/training.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "search/cluster/cluster.h"
#include "search/memory/memory.h"
#include "search/search.h"

namespace cleave {
namespace {

constexpr int64_t kBatch = 64;
constexpr int64_t kWidth = 256;

CountsPin Counts(std::vector<int64_t> numbers) {
  std::vector<Placed<int64_t>> counts;
  for (int64_t number : numbers) counts.push_back({number, {}});
  return counts;
}

// head, two blocks of two products between borders, tail; the regions are the blocks "y" and "z".
class Model {
 public:
  Model() {
    const OpId x = Add(
        OpKind::kInput, {},
        {{attribute::kDType, DType::kF32}, {attribute::kShape, Shape{kBatch, kWidth}}, {attribute::kData, "x"}}, "x");
    const OpId target = Add(
        OpKind::kInput, {},
        {{attribute::kDType, DType::kF32}, {attribute::kShape, Shape{kBatch, kWidth}}, {attribute::kData, "t"}}, "t");
    const OpId head = Product(x, "head");
    const OpId first = Block(head, "y");
    const OpId second = Block(first, "z");
    builder_.mutable_graph().loss = Add(OpKind::kMse, {Product(second, "tail"), target}, {}, "loss");
    graph_ = *Differentiate(std::move(builder_).Build(), {.kind = Optimizer::Kind::kMomentum, .learning_rate = {}});
  }

  const Graph& graph() const { return graph_; }
  Pins& pins() { return pins_; }
  OpId op(const std::string& name) const { return *graph_.Find(name); }

  void PinInput(const std::string& name, std::vector<int64_t> counts) {
    pins_.pins.push_back({op(name), ShardPin{.in = {Counts(std::move(counts))}, .out = std::nullopt}, {}});
  }

  std::optional<Plan> TryFind(const SearchOptions& options) {
    diagnostics_ = Diagnostics();
    return Search(graph_, CpuCluster(8), pins_, options, diagnostics_);
  }

  Plan Found(const SearchOptions& options) {
    const std::optional<Plan> plan = TryFind(options);
    EXPECT_TRUE(plan.has_value()) << (diagnostics_.items().empty() ? "" : diagnostics_.items()[0].message);
    if (!plan.has_value()) return {};
    EXPECT_EQ(VerifyPlan(graph_, *plan), std::vector<std::string>());
    return *plan;
  }

  bool IsCut(const Plan& plan, const std::string& name) const {
    return !(plan.ops[op(name)].strategy == Strategy::Replicated(RuleOf(graph_, graph_.op(op(name)))));
  }

  // What a rank keeps because of the ops and parameters below `path`.
  double HeldBelow(const Plan& plan, const std::string& path) const {
    const GraphFacts facts = FactsOf(graph_);
    double held = 0;
    for (const Op& each : graph_.ops) {
      if (absl::StartsWith(each.name, path)) held += HeldBytes(facts, plan.mesh, each.id, plan.ops[each.id].strategy);
    }
    return held;
  }

  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  OpId Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes, const std::string& name) {
    return builder_.Add(kind, std::move(inputs), {std::move(attributes)}, name);
  }

  OpId Product(OpId x, const std::string& name) {
    const OpId weight = Add(OpKind::kParameter, {},
                            {{attribute::kShape, Shape{kWidth, kWidth}},
                             {attribute::kInit, "constant"},
                             {attribute::kFirst, 0.5},
                             {attribute::kSecond, 0.0}},
                            absl::StrCat(name, ".weight"));
    return Add(OpKind::kMatmul, {x, weight}, {}, name);
  }

  OpId Block(OpId x, const std::string& path) {
    Region region{.name = path, .ops = {}, .objective = Objective::kSpeed, .span = {}};
    const auto keep = [&](OpId op) {
      region.ops.push_back(op);
      return op;
    };
    const OpId in = keep(Add(OpKind::kIdentity, {x}, {}, path + ".in_0"));
    const OpId up = keep(Product(in, path + ".up"));
    const OpId middle = keep(Add(OpKind::kRelu, {up}, {}, path + ".relu"));
    const OpId down = keep(Product(middle, path + ".down"));
    const OpId out = keep(Add(OpKind::kIdentity, {down}, {}, path + ".out"));
    pins_.regions.push_back(std::move(region));
    return out;
  }

  GraphBuilder builder_;
  Graph graph_;
  Pins pins_;
  Diagnostics diagnostics_;
};

TEST(RegionSearchTest, OutsideOpsAreReplicatedInsideOnesAreCut) {
  Model model;
  const Plan plan = model.Found({});
  for (const char* name : {"head", "tail", "loss"}) {
    EXPECT_FALSE(model.IsCut(plan, name)) << name;
    EXPECT_EQ(plan.ops[model.op(name)].decided_by, DecidedBy::kFallback) << name;
    EXPECT_EQ(plan.ops[model.op(name)].reason, "outside of regions ops are replicated");
  }
  for (const char* name : {"y.up", "y.down", "z.up", "z.down"}) {
    EXPECT_TRUE(model.IsCut(plan, name)) << name;
    EXPECT_EQ(plan.ops[model.op(name)].decided_by, DecidedBy::kSearch) << name;
  }
  EXPECT_TRUE(absl::StartsWith(plan.ops[model.op("y.up")].reason, "inside region `y` (objective speed): causes "))
      << plan.ops[model.op("y.up")].reason;
  // Every rank has the whole data.
  EXPECT_FALSE(model.IsCut(plan, "x"));
  EXPECT_EQ(plan.search.objective, "speed");
}

TEST(RegionSearchTest, OutsideMayBeSearched) {
  Model model;
  const Plan plan = model.Found({.outside = Outside::kSearch, .dataset = {}});
  for (const char* name : {"head", "tail"}) {
    EXPECT_TRUE(model.IsCut(plan, name)) << name;
    EXPECT_EQ(plan.ops[model.op(name)].decided_by, DecidedBy::kSearch) << name;
    EXPECT_FALSE(absl::StrContains(plan.ops[model.op(name)].reason, "region"));
  }
}

TEST(RegionSearchTest, PinsOfTheBorderAreKept) {
  for (const SearchAlgorithm algorithm : {SearchAlgorithm::kSapp, SearchAlgorithm::kExact, SearchAlgorithm::kPropagate,
                                          SearchAlgorithm::kDataParallel, SearchAlgorithm::kReplicate}) {
    Model model;
    model.PinInput("y.in_0", {4, 2});
    model.pins().pins.push_back({model.op("y.out"), DataParallelPin(), {}});
    model.pins().pins.push_back({model.op("z.out"), ReplicatePin(), {}});
    model.pins().pins.push_back({model.op("y.up.weight"), ShardPin{.in = {}, .out = Counts({2, 4})}, {}});
    const Plan plan = model.Found({.algorithm = algorithm, .dataset = {}});
    const auto slices = [&](const std::string& name) {
      const Op& op = model.graph().op(model.op(name));
      const Layout layout = OutputLayout(plan.ops[op.id].strategy, RuleOf(model.graph(), op));
      std::vector<int64_t> counts;
      for (const std::vector<AxisId>& axes : layout.dimensions) counts.push_back(plan.mesh.Size(axes));
      return counts;
    };
    using Slices = std::vector<int64_t>;
    EXPECT_EQ(slices("y.in_0"), (Slices{4, 2})) << AlgorithmName(algorithm);
    EXPECT_EQ(slices("y.out"), (Slices{8, 1})) << AlgorithmName(algorithm);
    EXPECT_EQ(slices("z.out"), (Slices{1, 1})) << AlgorithmName(algorithm);
    EXPECT_EQ(slices("y.up.weight"), (Slices{2, 4})) << AlgorithmName(algorithm);
    EXPECT_EQ(plan.ops[model.op("y.in_0")].decided_by, DecidedBy::kPin);
    EXPECT_FALSE(model.IsCut(plan, "head")) << AlgorithmName(algorithm);
  }
}

TEST(RegionSearchTest, EachRegionHasItsOwnObjective) {
  Model speed, mixed;
  mixed.pins().regions[1].objective = Objective::kMemory;
  const Plan fast = speed.Found({});
  const Plan plan = mixed.Found({});
  EXPECT_EQ(plan.search.objective, "speed, memory");
  EXPECT_EQ(mixed.HeldBelow(plan, "y."), speed.HeldBelow(fast, "y."));
  EXPECT_LT(mixed.HeldBelow(plan, "z."), speed.HeldBelow(fast, "z."));
  EXPECT_GE(plan.search.cost, fast.search.cost);
  EXPECT_TRUE(absl::StartsWith(plan.ops[mixed.op("z.up")].reason, "inside region `z` (objective memory): "));
}

TEST(RegionSearchTest, PropagationFollowsThePinsOfItsRegion) {
  Model model;
  model.PinInput("y.in_0", {8, 1});
  model.pins().pins.push_back({model.op("z.out"), ReplicatePin(), {}});
  const Plan plan = model.Found({.algorithm = SearchAlgorithm::kPropagate, .dataset = {}});
  EXPECT_TRUE(model.IsCut(plan, "y.up"));
  EXPECT_EQ(plan.ops[model.op("y.up")].decided_by, DecidedBy::kPropagation);
  EXPECT_TRUE(absl::StrContains(plan.ops[model.op("y.up")].reason, "follows `y.in_0`"))
      << plan.ops[model.op("y.up")].reason;
  EXPECT_FALSE(model.IsCut(plan, "head"));
  EXPECT_FALSE(model.IsCut(plan, "z.up")) << "no cut reaches the other region";
}

TEST(RegionSearchTest, WithoutAPinARegionHasNothingToPropagate) {
  Model model;
  EXPECT_FALSE(model.TryFind({.algorithm = SearchAlgorithm::kPropagate, .dataset = {}}).has_value());
  EXPECT_EQ(model.diagnostics().items()[0].code, Code::kE0309);
}

TEST(RegionSearchTest, TheSameInputGivesTheSamePlan) {
  Model a, b;
  Plan first = a.Found({.outside = Outside::kSearch, .dataset = {}});
  Plan second = b.Found({.outside = Outside::kSearch, .dataset = {}});
  first.search.seconds = second.search.seconds = 0;
  EXPECT_EQ(first, second);
}

TEST(RegionSearchTest, ADefaultResultIsNoPinOfTheUsers) {
  Model model;
  const Span place{FileId(0), 3, 9};
  model.pins().regions[0].span = place;
  model.pins().pins.push_back({model.op("y.out"), ReplicatePin(), place});
  const Plan plan = model.Found({});
  EXPECT_TRUE(absl::StartsWith(plan.ops[model.op("y.out")].reason,
                               "inside region `y` (objective speed): as `out` is by default; causes "))
      << plan.ops[model.op("y.out")].reason;
}

TEST(RegionSearchTest, TheClassicPriceIsForWholeModels) {
  Model model;
  EXPECT_FALSE(model.TryFind({.price = Price::kClassic, .dataset = {}}).has_value());
  EXPECT_EQ(model.diagnostics().items()[0].code, Code::kE0220);
}

TEST(ObjectivesTextTest, EachOnceInOrder) {
  const auto region = [](Objective objective) {
    return Region{.name = "", .ops = {}, .objective = objective, .span = {}};
  };
  EXPECT_EQ(ObjectivesText({region(Objective::kMemory), region(Objective::kSpeed), region(Objective::kMemory)}),
            "memory, speed");
}

}  // namespace
}  // namespace cleave
