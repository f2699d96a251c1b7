// Finds the ops that the cuts of pins can reach. A cut spreads from op to op through the factors of their rules,
// forward and backward, through data whose layout is fixed, and between the readers of one parameter.
//
//   const Reach reach(assignment, pins, group);
//   if (reach.reaches(product)) ... it is divided by the axes of the group
//
// A cut does not spread through a contracted factor, whose result is a partial sum, nor through a pinned op. A product
// that cannot take the cut of what it reads or makes is reached by its other factors. If a product is reached, so are
// those in its place in equal layers.
//
// The result depends on rules and pins only, not on strategies. Time: O(ops x dimensions) for each time that a cut
// changes its direction along the graph.
#ifndef CLEAVE_SEARCH_SOLVE_PROPAGATE_REACH_H_
#define CLEAVE_SEARCH_SOLVE_PROPAGATE_REACH_H_

#include <vector>

#include "search/solve/assignment/assignment.h"
#include "search/solve/propagate/axis_group.h"

namespace cleave::search {

class Reach {
 public:
  // The reach of the cuts that `pins`, a subset of the assignment's demands, make by the axes of `group`.
  Reach(const Assignment& assignment, const OpDemands& pins, const AxisGroup& group);

  // Whether a dimension of what the op reads or makes may be cut.
  bool reaches(ir::OpId op) const { return reached_[op] != 0; }
  // The factors by which a cut reaches the op, ascending. REQUIRES: reaches(op).
  std::vector<int> factors(ir::OpId op) const;

 private:
  void Seed(ir::OpId op, const OpDemand& demand);
  void Mark(ir::OpId value, const ir::Layout& layout);
  bool Spread();
  bool Visit(ir::OpId op);
  bool TakeFromOtherLayers(const std::vector<std::vector<ir::OpId>>& repeated, const OpDemands& pins);
  std::vector<uint8_t> FactorsOf(ir::OpId op) const;
  bool MarkFactors(ir::OpId op, const std::vector<uint8_t>& factors);

  template <typename See>
  void ForEachTensor(ir::OpId op, const See& see) const;
  template <typename See>
  void ForEachFactor(const ir::Rule& rule, const ir::FactorList& dimension, const See& see) const;

  const Assignment& assignment_;
  const GraphFacts& facts_;
  const AxisGroup group_;
  const IdVector<ir::OpId, uint8_t> carries_;
  IdVector<ir::OpId, std::vector<uint8_t>> marked_;  // By value and dimension, whether it may be cut.
  IdVector<ir::OpId, uint8_t> reached_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_PROPAGATE_REACH_H_
