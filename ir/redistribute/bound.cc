// Reading guide. With w the least link weight, S the mean bytes of a piece now and T those in the target:
//
// - Without partial sums a rank must receive what it wants and does not have. Every move costs at least w times what
// any
//   rank receives by it: an all_gather leaves (n-1)/n of its result more than was there, an all_to_all or permute
//   brings at most what it is priced. Where pieces are uneven this holds for their mean.
// - Sums that are partial over p ranks must be reduced. Slices are free, so the reduction may work on as little as
//   S' = S / r, r the ranks of the replicated atoms, and costs at least (p-1)/p * S'; it leaves S'/p per rank, and the
//   rest of T must be received. Starting from more than S' costs at least as much.

#include "ir/redistribute/bound.h"

#include <algorithm>
#include <limits>

namespace cleave {

CostBound::CostBound(const Problem& problem) : problem_(problem) {
  int64_t pieces = 1;
  least_weight_ = std::numeric_limits<double>::infinity();
  for (const Atom& atom : problem.atoms) {
    pieces *= atom.size;
    for (AxisId axis : atom.axes) least_weight_ = std::min(least_weight_, problem.mesh.axis(axis).weight);
  }
  target_bytes_ = MeanBytes(problem.target);
  is_even_ = true;
  for (size_t d = 0; d < problem.fixed.size(); ++d) {
    const int64_t fixed = problem.mesh.Size(problem.fixed[d]);
    is_even_ = is_even_ && problem.type.shape[d] % (fixed * pieces) == 0;
    sizes_.push_back(problem.type.shape[d] / fixed);
  }
  // Every rank gives a bound; ranks on the diagonal and off it see different moves.
  for (const size_t parity : {0, 1, 2}) {
    std::vector<int64_t>& coordinates = witnesses_.emplace_back();
    for (size_t i = 0; i < problem.atoms.size(); ++i) {
      coordinates.push_back(parity == 2 || i % 2 == parity ? problem.atoms[i].size - 1 : 0);
    }
  }
}

double CostBound::AtLeast(const Arrangement& arrangement) const {
  const double bytes = MeanBytes(arrangement);
  if (!arrangement.partial.empty()) {
    const double parts = static_cast<double>(problem_.CutCount(arrangement.partial));
    const double reduced = bytes / static_cast<double>(problem_.CutCount(problem_.ReplicatedAtoms(arrangement)));
    return least_weight_ * ((parts - 1) / parts * reduced + std::max(target_bytes_ - reduced / parts, 0.0));
  }
  double missing = std::max(target_bytes_ - bytes, 0.0);
  if (is_even_) {
    const double element = static_cast<double>(ElementSize(problem_.type.dtype).value());
    for (const std::vector<int64_t>& coordinates : witnesses_) {
      const double shared = element * static_cast<double>(SharedElements(arrangement, coordinates));
      missing = std::max(missing, target_bytes_ - shared);
    }
  }
  return least_weight_ * missing;
}

double CostBound::MeanBytes(const Arrangement& arrangement) const {
  int64_t pieces = 1;
  for (const std::vector<AxisId>& axes : problem_.fixed) pieces *= problem_.mesh.Size(axes);
  for (const std::vector<int>& atoms : arrangement.dimensions) pieces *= problem_.CutCount(atoms);
  return static_cast<double>(problem_.type.bytes().value()) / static_cast<double>(pieces);
}

int64_t CostBound::SharedElements(const Arrangement& arrangement, const std::vector<int64_t>& coordinates) const {
  const auto piece = [&](const std::vector<int>& atoms, int64_t elements) {
    int64_t count = 1;
    int64_t index = 0;
    for (int atom : atoms) {
      const int64_t size = problem_.atoms[static_cast<size_t>(atom)].size;
      count *= size;
      index = index * size + coordinates[static_cast<size_t>(atom)];
    }
    return PieceOf(elements, count, index);
  };
  int64_t shared = 1;
  for (size_t d = 0; d < sizes_.size(); ++d) {
    const Piece has = piece(arrangement.dimensions[d], sizes_[d]);
    const Piece wants = piece(problem_.target.dimensions[d], sizes_[d]);
    const int64_t begin = std::max(has.begin, wants.begin);
    const int64_t end = std::min(has.begin + has.size, wants.begin + wants.size);
    shared *= std::max<int64_t>(end - begin, 0);
  }
  return shared;
}

}  // namespace cleave
