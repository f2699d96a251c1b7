// Reading guide: Fitter::Level looks for the weight at one ZeRO level, FitMemory goes through the levels.
#include "search/memory/memory.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/layout/layout.h"
#include "ir/transforms/distribute/distribute.h"
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
    const Measured plain = *last_;
    fits_unweighted_ = Fits(plain);
    if (fits_unweighted_) return true;
    unit_ = plain.plan.search.cost > 0 ? plain.plan.search.cost / static_cast<double>(plain.peak().value()) : 1;
    // Finds the first weight of a coarse ladder whose plan fits.
    int high = tuning_.first_memory_exponent;
    for (;; high += tuning_.memory_exponent_step) {
      if (!Try(std::exp2(high), zero)) return false;
      if (Fits(*last_)) break;
      if (high + tuning_.memory_exponent_step > tuning_.last_memory_exponent) return true;
    }
    for (int low = high - tuning_.memory_exponent_step; high - low > 1;) {
      const int middle = (low + high) / 2;
      if (!Try(std::exp2(middle), zero)) return false;
      (Fits(*last_) ? high : low) = middle;
    }
    return true;
  }

  // The cheapest plan that fits, and the plan that needs least memory, of all that were tried.
  const std::optional<Measured>& best() const { return best_; }
  const Measured& smallest() const { return *smallest_; }
  bool fits_unweighted() const { return fits_unweighted_; }

 private:
  bool Fits(const Measured& measured) const { return measured.peak() <= limit_.bytes; }

  bool Try(double weight, int zero) {
    std::optional<ir::Plan> plan = plan_for_(weight * unit_, zero);
    if (!plan.has_value()) return false;
    ir::MemoryUse use = UseOf(*plan);
    last_ = Measured{.plan = *std::move(plan), .weight = weight * unit_, .zero = zero, .use = std::move(use)};
    if (!smallest_.has_value() || last_->peak() < smallest_->peak()) smallest_ = last_;
    const auto cost = [](const Measured& measured) { return measured.plan.search.cost; };
    if (Fits(*last_) && (!best_.has_value() || cost(*last_) < cost(*best_))) best_ = last_;
    return true;
  }

  // Weights that differ little often give the same plan. Its program is then not made again.
  ir::MemoryUse UseOf(const ir::Plan& plan) const {
    for (const std::optional<Measured>* known : {&last_, &smallest_, &best_}) {
      if (known->has_value() && (*known)->plan.ops == plan.ops) return (*known)->use;
    }
    return EstimateMemory(graph_, plan, limit_.fuse);
  }

  const ir::Graph& graph_;
  const MemoryLimit& limit_;
  const PlanFor& plan_for_;
  const SearchTuning& tuning_;
  double unit_ = 1;
  bool fits_unweighted_ = false;
  std::optional<Measured> last_, best_, smallest_;
};

}  // namespace

PlannedProgram ProgramOf(const ir::Graph& training_graph, const ir::Plan& plan) {
  absl::StatusOr<ir::Distributed> distributed = ir::Distribute(training_graph, plan);
  CLEAVE_CHECK(distributed.ok()) << distributed.status();
  absl::StatusOr<ir::Program> program = ir::Partition(distributed->graph, distributed->plan);
  CLEAVE_CHECK(program.ok()) << program.status();
  return {.graph = std::move(distributed->graph), .program = *std::move(program)};
}

ir::MemoryUse EstimateMemory(const ir::Graph& training_graph, const ir::Plan& plan, const ir::FuseOptions& fuse) {
  const PlannedProgram made = ProgramOf(training_graph, plan);
  return ir::PlanMemory(made.graph, made.program, fuse).use;
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
  if (const std::optional<Measured>& best = fitter.best(); best.has_value()) {
    return Fit{.plan = best->plan, .weight = best->weight, .zero = best->zero};
  }
  diagnostics.Add(NothingFits(training_graph, limit, fitter.smallest(), plan_for));
  return std::nullopt;
}

int MostPlansPerLevel(const SearchTuning& tuning) {
  const int rungs = 1 + (tuning.last_memory_exponent - tuning.first_memory_exponent) / tuning.memory_exponent_step;
  int halvings = 0;
  for (int step = tuning.memory_exponent_step; step > 1; step -= step / 2) ++halvings;
  return 1 + rungs + halvings;
}

}  // namespace cleave::search
