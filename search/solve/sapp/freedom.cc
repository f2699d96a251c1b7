#include "search/solve/sapp/freedom.h"

#include <algorithm>
#include <utility>

#include "search/solve/sapp/choices.h"

namespace cleave::search {

Freedom Freedom::Whole(const StrategyTable& table) {
  const GraphFacts& facts = table.facts();
  const ir::AxisList axes = table.mesh().AxisIds();
  Freedom freedom(facts.graph->ops.size());
  freedom.classes_.push_back({.open = axes, .required = {}});
  if (table.paid().may_leave_idle) return freedom;
  for (ir::OpId op : facts.set_ops) {
    if (facts.roles[op] == Role::kProduct) freedom.Set(op, {.open = axes, .required = axes});
  }
  return freedom;
}

int Freedom::ClassOf(OpFreedom own) {
  const auto found = std::find(classes_.begin(), classes_.end(), own);
  const auto index = static_cast<int>(found - classes_.begin());
  if (found == classes_.end()) classes_.push_back(std::move(own));
  return index;
}

bool Freedom::HasFactors(const OpFreedom& own, const ir::Strategy& strategy, const ir::Rule& rule,
                         const ir::Mesh& mesh) {
  for (size_t i = 0; i < own.factors.size(); ++i) {
    const int factor = FactorCutBy(strategy, own.required[i]);
    const std::vector<int>& allowed = own.factors[i];
    const auto is_allowed = [&](int f) { return std::find(allowed.begin(), allowed.end(), f) != allowed.end(); };
    if (factor < 0 || allowed.empty() || is_allowed(factor)) continue;
    const std::vector<int> fitting = FactorsFor(strategy, rule, mesh, own.required[i]);
    if (std::any_of(fitting.begin(), fitting.end(), is_allowed)) return false;
  }
  return true;
}

}  // namespace cleave::search
