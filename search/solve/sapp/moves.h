// Makes the strategies among which an op chooses in one step of a search: sets near its present one, as domains of a
// Network. The present strategy comes first, if it is allowed.
//
// Each function returns the number of a domain. A Freedom says which axes an op may move and which it must use.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_MOVES_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_MOVES_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "search/solve/assignment/strategy_table.h"
#include "search/solve/network/network.h"
#include "search/solve/sapp/freedom.h"

namespace cleave::search {

class Moves {
 public:
  // Table and network outlive the moves.
  Moves(StrategyTable& table, Network& network, Freedom freedom);

  // From now on no op may leave a required axis idle for which it has elements. Before, this holds only for the axis
  // that is being decided.
  void RequireAxes() { requires_axes_ = true; }
  // Whether `strategy` leaves idle only axes that the op may leave idle.
  bool UsesRequired(ir::OpId op, const ir::Strategy& strategy) const;

  // Only the present strategy.
  int Stay(ir::OpId op, int present);
  // `axis` on any factor, or idle.
  int Axis(ir::OpId op, int present, ir::AxisId axis);
  // All of `axes` on one factor, or idle.
  int Together(ir::OpId op, int present, const ir::AxisList& axes);
  // All ways to give each of `axes` a factor.
  int Each(ir::OpId op, int present, const ir::AxisList& axes);
  // `a` and `b` exchanged.
  int Swap(ir::OpId op, int present, ir::AxisId a, ir::AxisId b);
  // `axis` at other positions among the axes of its factor.
  int Place(ir::OpId op, int present, ir::AxisId axis);
  // Every strategy there is: each open axis on a factor or idle, in every order; the present one first.
  int All(ir::OpId op, int present);

 private:
  enum class Kind { kStay, kAxis, kTogether, kEach, kSwap, kPlace, kAll };
  using Strategies = std::vector<ir::Strategy>;

  template <typename Make>
  int Domain(Kind kind, ir::OpId op, int present, const ir::AxisList& axes, const Make& make);
  Strategies AllStrategies(ir::OpId op, const ir::Strategy& now) const;
  bool IsRequired(ir::OpId op, ir::AxisId axis) const;
  // Whether `strategy` moves only open axes from where `now` has them, to factors that the Freedom allows.
  bool IsAllowed(ir::OpId op, const ir::Strategy& strategy, const ir::Strategy& now) const;
  Strategies WithAxis(ir::OpId op, const ir::Strategy& without, ir::AxisId axis) const;

  StrategyTable& table_;
  Network& network_;
  const Freedom freedom_;
  ir::AxisList all_axes_;
  bool requires_axes_ = false;
  absl::flat_hash_map<std::vector<int>, int> known_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_MOVES_H_
