// Depth-first search over the open ops in program order.
//
// A value's price is settled when all ops on which it depends are decided. Prices are never negative, so the sum of the
// settled ones is a lower bound for every plan with this beginning. Of two beginnings that agree in the ops on which
// unsettled prices depend only the cheaper one is followed. Read Descend first.
#include "search/oracle/oracle.h"

#include <algorithm>
#include <map>
#include <utility>

#include "search/oracle/dependencies.h"

namespace cleave::search {
namespace {

class Walk {
 public:
  Walk(Assignment& assignment, const OracleOptions& options)
      : assignment_(assignment), options_(options), open_(assignment.OpenOps()), levels_(open_.size() + 1) {
    for (size_t i = 0; i < open_.size(); ++i) {
      const ir::OpId op = open_[i];
      const bool uses_all = assignment_.facts().roles[op] == Role::kProduct && options.may_take == nullptr;
      for (const ir::Strategy& strategy : AllStrategies(assignment_.facts().rule(op), assignment_.mesh(), uses_all)) {
        if (options.may_take == nullptr || options.may_take(op, strategy)) {
          levels_[i].choices.push_back(assignment_.Intern(op, strategy));
        }
      }
    }
    FindSettledValues();
  }

  std::optional<BestPlan> Run() {
    Cost cost;
    for (ir::OpId value : settled_at_once_) cost = cost + assignment_.value_cost(value);
    Descend(0, cost);
    if (gave_up_) return std::nullopt;
    best_->tried = tried_;
    return best_;
  }

 private:
  struct Level {
    std::vector<int> choices;                   // Of its op, by number.
    std::vector<ir::OpId> settled;              // Values whose price is settled by it.
    std::vector<ir::OpId> in_play;              // Earlier ops on which unsettled prices depend.
    std::map<std::vector<int>, Cost> cheapest;  // By the strategies of the ops in play.
  };

  void FindSettledValues() {
    const GraphFacts& facts = assignment_.facts();
    const IdVector<ir::OpId, std::set<ir::OpId>> behind = DecisionsBehindPrices(facts, open_);
    for (const ir::Op& op : facts.graph->ops) {
      if (behind[op.id].empty()) {
        settled_at_once_.push_back(op.id);
        continue;
      }
      // The open ops are in program order, as ids are.
      const auto last = std::lower_bound(open_.begin(), open_.end(), *behind[op.id].rbegin()) - open_.begin();
      levels_[static_cast<size_t>(last)].settled.push_back(op.id);
      for (auto level = last; level > 0; --level) {
        std::vector<ir::OpId>& in_play = levels_[static_cast<size_t>(level)].in_play;
        for (ir::OpId decision : behind[op.id]) {
          if (decision < open_[static_cast<size_t>(level)]) in_play.push_back(decision);
        }
      }
    }
    for (Level& level : levels_) {
      std::sort(level.in_play.begin(), level.in_play.end());
      level.in_play.erase(std::unique(level.in_play.begin(), level.in_play.end()), level.in_play.end());
    }
  }

  void Descend(size_t depth, const Cost& settled) {
    if (gave_up_) return;
    if (depth == open_.size()) return Keep();
    Level& level = levels_[depth];
    if (options_.prune && !IsCheapestSoFar(level, settled)) return;
    std::vector<std::pair<Cost, int>> children;
    const int mark = assignment_.mark();
    for (int choice : level.choices) {
      assignment_.Apply(std::vector<IndexedChange>{{.op = open_[depth], .strategy = choice}});
      Cost cost = settled;
      for (ir::OpId value : level.settled) cost = cost + assignment_.value_cost(value);
      children.emplace_back(cost, choice);
      assignment_.Rollback(mark);
    }
    tried_ += static_cast<int64_t>(children.size());
    gave_up_ = tried_ > options_.most_tried;
    // Takes the cheapest beginning first, so that a good plan is known early.
    if (options_.prune) {
      std::stable_sort(children.begin(), children.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.first.impossible, a.first.price, a.first.collectives) <
               std::tuple(b.first.impossible, b.first.price, b.first.collectives);
      });
    }
    for (const auto& [cost, choice] : children) {
      if (options_.prune && (cost.impossible > 0 || (best_.has_value() && !Cheaper(cost, best_->cost)))) continue;
      assignment_.Apply(std::vector<IndexedChange>{{.op = open_[depth], .strategy = choice}});
      Descend(depth + 1, cost);
      assignment_.Rollback(mark);
    }
  }

  bool IsCheapestSoFar(Level& level, const Cost& cost) {
    std::vector<int> key;
    for (ir::OpId op : level.in_play) key.push_back(assignment_.index(op));
    const auto [found, is_new] = level.cheapest.emplace(std::move(key), cost);
    if (is_new) return true;
    if (!Cheaper(cost, found->second)) return false;
    found->second = cost;
    return true;
  }

  void Keep() {
    const Cost& cost = assignment_.cost();
    if (cost.impossible > 0 || (best_.has_value() && !Cheaper(cost, best_->cost))) return;
    BestPlan plan{.cost = cost, .strategies = {}};
    for (ir::OpId op : open_) plan.strategies.push_back({.op = op, .strategy = assignment_.index(op)});
    best_ = std::move(plan);
  }

  Assignment& assignment_;
  const OracleOptions options_;
  const std::vector<ir::OpId> open_;  // In program order.
  std::vector<Level> levels_;         // One per open op, and the end.
  std::vector<ir::OpId> settled_at_once_;
  std::optional<BestPlan> best_;
  int64_t tried_ = 0;
  bool gave_up_ = false;
};

}  // namespace

std::optional<BestPlan> TryAllPlans(Assignment& assignment, const OracleOptions& options) {
  return Walk(assignment, options).Run();
}

}  // namespace cleave::search
