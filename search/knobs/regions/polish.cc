#include "search/knobs/regions/polish.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "search/solve/network/network.h"
#include "search/solve/sapp/moves.h"

namespace cleave::search {
namespace {

// The ops of the graph that is measured.
int64_t MeasuredOps(const GraphFacts& facts) {
  return std::count_if(facts.roles.begin(), facts.roles.end(), [](Role role) { return role != Role::kAside; });
}

class Polisher {
 public:
  Polisher(Assignment& assignment, const Freedom& freedom, int64_t ops, const std::function<Measured()>& measure,
           ir::Objective objective)
      : assignment_(assignment),
        facts_(assignment.facts()),
        measure_(measure),
        objective_(objective),
        best_(measure()),
        left_(ops / MeasuredOps(facts_)) {
    const SearchTuning& tuning = assignment.options().tuning;
    if (assignment.mesh().axis_count() > tuning.small_axes) return;
    Network network(assignment.table(), assignment.demands(), assignment.options(), {});
    Moves moves(assignment.table(), network, freedom);
    moves.RequireAxes();
    for (ir::OpId op : network.variables()) {
      if (assignment.fixed(op)) continue;
      std::vector<int> strategies = network.domain(moves.All(op, assignment.index(op)));
      if (strategies.size() < 2) continue;
      ops_.push_back(op);
      strategies_.push_back(std::move(strategies));
    }
  }

  bool TriesAll() const { return Plans() <= left_; }

  void Run() {
    if (TriesAll()) {
      TryAll();
    } else {
      while (left_ > 0 && (TrySingles() || TryPairs())) {
      }
    }
  }

 private:
  // The number of all plans, or a number above what is left.
  int64_t Plans() const {
    int64_t plans = 1;
    for (const std::vector<int>& strategies : strategies_) {
      plans *= static_cast<int64_t>(strategies.size());
      if (plans > left_) break;
    }
    return plans;
  }

  // Keeps the assignment's plan, if it is better than the best.
  bool Keep() {
    if (left_ <= 0) return false;
    --left_;
    if (assignment_.cost().impossible > 0) return false;
    const Measured measured = measure_();
    if (!IsBetter(objective_, measured, best_)) return false;
    best_ = measured;
    return true;
  }

  void Set(size_t op, int strategy) {
    assignment_.Apply(std::vector<IndexedChange>{{.op = ops_[op], .strategy = strategy}});
  }

  // Under `speed` the cheapest plans come first: what is measured may end early where it takes longer than what is
  // known.
  void TryAll() {
    std::vector<std::pair<double, std::vector<size_t>>> plans;  // With their prices.
    std::vector<size_t> digits(ops_.size(), 0);
    for (bool more = !ops_.empty(); more;) {
      Set(digits);
      if (assignment_.cost().impossible == 0) plans.emplace_back(assignment_.cost().price, digits);
      more = false;
      for (size_t op = ops_.size(); op-- > 0 && !more;) {
        more = ++digits[op] < strategies_[op].size();
        if (!more) digits[op] = 0;
      }
    }
    if (objective_ == ir::Objective::kSpeed) {
      std::stable_sort(plans.begin(), plans.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    std::vector<size_t> kept(ops_.size(), 0);
    for (const auto& [price, plan] : plans) {
      Set(plan);
      if (Keep()) kept = plan;
    }
    Set(kept);
  }
  void Set(const std::vector<size_t>& digits) {
    for (size_t op = 0; op < digits.size(); ++op) Set(op, strategies_[op][digits[op]]);
  }

  // Gives one op another strategy, the first that is better; returns whether there was one.
  bool TrySingles() {
    bool any = false;
    for (size_t op = 0; op < ops_.size() && left_ > 0; ++op) any |= TryOne(op);
    return any;
  }
  bool TryOne(size_t op) {
    bool any = false;
    for (int strategy : strategies_[op]) {
      const int mark = assignment_.mark();
      Set(op, strategy);
      if (Keep()) {
        any = true;
      } else {
        assignment_.Rollback(mark);
      }
    }
    return any;
  }

  bool TryPairs() {
    for (size_t a = 0; a < ops_.size() && left_ > 0; ++a) {
      for (size_t b = a + 1; b < ops_.size(); ++b) {
        if (AreNeighbours(ops_[a], ops_[b]) && TryPair(a, b)) return true;
      }
    }
    return false;
  }
  bool TryPair(size_t a, size_t b) {
    for (int strategy : strategies_[a]) {
      const int mark = assignment_.mark();
      Set(a, strategy);
      if (TryOne(b)) return true;
      assignment_.Rollback(mark);
    }
    return false;
  }

  // Whether one reads the other's value, or both read one value.
  bool AreNeighbours(ir::OpId a, ir::OpId b) const {
    const std::vector<ir::OpId>&of_a = facts_.op(a).inputs, of_b = facts_.op(b).inputs;
    return std::any_of(of_b.begin(), of_b.end(), [&](ir::OpId input) {
      return input == a || std::find(of_a.begin(), of_a.end(), input) != of_a.end();
    });
  }

  Assignment& assignment_;
  const GraphFacts& facts_;
  const std::function<Measured()>& measure_;
  const ir::Objective objective_;
  Measured best_;
  int64_t left_;  // Plans that may still be measured.
  std::vector<ir::OpId> ops_;
  std::vector<std::vector<int>> strategies_;  // Per op, by their numbers in the assignment, the present one first.
};

}  // namespace

bool TriesAll(Assignment& assignment, const Freedom& freedom, int64_t ops) {
  const std::function<Measured()> nothing = [] { return Measured(); };
  return Polisher(assignment, freedom, ops, nothing, ir::Objective::kSpeed).TriesAll();
}

void Polish(Assignment& assignment, const Freedom& freedom, int64_t ops, const std::function<Measured()>& measure,
            ir::Objective objective) {
  Polisher(assignment, freedom, ops, measure, objective).Run();
}

}  // namespace cleave::search
