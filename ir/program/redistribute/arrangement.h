// A redistribution as numbers: which axes take part, where they are now and where they must be at the end.
//
// An atom moves as one: a mesh axis, or a run of axes that source and target treat alike (neighbours in the same order
// in both). An arrangement says where every atom is. It is small; it is hashed and compared directly.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_ARRANGEMENT_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_ARRANGEMENT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "ir/program/redistribute/price.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

using AtomIndex = uint8_t;
using AtomList = absl::InlinedVector<AtomIndex, 16>;
using AtomSpan = absl::Span<const AtomIndex>;

bool Contains(AtomSpan atoms, AtomIndex atom);

struct Atom {
  AxisList axes = {};
  int64_t size = 1;
  std::vector<int64_t> ranks = {};        // For each weight of the problem the product of the sizes of the atom's axes.
  Reduction reduction = Reduction::kSum;  // For an atom that is partial in the source.
  int target_dimension = -1;              // -1: replicated there.
  int kind = 0;                           // Replicated atoms of the same kind are interchangeable.
};

// The atoms of each dimension, major first, and those that are partial, ascending. All others are replicated.
class Arrangement {
 public:
  explicit Arrangement(size_t rank) : ends_(rank, 0) {}

  size_t rank() const { return ends_.size(); }
  AtomSpan Dimension(size_t d) const { return AtomSpan(atoms_).subspan(Begin(d), ends_[d] - Begin(d)); }
  AtomSpan Partial() const { return AtomSpan(atoms_).subspan(Begin(rank())); }

  void Append(size_t d, AtomSpan atoms);
  // Keeps only the first `keep` atoms of dimension `d`.
  void ToInt32(size_t d, size_t keep);
  void AddPartial(AtomIndex atom) { atoms_.push_back(atom); }  // REQUIRES: larger than those that are partial.
  void RemovePartial(AtomSpan atoms);

  bool operator==(const Arrangement&) const = default;
  bool operator<(const Arrangement& other) const {
    return std::pair(AtomSpan(ends_), AtomSpan(atoms_)) < std::pair(AtomSpan(other.ends_), AtomSpan(other.atoms_));
  }
  template <typename H>
  friend H AbslHashValue(H hash, const Arrangement& arrangement) {
    return H::combine(std::move(hash), arrangement.ends_, arrangement.atoms_);
  }

 private:
  size_t Begin(size_t d) const { return d == 0 ? 0 : ends_[d - 1]; }

  AtomList atoms_;  // Of dimension 0, of dimension 1, …, partial.
  absl::InlinedVector<uint8_t, 8> ends_;
};

struct Problem {
  const Mesh& mesh;
  const CollectivePrice& price;  // Null: weighted bytes.
  TensorType type;
  std::vector<AxisList> fixed = {};       // For each dimension the axes at its front that stay.
  std::vector<int64_t> fixed_count = {};  // For each dimension the number of pieces that they make.
  std::vector<PartialAxis> fixed_partial = {};
  std::vector<double> weights = {};  // Of the atoms' axes, ascending.
  std::vector<Atom> atoms = {};
  Arrangement source = Arrangement(0);
  Arrangement target = Arrangement(0);
  double ticks_per_cost = 1;  // See Ticks.

  const Atom& atom(AtomIndex index) const { return atoms[index]; }
  int64_t CutCount(AtomSpan indexes) const;
  // Bytes of the largest local piece.
  double LocalBytes(const Arrangement& arrangement) const;
  // Ascending.
  AtomList ReplicatedAtoms(const Arrangement& arrangement) const;
  bool IsInPlace(AtomSpan dimension, size_t d) const;  // Whether the dimension is a prefix of the target's.

  AxisList AxesOf(AtomSpan indexes) const;
  Layout LayoutOf(const Arrangement& arrangement) const;

  // A cost as an integer. Sums of the same prices in another order differ in the last bits and must still be ties: a
  // tick is about 2^-40 of what it costs to move the whole tensor once over the most expensive link, or among all
  // ranks.
  int64_t Ticks(double cost) const;
};

enum class ProblemSize {
  kWhole,   // Every axis that source or target uses is an atom: no path is missed.
  kShared,  // The same, and axes of equal size and weight have consecutive numbers in the order in which source and
            // then target use them. So problems that differ only in the names of such axes are equal, and problems
            // whose atoms are equal are about one set of arrangements. No atoms are interchangeable, for another target
            // may use them.
  kMerged,  // Axes at the front of a dimension that stay are left out, and axes that can be one atom are joined.
};

// REQUIRES: every axis over which `target` is partial is partial in `source`, by the same reduction.
Problem MakeProblem(const Mesh& mesh, const CollectivePrice& price, const TensorType& type, const Layout& source,
                    const Layout& target, ProblemSize size);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_ARRANGEMENT_H_
