// Ways to break a partitioned program, each a mistake that partition, a rewrite or a person could make. The compiler's
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
  // Breaks the program at step `at`; false if there is nothing to break, and then the program is unspecified.
  bool (*apply)(Program& program, size_t at);
};

// Mutations of steps that move values between ranks: collectives and slices.
std::vector<Mutation> MovementMutations();
// Mutations of ops, their inputs, strategies and attributes, and of the order of steps.
std::vector<Mutation> ComputeMutations();
// Mutations of layouts and of results: loss, metrics, updates.
std::vector<Mutation> ResultMutations();

// All of them.
std::vector<Mutation> Mutations();

// Functions that several mutations use.
Collective* CollectiveAt(Program& program, size_t at);  // Null for any other step.
Compute* ComputeAt(Program& program, size_t at);
Slice* SliceAt(Program& program, size_t at);
// Lets every reader of `from` read `to` instead; with `from_step`, only steps from there on.
void ReplaceReads(Program& program, ValueId from, ValueId to, size_t from_step = 0);

}  // namespace cleave::properties

#endif  // CLEAVE_TESTS_PROPERTIES_MUTATIONS_H_
