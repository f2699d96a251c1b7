// Symmetry of mesh axes: if all ops of a term permute the axes of a class in the same way, its cost stays the same,
// because prices depend on an axis only by its class.
#ifndef CLEAVE_SEARCH_SOLVE_NETWORK_RENAMINGS_H_
#define CLEAVE_SEARCH_SOLVE_NETWORK_RENAMINGS_H_

#include <vector>

#include "ir/sharding/mesh/mesh.h"
#include "search/solve/assignment/strategy_table.h"
#include "search/solve/network/terms.h"

namespace cleave::search {

// Per renaming (a permutation of axes within their classes) and value of a variable, the renamed value.
using RenamedValues = std::vector<std::vector<int>>;

class Renamings {
 public:
  // Finds the renamings of `mesh`; none where there are very many.
  explicit Renamings(const ir::Mesh& mesh);

  // The renamed values of a variable whose domain are these strategies of `op`. Empty if a renaming leads out of the
  // domain.
  RenamedValues Of(const StrategyTable& table, ir::OpId op, const std::vector<int>& strategies) const;

 private:
  std::vector<ir::AxisList> renamings_;  // By axis its new name; without the identity.
};

// Whether renaming the term's variables renames the strategies of all its ops: none is fixed to a strategy that cuts.
bool FollowsNames(const TermKind& kind);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_NETWORK_RENAMINGS_H_
