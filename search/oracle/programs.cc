#include "search/oracle/programs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "search/assignment/assignment.h"
#include "search/cost/facts.h"
#include "search/cost/prices.h"
#include "search/cost/time_prices.h"
#include "search/memory/memory.h"
#include "search/oracle/oracle.h"
#include "search/recompute/liveness.h"
#include "search/sapp/choices.h"
#include "search/sapp/reasons.h"
#include "search/zero/zero.h"

namespace cleave::search {
namespace {

// Plans are derived under the price `time` as a search does it.
struct Space {
  explicit Space(const ProgramsTask& task)
      : facts(FactsOf(task.graph)),
        mesh(MeshOfCluster(task.cluster)),
        prices(TimePrices(facts, task.cluster, mesh, task.execution.fuse)),
        assignment(facts, mesh, {.gradient_weight = kGradientWeight, .prices = prices}, {}) {}

  static constexpr double kGradientWeight = 1;
  const GraphFacts facts;
  const ir::Mesh mesh;
  const Prices prices;
  Assignment assignment;
};

// The strategies of each open op.
std::vector<std::vector<ir::Strategy>> Choices(const Assignment& assignment) {
  std::vector<std::vector<ir::Strategy>> choices;
  for (const ir::OpId op : assignment.OpenOps()) {
    const bool is_product = assignment.facts().roles[op] == Role::kProduct;
    choices.push_back(AllStrategies(assignment.facts().rule(op), assignment.mesh(), is_product));
  }
  return choices;
}

// A set of units that are made again.
struct Set {
  Outcome outcome;
  std::vector<bool> units;
};

// All sets of units, of which the backward pass needs all, the fastest first.
std::vector<Set> SetsOf(const Liveness& step) {
  std::vector<size_t> free;
  for (size_t u = 0; u < step.units().size(); ++u) {
    if (step.forward()[static_cast<size_t>(step.units()[u].stages.front())].unit >= 0) free.push_back(u);
  }
  std::vector<Set> sets;
  for (uint64_t bits = 1; bits < uint64_t{1} << free.size(); ++bits) {
    std::vector<bool> units(step.units().size(), false);
    for (size_t i = 0; i < free.size(); ++i) units[free[i]] = (bits >> i & 1) != 0;
    if (step.Needed(units) == units) sets.push_back({step.Of(units, Bytes(0)), std::move(units)});
  }
  std::stable_sort(sets.begin(), sets.end(),
                   [](const Set& a, const Set& b) { return a.outcome.seconds < b.outcome.seconds; });
  return sets;
}

ir::Plan WithSet(ir::Plan plan, const Liveness& step, const std::vector<bool>& set) {
  for (const auto& [op, retention] : step.RetentionsOf(set)) plan.ops[op].retention = retention;
  return plan;
}

}  // namespace

std::string ProgramText(const ir::Graph& graph, const ir::Plan& plan) {
  const GraphFacts facts = FactsOf(graph);
  std::string text = absl::StrCat("zero ", plan.search.zero, ", ", plan.micro_batches, " micro-batches");
  for (const ir::Op& op : graph.ops) {
    const ir::OpPlan& own = plan.ops[op.id];
    const bool is_open = facts.roles[op.id] == Role::kProduct || facts.roles[op.id] == Role::kLight;
    if (own.retention == ir::Retention::kKeep && !is_open) continue;
    absl::StrAppend(&text, ", ", op.name, " ", CutsText(own.strategy, facts.rule(op.id), plan.mesh),
                    own.retention == ir::Retention::kRecompute      ? " (made again)"
                    : own.retention == ir::Retention::kRedistribute ? " (sent again)"
                                                                    : "");
  }
  return text;
}

int64_t PlanCount(const ProgramsTask& task, int64_t most) {
  const Space space(task);
  int64_t count = 1;
  for (const std::vector<ir::Strategy>& choices : Choices(space.assignment)) {
    count *= static_cast<int64_t>(choices.size());
    if (count > most) break;
  }
  return count;
}

AllPrograms::AllPrograms(const ProgramsTask& task) : task_(task) {
  Space space(task);
  Assignment& assignment = space.assignment;
  const std::vector<ir::OpId> open = assignment.OpenOps();
  const std::vector<std::vector<ir::Strategy>> choices = Choices(assignment);
  std::vector<size_t> digits(open.size(), 0);
  for (bool more = true; more;) {
    std::vector<Change> changes;
    for (size_t i = 0; i < open.size(); ++i) changes.push_back({.op = open[i], .strategy = choices[i][digits[i]]});
    assignment.Apply(changes);
    if (assignment.cost().impossible == 0) {
      ir::Plan plan{.cluster = task.cluster.name,
                    .mesh = space.mesh,
                    .ops = {},
                    .gradient_weight = Space::kGradientWeight,
                    .search = {}};
      for (const ir::Op& op : task.graph.ops) plan.ops.push_back(OpPlanOf(assignment, op.id));
      for (const int zero : task.zero) {
        ir::Plan own = plan;
        own.search.zero = zero;
        ShardReplicas(space.facts, {}, zero, own);
        if (zero == 0 || own.ops != plan.ops) AddAllOf(std::move(own));
      }
    }
    more = false;
    for (size_t i = open.size(); i-- > 0 && !more;) {
      more = ++digits[i] < choices[i].size();
      if (!more) digits[i] = 0;
    }
  }
  std::stable_sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.step < b.step; });
}

