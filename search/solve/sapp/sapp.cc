#include "search/solve/sapp/sapp.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "search/solve/baselines/baselines.h"
#include "search/solve/network/folding.h"
#include "search/solve/sapp/descent.h"
#include "search/solve/sapp/starts.h"

namespace cleave::search {
namespace {

enum class Starts {
  kPresentPlan,   // The assignment's plan.
  kWrittenPlans,  // That, and plans as people write them.
};

class SappSearch {
 public:
  SappSearch(Assignment& assignment, const Freedom& freedom, Starts starts)
      : assignment_(assignment),
        freedom_(freedom),
        starts_(starts),
        tuning_(assignment.options().tuning),
        empty_(assignment.mark()),
        ops_(assignment.facts().set_ops),
        all_ops_(static_cast<size_t>(assignment.facts().TimesOf(ops_))) {
    is_small_ = all_ops_ <= tuning_.small_ops && assignment.mesh().axis_count() <= tuning_.small_axes;
  }

  // Runs first with redistributions that are planned directly, unless the graph is small, then with those of the
  // program.
  void Run() {
    RedistributionPrices& prices = assignment_.table().prices();
    prices.set_effort(is_small_ ? ir::RedistributionEffort::kFull : ir::RedistributionEffort::kDirect);
    const bool is_folded = all_ops_ > tuning_.folded_ops;
    Network network = MakeNetwork(is_folded);
    StartEverywhere(network);
    assignment_.Apply(best_);
    if (is_small_ && !is_folded) return Improve(network);
    if (!is_folded) prices.set_effort(ir::RedistributionEffort::kFull);
    if (!is_folded || !is_large()) {
      Network whole = MakeNetwork(/*is_folded=*/false);
      Improve(whole);
    }
    prices.set_effort(ir::RedistributionEffort::kFull);
  }

 private:
  bool is_large() const { return ops_.size() > tuning_.large_ops; }

  // Sets `best_`.
  void StartEverywhere(Network& network) {
    Start(network, [&](Descent& descent) { descent.Greedy(Axes(false)); });
    if (!is_large()) {
      Start(network, [&](Descent& descent) { descent.Greedy(Axes(true)); });
      if (starts_ == Starts::kWrittenPlans) StartFromUniformPlans(network);
    }
    if (starts_ == Starts::kPresentPlan) return;
    DataParallel(assignment_);
    Start(network, [](Descent&) {});
    if (assignment_.table().paid().may_leave_idle) Start(network, [](Descent&) {});  // Everything replicated.
  }

  // A number for an op's strategy and freedom; 0 for ops that no search sets.
  IdVector<ir::OpId, int> Kinds() const {
    IdVector<ir::OpId, int> kinds(assignment_.facts().graph->ops.size(), 0);
    std::map<std::pair<int, int>, int> numbers;
    for (ir::OpId op : ops_) {
      const std::pair own(assignment_.index(op), freedom_.class_of(op));
      kinds[op] = numbers.emplace(own, static_cast<int>(numbers.size())).first->second;
    }
    return kinds;
  }

  Network MakeNetwork(bool is_folded) const {
    Network::Options options;
    if (is_small_) options.entries = tuning_.small_term_entries;
    if (is_folded) options.folding = FoldOps(assignment_.table(), assignment_.demands(), Kinds(), tuning_);
    return Network(assignment_.table(), assignment_.demands(), assignment_.options(), std::move(options));
  }

  ir::AxisList Axes(bool reversed) const {
    ir::AxisList axes = assignment_.mesh().AxisIds();
    if (reversed) std::reverse(axes.begin(), axes.end());
    return axes;
  }

  // Refines the plan that `begin` makes from the present one, keeps it if it is the best so far, and undoes all
  // changes.
  template <typename Begin>
  void Start(Network& network, const Begin& begin) {
    const bool saves_work = all_ops_ > tuning_.large_ops;
    Descent descent(assignment_, network, freedom_,
                    saves_work ? tuning_.work / tuning_.large_work_divisor : tuning_.work);
    begin(descent);
    const bool is_allowed = descent.UseRequired();
    // A small graph is refined freely at the end.
    descent.Refine(is_small_ ? Descent::Steps::kNear : Descent::Steps::kAll);
    if (best_.empty() || (is_allowed && descent.cost() < least_)) {
      least_ = descent.cost();
      best_ = descent.Changes();
    }
    assignment_.Rollback(empty_);
  }

  // Starts from the cheapest of the plans of StartUniform.
  void StartFromUniformPlans(Network& network) {
    std::vector<std::pair<Cost, std::vector<Change>>> plans;
    for (int batch_axes = assignment_.mesh().axis_count() - 1; batch_axes >= 0; --batch_axes) {
      StartUniform(assignment_, batch_axes);
      plans.emplace_back(assignment_.cost(), Snapshot(assignment_));
      assignment_.Rollback(empty_);
    }
    std::stable_sort(plans.begin(), plans.end(),
                     [](const auto& a, const auto& b) { return Cheaper(a.first, b.first); });
    if (plans.size() > tuning_.refined_plans) plans.resize(tuning_.refined_plans);
    for (const auto& [cost, changes] : plans) {
      assignment_.Apply(changes);
      Start(network, [](Descent&) {});
    }
  }

  // Refines the plan without folding. `whole`: a network that is not folded, with tables of the present prices.
  void Improve(Network& whole) {
    Descent descent(assignment_, whole, freedom_, tuning_.work);
    if (!is_small_ || !descent.RefineFreely()) descent.Refine();
    assignment_.Apply(descent.Changes());
  }

  Assignment& assignment_;
  const Freedom& freedom_;
  const Starts starts_;
  const SearchTuning& tuning_;
  int empty_;
  const std::vector<ir::OpId>& ops_;
  const size_t all_ops_;  // For which these stand.
  bool is_small_ = false;
  int64_t least_ = 0;
  std::vector<IndexedChange> best_;
};

}  // namespace

void Sapp(Assignment& assignment) {
  SappSearch(assignment, Freedom::Whole(assignment.table()), Starts::kWrittenPlans).Run();
}

void SappWithin(Assignment& assignment, const Freedom& freedom) {
  SappSearch(assignment, freedom, Starts::kPresentPlan).Run();
}

}  // namespace cleave::search
