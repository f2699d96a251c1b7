#include "search/memory/estimate.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "search/memory/measured.h"
#include "search/memory/memory.h"

namespace cleave::search {
namespace {

// Of the equal layers so many of the first and of the last are kept.
constexpr size_t kFirst = 1, kLast = 2;
// With fewer layers a program of all of them is made at once.
constexpr size_t kFewest = 4 * (kFirst + 1 + kLast);

// Layers [begin, end) of the equal ones.
struct LayerRun {
  size_t begin = 0;
  size_t end = 0;

  size_t count() const { return end - begin; }
};

// The longest run of layers that the plan treats alike.
LayerRun LongestRun(const EqualLayers& equal, const ir::Plan& plan) {
  const auto is_alike = [&](ir::OpId a, ir::OpId b) {
    const ir::OpPlan& x = plan.ops[a];
    const ir::OpPlan& y = plan.ops[b];
    return x.strategy == y.strategy && x.output == y.output && x.retention == y.retention;
  };
  const std::vector<std::vector<ir::OpId>>& layers = equal.ops;
  LayerRun longest, run;
  for (size_t i = 0; i < layers.size(); ++i) {
    const bool continues = i > 0 && std::equal(layers[i - 1].begin(), layers[i - 1].end(), layers[i].begin(), is_alike);
    if (!continues) run.begin = i;
    run.end = i + 1;
    if (run.count() > longest.count()) longest = run;
  }
  return longest;
}

// The plan without what does not concern its program.
ir::Plan PlanOf(const Shortened& few, const ir::Plan& plan) {
  ir::Plan own{.cluster = plan.cluster,
               .mesh = plan.mesh,
               .ops = {},
               .micro_batches = plan.micro_batches,
               .moves_steps = plan.moves_steps,
               .gradient_weight = plan.gradient_weight,
               .search = plan.search};
  for (const ir::OpId op : few.originals) {
    const ir::OpPlan& planned = plan.ops[op];
    own.ops.push_back({.strategy = planned.strategy,
                       .output = planned.output,
                       .retention = planned.retention,
                       .decided_by = planned.decided_by,
                       .reason = {},
                       .choices = {}});
  }
  return own;
}

}  // namespace

std::optional<Seconds> Estimate::StepWithin(Bytes limit) const {
  if (peak <= limit) return step;
  if (AtLeast() > limit) return std::nullopt;
  const Bytes saved(static_cast<int64_t>(static_cast<double>((peak - limit).value()) / layers));
  const std::optional<RecomputeChoice> choice = recomputation->Cheapest(recomputation->PeakAsAsked() - saved);
  return choice.has_value() ? std::optional(step + choice->seconds * layers) : std::nullopt;
}

Estimator::Estimator(const ir::Graph& training_graph, const Cluster& cluster, const Execution& execution)
    : graph_(training_graph),
      cluster_(cluster),
      execution_(execution),
      equal_(training_graph.is_manual() ? EqualLayers() : FindEqualLayers(training_graph)) {}

std::optional<Estimator::LeftOut> Estimator::LeftOutOf(const ir::Plan& plan) const {
  const LayerRun run = LongestRun(equal_, plan);
  if (run.count() < kFewest) return std::nullopt;
  return LeftOut{.begin = run.begin + kFirst, .end = run.end - kLast};
}

const Estimate* Estimator::Of(const ir::Plan& plan) {
  const std::optional<LeftOut> layers = LeftOutOf(plan);
  if (!layers.has_value()) return nullptr;
  ir::Plan few = PlanOf(GraphWithout(*layers), plan);
  auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& other) {
    return other.layers == *layers && other.plan.micro_batches == few.micro_batches &&
           other.plan.moves_steps == few.moves_steps && other.plan.ops == few.ops;
  });
  if (known == known_.end()) {
    known_.push_back({.layers = *layers, .plan = std::move(few), .estimate = Make(*layers, plan)});
    known = std::prev(known_.end());
  }
  return known->estimate.has_value() ? &*known->estimate : nullptr;
}

std::optional<Estimate> Estimator::Make(const LeftOut& layers, const ir::Plan& plan) {
  const std::optional<Estimate> few = Without(layers, plan);
  std::optional<Estimate> more = few.has_value() ? Without(layers.AllButTheFirst(), plan) : std::nullopt;
  if (!more.has_value()) return std::nullopt;
  const int64_t others = layers.others();
  more->peak += (more->peak - few->peak) * others;
  more->least += std::max(Bytes(0), more->least - few->least) * others;
  more->besides += std::max(Bytes(0), more->besides - few->besides) * others;
  more->step += (more->step - few->step) * static_cast<double>(others);
  more->layers = static_cast<double>(others + 1 + kFirst + kLast) / (kFirst + 1 + kLast);
  return more;
}

const Shortened& Estimator::GraphWithout(const LeftOut& layers) {
  auto found = shortened_.find(layers);
  if (found == shortened_.end()) {
    found = shortened_.emplace(layers, WithoutLayers(graph_, equal_, layers.begin, layers.end)).first;
  }
  return found->second;
}

std::optional<Estimate> Estimator::Without(const LeftOut& layers, const ir::Plan& plan) {
  const Shortened& few = GraphWithout(layers);
  const absl::StatusOr<PlannedProgram> made = ProgramOf(few.graph, PlanOf(few, plan), execution_);
  if (!made.ok()) return std::nullopt;
  std::unique_ptr<Recomputation> recomputation = RecomputationOf(*made, cluster_, {}, {});
  const Bytes peak = PeakOf(*made);
  return Estimate{.peak = peak,
                  .least = recomputation->LeastPeak(),
                  .step = StepOf(*made, cluster_, execution_),
                  .besides = peak - recomputation->PeakAsAsked(),
                  .recomputation = std::move(recomputation)};
}

}  // namespace cleave::search
