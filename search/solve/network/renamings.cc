#include "search/solve/network/renamings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {
namespace {

// With more renamings, finding equal choices takes longer than pricing them.
constexpr size_t kMostRenamings = 24;

ir::Strategy Renamed(ir::Strategy strategy, const ir::AxisList& names) {
  const auto rename = [&](ir::AxisId& axis) { axis = names[static_cast<size_t>(axis.value())]; };
  for (ir::AxisList& axes : strategy.cuts) std::for_each(axes.begin(), axes.end(), rename);
  for (ir::PassThrough& pass : strategy.passes) rename(pass.axis);
  std::sort(strategy.passes.begin(), strategy.passes.end(),
            [](const ir::PassThrough& a, const ir::PassThrough& b) { return a.axis < b.axis; });
  return strategy;
}

}  // namespace

Renamings::Renamings(const ir::Mesh& mesh) {
  renamings_.push_back(mesh.AxisIds());
  for (const AxisClass& own : AxisClassesOf(mesh)) {
    std::vector<ir::AxisList> longer;
    ir::AxisList order = own.axes;
    do {
      for (ir::AxisList names : renamings_) {
        for (size_t i = 0; i < order.size(); ++i) names[static_cast<size_t>(own.axes[i].value())] = order[i];
        longer.push_back(std::move(names));
      }
    } while (longer.size() <= kMostRenamings && std::next_permutation(order.begin(), order.end()));
    renamings_ = std::move(longer);
    if (renamings_.size() > kMostRenamings) break;
  }
  if (renamings_.size() > kMostRenamings) renamings_.resize(1);
  renamings_.erase(renamings_.begin());
}

RenamedValues Renamings::Of(const StrategyTable& table, ir::OpId op, const std::vector<int>& strategies) const {
  absl::flat_hash_map<int, int> value_of;
  for (size_t value = 0; value < strategies.size(); ++value) {
    value_of.emplace(strategies[value], static_cast<int>(value));
  }
  RenamedValues renamed;
  for (const ir::AxisList& names : renamings_) {
    std::vector<int>& values = renamed.emplace_back();
    for (const int strategy : strategies) {
      const std::optional<int> number = table.Known(op, Renamed(table.strategy(op, strategy), names));
      const auto found = number.has_value() ? value_of.find(*number) : value_of.end();
      if (found == value_of.end()) return {};
      values.push_back(found->second);
    }
  }
  return renamed;
}

bool FollowsNames(const TermKind& kind) {
  return kind.inner_kind < 0 &&
         std::all_of(kind.formulas.begin(), kind.formulas.end(), [](const StrategyFormula& formula) {
           const bool is_fixed = formula.kind == StrategyFormula::Kind::kNumber && formula.number != 0;
           return formula.seen < 0 && formula.kind != StrategyFormula::Kind::kBatchCut && !is_fixed;
         });
}

}  // namespace cleave::search
