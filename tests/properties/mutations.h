// Ways to break a partitioned program, each a mistake that partition, a rewrite or a hand could make. The compiler's
// proof must catch all of them.
#ifndef CLEAVE_TESTS_PROPERTIES_MUTATIONS_H_
#define CLEAVE_TESTS_PROPERTIES_MUTATIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "ir/program/program.h"

namespace cleave::properties {

struct Mutation {
  std::string name;
  // Breaks the program at step `at`; false, and nothing said of the program, where it finds nothing to break there.
  bool (*apply)(Program& program, size_t at);
};

// What moves values between ranks: collectives and slices.
std::vector<Mutation> MovementMutations();
// What computes: ops, their inputs, strategies and attributes; and the order of steps.
std::vector<Mutation> ComputeMutations();
// What the program says of its values, and what it gives back: layouts, loss, metrics, updates.
std::vector<Mutation> ResultMutations();

// All of them.
std::vector<Mutation> Mutations();

// Of use to several mutations.
Collective* CollectiveAt(Program& program, size_t at);  // Null where the step is another.
Compute* ComputeAt(Program& program, size_t at);
Slice* SliceAt(Program& program, size_t at);
// Lets every reader of `from` read `to` instead; with `from_step`, only steps from there on.
void ReplaceReads(Program& program, ValueId from, ValueId to, size_t from_step = 0);

}  // namespace cleave::properties

#endif  // CLEAVE_TESTS_PROPERTIES_MUTATIONS_H_
