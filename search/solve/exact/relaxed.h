// Prices of redistributions when axes of one link class and size are interchangeable: only how many of them cut each
// dimension counts.
//
// A lower bound: every redistribution between two layouts is also one between their counts, and costs as much there, or
// less where pieces are uneven (sizes are means over ranks). It may be below the cost of every plan, because the
// symmetry is used for each tensor alone: one tensor may need the axes in another order than the next.
#ifndef CLEAVE_SEARCH_SOLVE_EXACT_RELAXED_H_
#define CLEAVE_SEARCH_SOLVE_EXACT_RELAXED_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {

// The layout with the same counts whose axes are assigned in the order of the mesh: equal for layouts with equal
// counts.
ir::Layout CanonicalLayout(const std::vector<AxisClass>& classes, const ir::Layout& layout);

class RelaxedPrices {
 public:
  explicit RelaxedPrices(const ir::Mesh& mesh) : classes_(AxisClassesOf(mesh)) {}

  const std::vector<AxisClass>& classes() const { return classes_; }

  // A lower bound of the weighted bytes that a redistribution sends, per byte of the whole tensor. REQUIRES: canonical
  // layouts without windows, and `target` partial only where `source` is.
  double AtLeast(const ir::Layout& source, const ir::Layout& target);
  // The number of counts that a tensor of this rank can have.
  int64_t StateCount(int rank) const;

 private:
  // Per class the number of axes that cut each dimension, then of those over which the tensor is partial.
  using State = std::vector<uint8_t>;

  struct Space {
    std::vector<State> states;
    absl::flat_hash_map<State, int> index;
    std::vector<double> local;                     // Share of the tensor that a rank has.
    std::map<int, std::vector<double>> distances;  // From a source to all.
  };

  Space& SpaceOf(int rank);
  State StateOf(const ir::Layout& layout) const;
  const std::vector<double>& DistancesFrom(Space& space, int source, int rank);
  template <typename Reach>
  void Moves(const Space& space, int from, int rank, const Reach& reach) const;

  std::vector<AxisClass> classes_;
  std::map<int, Space> spaces_;  // By rank.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_EXACT_RELAXED_H_