void AllPrograms::AddAllOf(ir::Plan plan) {
  for (const int64_t count : task_.micro_batches) {
    plan.micro_batches = count;
    if (count > 1 && ir::FindRefusal(task_.graph, plan).has_value()) continue;
    const absl::StatusOr<PlannedProgram> made = ProgramOf(task_.graph, plan, task_.execution.fuse);
    if (!made.ok()) continue;
    kept_.push_back({.plan = plan,
                     .peak = made->memory.use.prediction.peak,
                     .step = StepOf(*made, task_.cluster, task_.execution)});
  }
}

Bytes AllPrograms::LeastKeptPeak() const {
  return std::min_element(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.peak < b.peak; })
      ->peak;
}

std::optional<AllPrograms::Point> AllPrograms::FastestWithin(Bytes limit, Seconds known) const {
  std::optional<Point> best;
  for (const Kept& kept : kept_) {
    if (kept.step >= known) break;
    std::optional<Point> own;
    if (kept.peak <= limit) {
      own = Point{.peak = kept.peak, .step = kept.step, .text = ProgramText(task_.graph, kept.plan)};
    } else {
      own = FastestWithRecomputation(kept, limit, known);
    }
    if (!own.has_value()) continue;
    known = own->step;
    best = std::move(own);
  }
  return best;
}

std::optional<AllPrograms::Point> AllPrograms::FastestWithRecomputation(const Kept& kept, Bytes limit,
                                                                        Seconds known) const {
  const absl::StatusOr<PlannedProgram> made = ProgramOf(task_.graph, kept.plan, task_.execution.fuse);
  const Liveness step(made->distributed, made->program, made->memory, task_.cluster, {});
  std::optional<Point> best;
  for (const Set& set : SetsOf(step)) {
    // Kernels that are fused in another way may take a little less.
    if (kept.step + set.outcome.seconds * 0.9 >= known) break;
    // Programs need about what is live and their workspace.
    if (set.outcome.peak.value() * 4 > limit.value() * 5) continue;
    const ir::Plan plan = WithSet(kept.plan, step, set.units);
    const absl::StatusOr<PlannedProgram> own = ProgramOf(task_.graph, plan, task_.execution.fuse);
    if (!own.ok()) continue;
    const Bytes peak = own->memory.use.prediction.peak;
    const Seconds seconds = StepOf(*own, task_.cluster, task_.execution);
    if (peak > limit || seconds >= known) continue;
    known = seconds;
    best = Point{.peak = peak, .step = seconds, .text = ProgramText(task_.graph, plan)};
  }
  return best;
}

}  // namespace cleave::search
