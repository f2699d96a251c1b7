// The moving part of a redistribution: what of two layouts differs, in as few pieces as possible.
//
// An atom is a run of mesh axes that source and target treat alike: neighbours in the same order in both. Axes at the
// same place in both layouts are no part of the problem. An arrangement says where every atom is.
#ifndef CLEAVE_IR_REDISTRIBUTE_ARRANGEMENT_H_
#define CLEAVE_IR_REDISTRIBUTE_ARRANGEMENT_H_

#include <string>
#include <vector>

#include "ir/layout/layout.h"
#include "ir/mesh/mesh.h"
#include "ir/types/types.h"

namespace cleave {

struct Atom {
  std::vector<AxisId> axes;
  int64_t size = 1;
  Reduction reduction = Reduction::kSum;  // Of an atom that is partial in the source.
};

// Indexes of atoms; an atom in neither list is replicated.
struct Arrangement {
  std::vector<std::vector<int>> dimensions;  // Major first, after the fixed axes.
  std::vector<int> partial;                  // Ascending.

  bool operator==(const Arrangement&) const = default;
};

// One redistribution, reduced to its atoms.
struct Problem {
  const Mesh& mesh;
  TensorType type;
  std::vector<std::vector<AxisId>> fixed;  // Per dimension the axes in front that stay.
  std::vector<PartialAxis> fixed_partial;
  std::vector<Atom> atoms;
  Arrangement source;
  Arrangement target;

  Layout LayoutOf(const Arrangement& arrangement) const;
  // Bytes of the largest local piece.
  double LocalBytes(const Arrangement& arrangement) const;
  std::vector<int> ReplicatedAtoms(const Arrangement& arrangement) const;
  int64_t CutCount(const std::vector<int>& atoms) const;
  std::vector<AxisId> AxesOf(const std::vector<int>& atoms) const;
};

enum class ProblemSize {
  kWhole,   // Every axis that source or target uses is an atom, also where it stays: nothing is missed.
  kMoving,  // Axes at the front of a dimension that stay are left out.
  kMerged,  // And axes that can be one atom are joined. Paths that take a run apart on the way are missed.
};

// REQUIRES: every axis over which `target` is partial is partial in `source`, by the same reduction.
Problem MakeProblem(const Mesh& mesh, const TensorType& type, const Layout& source, const Layout& target,
                    ProblemSize size);

// A short text that orders and identifies arrangements.
std::string Key(const Arrangement& arrangement);

}  // namespace cleave

#endif  // CLEAVE_IR_REDISTRIBUTE_ARRANGEMENT_H_
