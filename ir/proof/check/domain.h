// Finds sources for which a model has values. The logarithm of a negative number is none, and what is not a number
// shows nothing about the program: everything that is computed from it is no number either. Private to ir/proof/check.
//
// A model may need positive inputs, or inputs near a certain number. Nothing says so but its ops, so ranges are tried:
// first the default ones, then all sources positive or small, then others for a few sources at a time. A range is kept
// if no more elements than before come out undefined of defined inputs.
#ifndef CLEAVE_IR_PROOF_CHECK_DOMAIN_H_
#define CLEAVE_IR_PROOF_CHECK_DOMAIN_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "ir/graph/graph.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/proof/interpret/interpret_ranks.h"

namespace cleave::ir {

// What has no finite value on some sources.
struct Undefined {
  int64_t results = 0;        // Elements of the loss and the new states.
  int64_t origins = 0;        // Elements that an op makes of finite inputs.
  std::optional<OpId> first;  // The first op that makes such elements.
};

struct Domain {
  SourceRanges ranges;
  Undefined left;  // What is undefined there; without results where the search succeeded.
  int tries = 0;

  bool found() const { return left.results == 0; }
};

// What is undefined among the values of a graph's ops on its ranks.
Undefined UndefinedOf(const Graph& graph, const IdVector<OpId, TensorOnRanks>& values);

// The values of all ops on sources from these ranges.
using EvaluateIn = std::function<IdVector<OpId, TensorOnRanks>(const SourceRanges& ranges)>;

// Tries at most `tries` ranges.
Domain FindDomain(const Graph& graph, int tries, const EvaluateIn& evaluate);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_DOMAIN_H_
