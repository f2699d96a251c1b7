// Where an op may go at once in a search: sets of strategies near its present one, as domains of a Network. The present
// strategy comes first wherever it may stay.
//
// Products use every axis that one of their factors has elements for, unless the price lets them leave axes idle; light
// ops may always leave them idle.
#ifndef CLEAVE_SEARCH_SAPP_MOVES_H_
#define CLEAVE_SEARCH_SAPP_MOVES_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "search/assignment/strategy_table.h"
#include "search/network/network.h"

namespace cleave {

class Moves {
 public:
  // Both outlive the moves.
  Moves(StrategyTable& table, Network& network);

  // From now on no product may leave an axis idle for which it has elements. Before, while a plan is built up axis by
  // axis, that is asked of the axis that is being decided only.
  void RequireAllAxes() { requires_all_axes_ = true; }
  // Whether the op may leave idle the axes that `strategy` leaves idle.
  bool UsesAllAxes(OpId op, const Strategy& strategy) const;

  // Only where the op is now.
  int Stay(OpId op, int present);
  // `axis` on any factor, or idle.
  int Axis(OpId op, int present, AxisId axis);
  // All of `axes` on one factor, or idle.
  int Together(OpId op, int present, const std::vector<AxisId>& axes);
  // All ways to give each of `axes` a factor.
  int Each(OpId op, int present, const std::vector<AxisId>& axes);
  // `a` and `b` change places.
  int Swap(OpId op, int present, AxisId a, AxisId b);
  // `axis` at other places among the axes of its factor.
  int Place(OpId op, int present, AxisId axis);
  // Every strategy there is: each axis on a factor or idle, in every order; the present one first.
  int All(OpId op, int present);

 private:
  enum class Kind { kStay, kAxis, kTogether, kEach, kSwap, kPlace, kAll };
  using Strategies = std::vector<Strategy>;

  template <typename Make>
  int Domain(Kind kind, OpId op, int present, const std::vector<AxisId>& axes, const Make& make);
  Strategies AllStrategies(OpId op) const;
  bool MustUseAxes(OpId op) const;
  Strategies WithAxis(OpId op, const Strategy& without, AxisId axis) const;

  StrategyTable& table_;
  Network& network_;
  std::vector<AxisId> all_axes_;
  bool requires_all_axes_ = false;
  absl::flat_hash_map<std::vector<int>, int> known_;
};

}  // namespace cleave

#endif  // CLEAVE_SEARCH_SAPP_MOVES_H_
