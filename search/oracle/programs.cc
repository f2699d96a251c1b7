// Reading guide: the constructor makes the programs that keep everything, of all strategies, ZeRO levels and
// micro-batches. FastestWithin tries on each of them all sets of recomputed units that may fit (SetsWithin) and may be
// faster than the best program so far.
#include "search/oracle/programs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/program/order/order.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/recompute/liveness.h"
#include "search/knobs/zero/zero.h"
#include "search/model/facts/facts.h"
#include "search/oracle/oracle.h"
#include "search/price/cost/prices.h"
#include "search/price/cost/time_prices.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/choices.h"
#include "search/solve/sapp/reasons.h"

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

// Programs need at least this share of the bound of live bytes, because moved steps may need less.
constexpr double kLeastShare = 0.85;

// A set of units that are made again.
struct Set {
  Seconds seconds{0};  // Lower bound of the time of recomputation.
  std::vector<bool> units;
};

// Whether the backward pass needs all units of a set, and the set has the redistributions of what it makes again.
bool IsWhole(const Liveness& step, const std::vector<bool>& units) {
  for (size_t u = 0; u < units.size(); ++u) {
    for (const int copy : step.units()[u].copies) {
      if (units[u] && !units[static_cast<size_t>(copy)]) return false;
    }
  }
  return step.Needed(units) == units;
}

// All sets of units whose bound of live bytes is at most a limit.
class SetsWithin {
 public:
  SetsWithin(const Liveness& step, double most_live) : step_(step), most_live_(most_live) {
    const std::vector<Unit>& units = step.units();
    std::vector<bool> none(units.size(), false), all(units.size(), false);
    for (size_t u = 0; u < units.size(); ++u) {
      if (step.forward()[static_cast<size_t>(units[u].stages.front())].unit < 0) continue;
      free_.push_back(u);
      all[u] = true;
    }
    Decide(0, none, all);
  }

  // By ascending time.
  std::vector<Set> Take() && {
    std::stable_sort(sets_.begin(), sets_.end(), [](const Set& a, const Set& b) { return a.seconds < b.seconds; });
    return std::move(sets_);
  }

 private:
  // `possible` has the units of `again`, and those that are not decided.
  void Decide(size_t next, std::vector<bool>& again, std::vector<bool>& possible) {
    const Liveness::Bounds bounds = step_.BoundsOf(again, possible, Liveness::Bounded::kProgram);
    if (static_cast<double>(bounds.LeastPeak().value()) > most_live_) return;
    if (next == free_.size()) {
      if (IsWhole(step_, again)) sets_.push_back({.seconds = bounds.seconds, .units = again});
      return;
    }
    const size_t unit = free_[next];
    again[unit] = true;
    Decide(next + 1, again, possible);
    again[unit] = possible[unit] = false;
    Decide(next + 1, again, possible);
    possible[unit] = true;
  }

  const Liveness& step_;
  const double most_live_;
  std::vector<size_t> free_;
  std::vector<Set> sets_;
};

ir::Plan WithSet(ir::Plan plan, const Liveness& step, const std::vector<bool>& set) {
  for (const auto& [op, retention] : step.RetentionsOf(set)) plan.ops[op].retention = retention;
  return plan;
}

}  // namespace

std::string ProgramText(const ir::Graph& graph, const ir::Plan& plan) {
  const GraphFacts facts = FactsOf(graph);
  std::string text = absl::StrCat("zero ", plan.search.zero, ", ", plan.micro_batches, " micro-batches",
                                  plan.moves_steps ? ", steps moved" : "");
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
  std::stable_sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.least < b.least; });
}

void AllPrograms::AddAllOf(ir::Plan plan) {
  for (const int64_t count : task_.micro_batches) {
    plan.micro_batches = count;
    if (count > 1 && ir::FindRefusal(task_.graph, plan).has_value()) continue;
    const absl::StatusOr<ir::LoweredProgram> made = ProgramOf(task_.graph, plan, task_.cluster, task_.execution);
    if (!made.ok()) continue;
    const Liveness step(made->distributed, made->program, made->memory, task_.cluster, {});
    const Seconds seconds = StepOf(*made, task_.cluster, task_.execution);
    kept_.push_back(
        {.plan = plan, .peak = made->memory.use.prediction.peak, .step = seconds, .least = seconds + step.MostGain()});
  }
}

Bytes AllPrograms::LeastKeptPeak() const {
  return std::min_element(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.peak < b.peak; })
      ->peak;
}

std::optional<AllPrograms::Point> AllPrograms::FastestWithin(Bytes limit, Seconds known) const {
  std::optional<Point> best;
  for (const Kept& kept : kept_) {
    if (kept.least >= known) break;
    const std::optional<Point> own = FastestOf(kept, limit, known);
    if (!own.has_value()) continue;
    known = own->step;
    best = own;
  }
  return best;
}

std::optional<AllPrograms::Point> AllPrograms::FastestOf(const Kept& kept, Bytes limit, Seconds known) const {
  const absl::StatusOr<ir::LoweredProgram> made = ProgramOf(task_.graph, kept.plan, task_.cluster, task_.execution);
  const Liveness step(made->distributed, made->program, made->memory, task_.cluster, {});
  const Bytes workspace = kept.peak - made->memory.storage.buffers.total;
  std::optional<Point> best;
  const double most_live = static_cast<double>((limit - workspace).value()) / kLeastShare;
  for (const Set& set : SetsWithin(step, most_live).Take()) {
    if (kept.step + set.seconds >= known) break;
    ir::Plan plan = WithSet(kept.plan, step, set.units);
    absl::StatusOr<ir::LoweredProgram> own = ProgramOf(task_.graph, plan, task_.cluster, task_.execution);
    if (!own.ok()) continue;
    const Seconds seconds = StepOf(*own, task_.cluster, task_.execution);
    CLEAVE_CHECK(seconds.value() >= (kept.step + set.seconds).value() * (1 - 1e-9)) << ProgramText(task_.graph, plan);
    if (seconds >= known) continue;
    plan.moves_steps = own->memory.use.prediction.peak > limit;
    if (plan.moves_steps) ir::OrderForMemory(own->distributed.graph, own->program, own->memory);
    const Bytes peak = own->memory.use.prediction.peak;
    if (peak > limit) continue;
    known = StepOf(*own, task_.cluster, task_.execution);
    best = Point{.peak = peak, .step = known, .plan = std::move(plan)};
  }
  return best;
}

}  // namespace cleave::search
