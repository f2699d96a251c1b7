// Mesh axes of one class may change their names: where all ops of a term take the new names, its cost stays the same,
// because prices know axes only by their class.
#ifndef CLEAVE_SEARCH_SOLVE_NETWORK_RENAMINGS_H_
#define CLEAVE_SEARCH_SOLVE_NETWORK_RENAMINGS_H_

#include <vector>

#include "ir/sharding/mesh/mesh.h"
#include "search/solve/assignment/strategy_table.h"
#include "search/solve/network/terms.h"

namespace cleave::search {

// Per renaming and value of a variable the value that has the new names.
using RenamedValues = std::vector<std::vector<int>>;

class Renamings {
 public:
  // Has none for meshes with very many of them.
  explicit Renamings(const ir::Mesh& mesh);

  // Of a variable that takes one of these strategies of `op`. Empty where a renaming leads to another strategy.
  RenamedValues Of(const StrategyTable& table, ir::OpId op, const std::vector<int>& strategies) const;

 private:
  std::vector<ir::AxisList> renamings_;  // The new name of each axis; all but the one that changes none.
};

// Whether the strategies of all ops of the term take new names with its variables: none is fixed, but as replicated.
bool FollowsNames(const TermKind& kind);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_NETWORK_RENAMINGS_H_
