// What a search may do with each op: which mesh axes it may move, which of those it must use, and on which factors.
//
//   Freedom freedom = Freedom::Whole(assignment.table());      // for a search of whole plans
//   freedom.Set(op, {.open = {m0, m1}, .required = {m1}});     // m2 stays on its factor
//
// A value: copied freely, no shared state.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_FREEDOM_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_FREEDOM_H_

#include <utility>
#include <vector>

#include "search/solve/assignment/strategy_table.h"

namespace cleave::search {

// The freedom of one op. Both lists are in the order of the mesh.
struct OpFreedom {
  ir::AxisList open;      // The axes that may move; all others stay on their factors.
  ir::AxisList required;  // Open axes that are not idle while a factor has elements for them.
  // Per required axis, the factors that it cuts while one of them has elements for it. Empty: any factor.
  std::vector<std::vector<int>> factors = {};

  bool operator==(const OpFreedom&) const = default;
};

class Freedom {
 public:
  // Every axis is open to every op. Products must use all, unless the price lets products leave axes idle.
  static Freedom Whole(const StrategyTable& table);

  void Set(ir::OpId op, OpFreedom own) { class_of_[op] = ClassOf(std::move(own)); }
  const OpFreedom& of(ir::OpId op) const { return classes_[static_cast<size_t>(class_of_[op])]; }
  // Equal for ops of equal freedom.
  int class_of(ir::OpId op) const { return class_of_[op]; }
  // Whether each required axis that `strategy` uses cuts a factor that `own` allows.
  static bool HasFactors(const OpFreedom& own, const ir::Strategy& strategy, const ir::Rule& rule,
                         const ir::Mesh& mesh);

 private:
  explicit Freedom(size_t ops) : class_of_(ops, 0) {}
  int ClassOf(OpFreedom own);

  std::vector<OpFreedom> classes_;
  IdVector<ir::OpId, int> class_of_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_FREEDOM_H_
