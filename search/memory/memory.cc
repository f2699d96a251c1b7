// Reading guide: Fitter::Level looks for the weight at one ZeRO level, FitMemory goes through the levels.
#include "search/memory/memory.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/layout/layout.h"
#include "search/memory/refusal.h"

namespace cleave::search {
namespace {

Bytes LocalBytes(const ir::TensorType& type, const ir::Layout& layout, const ir::Mesh& mesh) {
  return ir::ElementSize(type.dtype) * ir::ElementCount(ir::LargestLocalShape(layout, mesh, type.shape));
}

// How many tensors of the op's size a rank keeps because of its value.
int CopiesHeld(const GraphFacts& facts, ir::OpId op) {
  const ir::Op& info = facts.op(op);
  if (info.kind == ir::OpKind::kParameter) {
    // The optimizer's state has the layout of the parameter; a parameter that is trained has a gradient.
    const std::vector<ir::OpId>& group = facts.update_groups[op];
    const auto states =
        std::count_if(group.begin(), group.end(), [&](ir::OpId id) { return facts.op(id).kind == ir::OpKind::kState; });
    return 1 + (group.empty() ? 0 : 1) + static_cast<int>(states);
  }
  if (info.phase != ir::Phase::kForward || facts.classes[op] == ir::OpClass::kSource) return 0;
  const std::vector<Read>& reads = facts.reads[op];
  const bool kept = std::any_of(reads.begin(), reads.end(),
                                [&](const Read& read) { return facts.op(read.reader).phase == ir::Phase::kBackward; });
  return kept ? 1 : 0;
}

class Fitter {
 public:
  Fitter(const ir::Graph& graph, const MemoryLimit& limit, const PlanFor& plan_for, const SearchTuning& tuning)
      : graph_(graph), limit_(limit), plan_for_(plan_for), tuning_(tuning) {}

  // The cheapest plan of this ZeRO level that fits. False where a search failed.
  bool Level(int zero) {
    unit_ = 1;
    if (!Try(0, zero)) return false;
    fits_unweighted_ = LastFits();
    if (fits_unweighted_) return true;
    const double cost = tried_.back().plan.search.cost;
    unit_ = cost > 0 ? cost / static_cast<double>(Peak(tried_.back()).value()) : 1;
    // Finds the first weight of a coarse ladder whose plan fits.
    int high = tuning_.first_memory_exponent;
    for (;; high += tuning_.memory_exponent_step) {
      if (!Try(std::exp2(high), zero)) return false;
      if (LastFits()) break;
      if (high + tuning_.memory_exponent_step > tuning_.last_memory_exponent) return true;
    }
    for (int low = high - tuning_.memory_exponent_step; high - low > 1;) {
      const int middle = (low + high) / 2;
      if (!Try(std::exp2(middle), zero)) return false;
      (LastFits() ? high : low) = middle;
    }
    return true;
  }

  bool fits_unweighted() const { return fits_unweighted_; }

  // The cheapest plan that fits, of all that were tried; of equal ones the first.
  std::optional<Fit> TakeBest() {
    Tried* best = nullptr;
    for (Tried& own : tried_) {
      const bool is_cheaper = best == nullptr || own.plan.search.cost < best->plan.search.cost;
      if (own.program != nullptr && is_cheaper) best = &own;
    }
    if (best == nullptr) return std::nullopt;
    return Fit{.plan = std::move(best->plan),
               .program = std::move(*best->program),
               .weight = best->weight,
               .zero = best->zero};
  }

  // The plan that needs least, of all that were tried; of equal ones the first. Where a plan needs at least more than
  // another one needs in all, its program is not made. REQUIRES: a plan was tried.
  Measured TakeSmallest() {
    std::vector<size_t> order(tried_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return tried_[a].at_least < tried_[b].at_least; });
    std::optional<std::pair<Bytes, size_t>> least;
    for (const size_t i : order) {
      if (least.has_value() && least->first < tried_[i].at_least) break;
      const std::pair own(Peak(tried_[i]), i);
      if (!least.has_value() || own < *least) least = own;
    }
    Tried& smallest = tried_[least->second];
    return {.plan = std::move(smallest.plan),
            .weight = smallest.weight,
            .zero = smallest.zero,
            .use = *std::move(smallest.use)};
  }

 private:
  struct Tried {
    ir::Plan plan;
    double weight = 0;
    int zero = 0;
    Bytes at_least;
    std::optional<ir::MemoryUse> use = {};         // Where the program was made.
    std::shared_ptr<PlannedProgram> program = {};  // Where it was made and fits.
  };

  bool Try(double weight, int zero) {
    std::optional<ir::Plan> plan = plan_for_(weight * unit_, zero);
    if (!plan.has_value()) return false;
    const Bytes at_least = LeastMemory(graph_, *plan);
    tried_.push_back({.plan = *std::move(plan), .weight = weight * unit_, .zero = zero, .at_least = at_least});
    return true;
  }

  bool LastFits() { return tried_.back().at_least <= limit_.bytes && Peak(tried_.back()) <= limit_.bytes; }

