// Lists the other strategies that a product could have had, with their costs: one mesh axis, or all, moved to another
// factor, while the light ops around it keep their strategies or follow.
//
// O(axes x factors x ops of a bundle) for each product; products of equal layers with equal surroundings share a
// result.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_ALTERNATIVES_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_ALTERNATIVES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/sharding/plan/plan.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/bundles.h"

namespace cleave::search {

struct Alternative {
  ir::Choice choice;
  std::vector<Change> changes;  // From the assignment's plan to this alternative.
};

class Alternatives {
 public:
  // Both outlive this. Calls leave the assignment unchanged. REQUIRES: it does not change between calls.
  Alternatives(Assignment& assignment, const Bundles& bundles) : assignment_(assignment), bundles_(bundles) {}

  // The choices of `product`: the present strategy first, then at most `tuning.alternatives` others, cheapest first. If
  // several strategies cut each factor equally often on each kind of link and have the same cost, only the first is
  // listed.
  std::vector<ir::Choice> ChoicesOf(ir::OpId product);

  // The other choices alone, with their changes.
  std::vector<Alternative> OthersFor(ir::OpId product);

 private:
  std::vector<ir::AxisList> MovesOf(const ir::Strategy& current) const;
  std::vector<ir::Strategy> StrategiesOf(ir::OpId product) const;
  std::optional<Alternative> Cheapest(ir::OpId product, const ir::Strategy& strategy);
  std::string Surroundings(ir::OpId product) const;

  Assignment& assignment_;
  const Bundles& bundles_;
  std::map<std::string, std::vector<ir::Choice>> known_;  // By the surroundings of a product.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_ALTERNATIVES_H_
