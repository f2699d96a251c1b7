// Redistributions when axes of one link class and size are interchangeable: only how many of them cut each dimension
// counts.
//
// This gives a bound: every way from one layout to another is also a way from the counts of the one to the counts of
// the other, and costs as much there, or less where pieces are uneven (sizes are taken as the mean over ranks). So no
// way costs less than the cheapest one over counts. The symmetry is used for each tensor alone, which is why no plan
// may reach the bound: the axes that one tensor needs in one order may be needed in another order by the next.
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

// The layout with the same number of axes of each class in each place, assigned in the order of the mesh: it is the
// same for layouts with equal counts.
ir::Layout CanonicalLayout(const std::vector<AxisClass>& classes, const ir::Layout& layout);

class RelaxedPrices {
 public:
  explicit RelaxedPrices(const ir::Mesh& mesh) : classes_(AxisClassesOf(mesh)) {}

  const std::vector<AxisClass>& classes() const { return classes_; }

  // The least weighted bytes that any way sends, per byte of the whole tensor. REQUIRES: canonical layouts without
  // windows, and `target` partial only where `source` is.
  double AtLeast(const ir::Layout& source, const ir::Layout& target);
  // The number of counts that a tensor of this rank can have.
  int64_t StateCount(int rank) const;

 private:
  // Per class the number of axes of each dimension, then of those over which the tensor is partial.
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