  // Makes the program of the plan, unless it was made before: weights that differ little often give the same plan.
  Bytes Peak(Tried& own) {
    if (own.use.has_value()) return own.use->prediction.peak;
    const auto same = std::find_if(tried_.begin(), tried_.end(), [&](const Tried& other) {
      return other.use.has_value() && other.at_least == own.at_least && other.plan.ops == own.plan.ops;
    });
    if (same != tried_.end()) {
      own.use = same->use;
      own.program = same->program;
      return own.use->prediction.peak;
    }
    absl::StatusOr<PlannedProgram> made = ProgramOf(graph_, own.plan, limit_.fuse);
    CLEAVE_CHECK(made.ok()) << made.status();
    own.use = made->memory.use;
    const Bytes peak = own.use->prediction.peak;
    if (peak <= limit_.bytes) own.program = std::make_shared<PlannedProgram>(*std::move(made));
    return peak;
  }

  const ir::Graph& graph_;
  const MemoryLimit& limit_;
  const PlanFor& plan_for_;
  const SearchTuning& tuning_;
  double unit_ = 1;
  bool fits_unweighted_ = false;
  std::vector<Tried> tried_;
};

}  // namespace

absl::StatusOr<PlannedProgram> ProgramOf(const ir::Graph& training_graph, const ir::Plan& plan,
                                         const ir::FuseOptions& fuse) {
  CLEAVE_ASSIGN_OR_RETURN(ir::Distributed distributed, ir::Distribute(training_graph, plan));
  CLEAVE_ASSIGN_OR_RETURN(ir::Program program, ir::Partition(distributed.graph, distributed.plan));
  ir::MemoryPlan memory = ir::PlanMemory(distributed.graph, program, fuse);
  return PlannedProgram{
      .distributed = std::move(distributed), .program = std::move(program), .memory = std::move(memory)};
}

ir::MemoryUse EstimateMemory(const ir::Graph& training_graph, const ir::Plan& plan, const ir::FuseOptions& fuse) {
  absl::StatusOr<PlannedProgram> made = ProgramOf(training_graph, plan, fuse);
  CLEAVE_CHECK(made.ok()) << made.status();
  return std::move(made->memory.use);
}

Bytes LeastMemory(const ir::Graph& training_graph, const ir::Plan& plan) {
  Bytes bytes;
  ir::RuleTable rules;
  for (const ir::Op& op : training_graph.ops) {
    if (op.kind != ir::OpKind::kParameter && op.kind != ir::OpKind::kState && op.kind != ir::OpKind::kInput) continue;
    const ir::Layout layout = ir::OutputLayout(plan.ops[op.id].strategy, rules.Of(training_graph, op));
    bytes += LocalBytes(op.type, layout, plan.mesh);
  }
  return bytes;
}

double HeldBytes(const GraphFacts& facts, const ir::Mesh& mesh, ir::OpId op, const ir::Strategy& strategy) {
  const int copies = CopiesHeld(facts, op);
  if (copies == 0) return 0;
  const Bytes local = LocalBytes(facts.op(op).type, ir::OutputLayout(strategy, facts.rule(op)), mesh);
  return static_cast<double>(local.value()) * copies;
}

Prices WithMemoryWeight(const GraphFacts& facts, const ir::Mesh& mesh, double weight, Prices prices) {
  if (weight == 0) return prices;
  // Ops of one kind must hold equally many copies, and must have been of one kind before.
  constexpr int kMostCopies = 16;
  const auto local = prices.local;
  const auto local_kind = prices.local_kind;
  prices.local = [=, &facts, &mesh](ir::OpId op, const ir::Strategy& strategy) {
    const bool is_priced = local != nullptr && local_kind(op) != 0;
    return (is_priced ? local(op, strategy) : 0) + weight * HeldBytes(facts, mesh, op, strategy);
  };
  prices.local_kind = [=, &facts](ir::OpId op) {
    const int copies = CopiesHeld(facts, op);
    CLEAVE_CHECK(copies < kMostCopies) << facts.op(op).name;
    return (local == nullptr ? 0 : local_kind(op) * kMostCopies) + copies;
  };
  return prices;
}

std::optional<MemoryLimit> MemoryLimitOf(const ir::ParallelSettings& settings, const Cluster& cluster,
                                         const ir::FuseOptions& fuse) {
  if (settings.memory.has_value()) {
    return MemoryLimit{
        .bytes = Bytes(settings.memory->value), .span = settings.memory->span, .source = "`memory`", .fuse = fuse};
  }
  if (cluster.memory_per_device == Bytes(0)) return std::nullopt;
  return MemoryLimit{.bytes = cluster.memory_per_device,
                     .span = {},
                     .source = absl::StrCat("the memory of `", cluster.name, "`"),
                     .fuse = fuse};
}

std::optional<Fit> FitMemory(const ir::Graph& training_graph, const MemoryLimit& limit, const PlanFor& plan_for,
                             std::optional<int> zero, Diagnostics& diagnostics, const SearchTuning& tuning) {
  Fitter fitter(training_graph, limit, plan_for, tuning);
  for (int level = zero.value_or(0); level <= zero.value_or(3); ++level) {
    if (!fitter.Level(level)) return std::nullopt;
    // More division does not send less.
    if (fitter.fits_unweighted()) break;
  }
  if (std::optional<Fit> best = fitter.TakeBest()) return best;
  diagnostics.Add(NothingFits(training_graph, limit, fitter.TakeSmallest(), plan_for));
  return std::nullopt;
}

int MostPlansPerLevel(const SearchTuning& tuning) {
  const int rungs = 1 + (tuning.last_memory_exponent - tuning.first_memory_exponent) / tuning.memory_exponent_step;
  int halvings = 0;
  for (int step = tuning.memory_exponent_step; step > 1; step -= step / 2) ++halvings;
  return 1 + rungs + halvings;
}

}  // namespace cleave::search
