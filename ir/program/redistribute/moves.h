// The moves that are possible from an arrangement.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_MOVES_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_MOVES_H_

#include <optional>
#include <vector>

#include "ir/program/program.h"
#include "ir/program/redistribute/arrangement.h"

namespace cleave::ir {

struct ArrangementMove {
  std::optional<CollectiveKind> collective;  // nullopt: a slice.
  AtomList atoms;                            // In the order in which they number the group.
  int from_dimension = -1;
  int to_dimension = -1;
  Arrangement result;
};

using ArrangementPath = std::vector<ArrangementMove>;

ArrangementMove SliceMove(const Arrangement& now, size_t d, AtomIndex atom);
// The atoms of dimension `d` after the first `keep`.
ArrangementMove GatherMove(const Arrangement& now, size_t d, size_t keep);
ArrangementMove AllToAllMove(const Arrangement& now, size_t d, size_t keep, size_t to);
// REQUIRES: `atoms` are partial by one reduction.
ArrangementMove AllReduceMove(const Arrangement& now, AtomSpan atoms);
ArrangementMove ReduceScatterMove(const Arrangement& now, AtomSpan atoms, size_t to);
// REQUIRES: `result` has as many pieces in every dimension, and is partial over the same atoms.
ArrangementMove PermuteMove(const Problem& problem, const Arrangement& now, const Arrangement& result);

// Whether a permute can make `other` out of `now`.
bool HasSameCounts(const Problem& problem, const Arrangement& now, const Arrangement& other);

double PriceOf(const Problem& problem, const ArrangementMove& move, double input_bytes, double output_bytes);

enum class MoveChoice {
  kAll,       // Every move; of interchangeable atoms only the first.
  kPromising  // Of permutes only the one into the target; partial atoms together, one by one, or to their places.
};

std::vector<ArrangementMove> MovesFrom(const Problem& problem, const Arrangement& arrangement, MoveChoice choice);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_MOVES_H_
