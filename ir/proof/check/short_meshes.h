// Small meshes that together behave like a large one. The simulated proof runs on them.
//
// How steps treat an axis does not depend on its length. So an axis longer than three becomes one of three, and of axes
// that all steps treat alike two stay. An axis that cuts a part of a compound dimension must divide it: one of more
// than `most_ranks` ranks becomes its smallest divisor from three on, and one that exhausts a part stays as it is.
// Where even that leaves more than `most_ranks` ranks, several meshes share the axes: each mesh keeps some and gives
// the others size 1, every axis is kept in some mesh, and pairs of axes are kept together as far as kMostMeshes meshes
// allow. An axis that cuts a minor part of a compound dimension stays together with those that exhaust the major parts;
// where these alone are more than kMostRanks ranks, it is left out.
#ifndef CLEAVE_IR_PROOF_CHECK_SHORT_MESHES_H_
#define CLEAVE_IR_PROOF_CHECK_SHORT_MESHES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/program/program.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {

inline constexpr int64_t kSimulatedRanks = 16;
inline constexpr int kMostRanks = 64;
inline constexpr size_t kMostMeshes = 8;

struct ShortMeshes {
  std::vector<Mesh> meshes;           // With the axes of the program's mesh; there is at least one.
  std::vector<std::string> left_out;  // Names of axes.
};

// The axis of a pipeline's stages stays as it is, and counts above are those of the ranks of one stage: others have
// nothing of its values.
int64_t RanksOfStage(const Program& program);

// A mesh of at most `most_ranks` ranks stays as it is.
ShortMeshes ShortMeshesOf(const Program& program, int64_t most_ranks = kSimulatedRanks);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_SHORT_MESHES_H_
