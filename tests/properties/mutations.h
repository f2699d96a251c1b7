// Ways to break a partitioned program, each a mistake that partition, a rewrite or a person could make. The compiler's
// proof must catch all of them.
#ifndef CLEAVE_TESTS_PROPERTIES_MUTATIONS_H_
#define CLEAVE_TESTS_PROPERTIES_MUTATIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "ir/program/program.h"

namespace cleave::tests::properties {

struct Mutation {
  std::string name;
  // Breaks the program at step `at`; false if there is nothing to break, and then the program is unspecified.
  bool (*apply)(ir::Program& program, size_t at);
};

// Mutations of steps that move values between ranks: collectives and slices.
std::vector<Mutation> MovementMutations();
// Mutations of ops, their inputs, strategies and attributes, and of the order of steps.
std::vector<Mutation> ComputeMutations();
// Mutations of layouts and of results: loss, metrics, updates.
std::vector<Mutation> ResultMutations();
// Mutations of sums over micro-batches, and of what each of these takes.
std::vector<Mutation> MicroBatchMutations();

// Mutations of what the backward pass computes again. One of them needs dropout.
std::vector<Mutation> RecomputationMutations();

// Mutations of copies to the host's memory and back.
std::vector<Mutation> HostCopyMutations();

// All but those of recomputation and host copies, which random graphs may lack.
std::vector<Mutation> Mutations();

// Functions that several mutations use.
ir::Collective* CollectiveAt(ir::Program& program, size_t at);  // Null for any other step.
ir::Compute* ComputeAt(ir::Program& program, size_t at);
ir::Slice* SliceAt(ir::Program& program, size_t at);
ir::HostCopy* HostCopyAt(ir::Program& program, size_t at);
void Erase(ir::Program& program, size_t at);  // The step.
// Lets every reader of `from` read `to` instead; with `from_step`, only steps from there on.
void ReplaceReads(ir::Program& program, ir::ValueId from, ir::ValueId to, size_t from_step = 0);

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_MUTATIONS_H_
