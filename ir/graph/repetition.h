// Which repetition of the model's text an op is. The frontend runs loops, and what is made of an op belongs to the
// same passes: its gradient, the update of a parameter, what the compiler adds. Names only tell people about it.
//
//   for i in 0..12 { x = block(x, 8); }    The query of pass 3 has the place of every other query, and passes {{loop,
//   3}}.
#ifndef CLEAVE_IR_GRAPH_REPETITION_H_
#define CLEAVE_IR_GRAPH_REPETITION_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"

namespace cleave::ir {

// A place of the model's text: a statement within the calls that lead to it. A fingerprint of that path, so the same in
// all passes, in all runs of the compiler, and whatever things are called.
using TextPlace = uint64_t;

// The place within `place` with a number, or of a kind.
TextPlace Within(TextPlace place, uint64_t number);
TextPlace Within(TextPlace place, absl::string_view what);

// A pass of a loop of the model. An inner loop has one place in all passes of the outer one.
struct LoopPass {
  TextPlace loop = 0;
  int64_t number = 0;  // The value of the loop's variable.

  bool operator==(const LoopPass& other) const { return loop == other.loop && number == other.number; }
  bool operator<(const LoopPass& other) const { return loop != other.loop ? loop < other.loop : number < other.number; }
};
using LoopPasses = absl::InlinedVector<LoopPass, 2>;  // Outermost first.

// Two ops in loops are alike if and only if their places are the same; their passes tell them apart.
struct Repetition {
  TextPlace place = 0;  // Without passes 0: nothing is repeated.
  LoopPasses passes = {};

  bool is_repeated() const { return !passes.empty(); }
  bool operator==(const Repetition& other) const { return place == other.place && passes == other.passes; }
};

// That of a pass itself, of which ops are made.
Repetition InPass(const Repetition& around, TextPlace loop, int64_t number);

// That of something which is made of an op: `role` says what, "grad_weight".
Repetition Derived(const Repetition& of, absl::string_view role);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_REPETITION_H_
