#include "ir/testing/random_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {
namespace {

class RandomPlanner {
 public:
  RandomPlanner(const Graph& graph, const Mesh& mesh, Random& random) : graph_(graph), random_(random) {
    plan_.mesh = mesh;
    plan_.ops = IdVector<OpId, OpPlan>(graph.ops.size());
  }

  Plan Make() && {
    for (const Op& op : graph_.ops) {
      OpPlan& planned = plan_.ops[op.id];
      planned.strategy = StrategyOf(op);
      if (random_() % 12 == 0) planned.output = RandomLayout(op.type.rank());
    }
    return std::move(plan_);
  }

 private:
  Strategy StrategyOf(const Op& op) {
    const Rule rule = RuleOf(graph_, op);
    if (op.inherits.has_value() && random_() % 2 == 0) {
      return InheritStrategy(plan_.ops[op.inherits->op].strategy, *op.inherits, rule, plan_.mesh);
    }
    Strategy strategy = Strategy::Replicated(rule);
    if (random_() % 2 == 0) AddPasses(op, rule, strategy);
    if (!op.inputs.empty() && random_() % 2 == 0) FollowInputs(op, rule, strategy);
    // One op in four gets no more cuts.
    if (random_() % 4 != 0) CutAtRandom(rule, strategy);
    return strategy;
  }

  // The layout in which an op's readers find its value.
  Layout Seen(OpId id) const {
    const OpPlan& planned = plan_.ops[id];
    return planned.output.has_value() ? *planned.output : OutputLayout(planned.strategy, RuleOf(graph_, graph_.op(id)));
  }

  // Partial sums of all inputs of a linear group pass through.
  void AddPasses(const Op& op, const Rule& rule, Strategy& strategy) {
    for (AxisId axis : plan_.mesh.AxisIds()) {
      for (size_t group = 0; group < rule.linear.size(); ++group) {
        const std::vector<int>& members = rule.linear[group];
        const bool all_partial = std::all_of(members.begin(), members.end(), [&](int member) {
          const Layout seen = Seen(op.inputs[static_cast<size_t>(member)]);
          return std::find(seen.partial.begin(), seen.partial.end(), PartialAxis{axis, Reduction::kSum}) !=
                 seen.partial.end();
        });
        if (!all_partial || members.empty()) continue;
        strategy.passes.push_back({.axis = axis, .group = static_cast<int>(group)});
        break;
      }
    }
  }

  // The axes that cut an input cut the factors of its dimensions, as far as the rule allows.
  void FollowInputs(const Op& op, const Rule& rule, Strategy& strategy) {
    for (size_t input = 0; input < op.inputs.size(); ++input) {
      const Layout seen = Seen(op.inputs[input]);
      for (size_t d = 0; d < seen.dimensions.size(); ++d) {
        for (AxisId axis : seen.dimensions[d]) {
          const FactorList& factors = rule.inputs[input][d];
          std::any_of(factors.begin(), factors.end(), [&](int factor) { return Cut(rule, factor, axis, strategy); });
        }
      }
    }
  }

  void CutAtRandom(const Rule& rule, Strategy& strategy) {
    for (AxisId axis : Shuffled(plan_.mesh.AxisIds())) {
      const size_t factor = random_() % (rule.factors.size() + 1);
      if (factor < rule.factors.size()) Cut(rule, static_cast<int>(factor), axis, strategy);
    }
  }

  bool Cut(const Rule& rule, int factor, AxisId axis, Strategy& strategy) {
    absl::StatusOr<Strategy> cut = WithCut(strategy, rule, plan_.mesh, factor, axis);
    if (cut.ok()) strategy = *std::move(cut);
    return cut.ok();
  }

  Layout RandomLayout(int rank) {
    Layout layout = Layout::Replicated(rank);
    for (AxisId axis : Shuffled(plan_.mesh.AxisIds())) {
      const size_t dimension = random_() % (layout.dimensions.size() + 1);
      if (dimension < layout.dimensions.size()) layout.dimensions[dimension].push_back(axis);
    }
    return layout;
  }

  AxisList Shuffled(AxisList axes) {
    std::shuffle(axes.begin(), axes.end(), random_);
    return axes;
  }

  const Graph& graph_;
  Random& random_;
  Plan plan_;
};

}  // namespace

Mesh RandomMesh(int64_t devices, Random& random) {
  std::vector<int64_t> sizes = PrimeFactors(devices);
  std::shuffle(sizes.begin(), sizes.end(), random);
  const bool is_named = random() % 2 == 0;
  const size_t hosts = random() % (sizes.size() + 1);  // This many outer axes cross the slower links.
  std::vector<MeshAxis> axes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool is_outer = i < hosts;
    axes.push_back({.name = is_named ? absl::StrCat(is_outer ? "dp." : "tp.", i) : absl::StrCat("m", i),
                    .size = sizes[i],
                    .link = is_outer ? "network" : "host",
                    .weight = is_outer ? 1 : 0.25});
  }
  absl::StatusOr<Mesh> mesh = Mesh::Create(std::move(axes));
  CLEAVE_CHECK(mesh.ok()) << mesh.status();
  return *std::move(mesh);
}

Plan RandomPlan(const Graph& graph, const Mesh& mesh, Random& random) {
  return RandomPlanner(graph, mesh, random).Make();
}

}  // namespace cleave::ir
