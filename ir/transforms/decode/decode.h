// From a model of whole sequences to one step of generation, which computes some places of them and remembers what
// later places need of earlier ones: the key-value cache of a transformer, found for any causal model.
//
//   std::variant<Decoding, DecodeProblem> step = MakeDecoding(graph, {.tokens = tokens, .logits = logits, .slots = 8});
//
// In the model, `tokens` is i32[1, time], one sequence, and `logits` has the same first two dimensions. In the step of
// one sequence both have `places` elements instead of `time`, and a second input, i32[places], holds their numbers.
// Backward from the logits, a value is needed at the places of the step, which are slices along one of its dimensions,
// or as a whole:
//   at the places   The op itself, where the sharding rule has a parallel factor for the dimension: its inputs are
//                   needed at the places where they have that factor, and else as wholes. What depends on the place has
//                   a form that reads the numbers (rope_at), or what follows from them: a causal mask is a range of
//                   keys. Of any other op, and of parameters, the slices are taken from the whole.
//   as a whole      A state that the step keeps, in which it replaces the slices of its places, so that each value is
//                   computed once for each place; where elements are repeated, as keys are for the queries of a group,
//                   that from which they are repeated. The dimension of time is one that follows from that of the
//                   tokens through parallel factors; without one the op is computed from the wholes of its inputs.
// This step is then vectorized (ir/transforms/vectorize): each slot has a sequence with places and states of its own,
// so that sequences begin and end one by one, and none changes another.
//
// Slices of later places are zeros, or those of an earlier sequence. The step equals the model where nothing that is
// needed depends on them, which ir/proof/check/decoding.h shows by evaluation: a model that looks ahead is refused, and
// not silently wrong.
#ifndef CLEAVE_IR_TRANSFORMS_DECODE_DECODE_H_
#define CLEAVE_IR_TRANSFORMS_DECODE_DECODE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph/graph.h"

namespace cleave::ir {

struct DecodeOptions {
  OpId tokens;
  OpId logits;
  int64_t places = 1;  // That a step computes of a sequence.
  int64_t slots = 1;   // Sequences that it takes at once.
};

// An op of the step that computes some places of an op of the model, along this dimension of the latter. The step's
// value has slots before all dimensions, but where it is the same in all.
struct Counterpart {
  OpId step;
  OpId whole;
  size_t dimension = 0;
  bool is_shared = false;
};

struct Decoding {
  Graph graph;  // States are updated in the forward phase. It has neither loss nor metrics nor looks.
  OpId tokens;  // i32[slots, places]
  OpId places;  // i32[slots, places]: `kPlacesInput`.
  OpId logits;  // f32[slots, places, vocabulary]
  std::vector<Counterpart> counterparts;  // In program order.
};

inline constexpr char kPlacesInput[] = "place";

// Why a model cannot generate, and the op that is the reason.
struct DecodeProblem {
  OpId op;
  std::string why;  // "reads the input `mask`, which no prompt gives"
};

// REQUIRES: `graph` is a forward graph in f32 for which VerifyGraph finds no error, without ops that do otherwise in
// training; tokens and logits are as above.
std::variant<Decoding, DecodeProblem> MakeDecoding(const Graph& graph, const DecodeOptions& options);

// The graph for rows that hold one document each, as a prompt is one: inputs of numbers of documents, which `run` alone
// reads of all that the graph's looks need, have one run, from the first place of a row up to its end, and ranges of
// keys from there up to its end are all keys. No op changes its place; those that nothing needs any more stay.
Graph OfOneDocument(Graph graph);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DECODE_DECODE_H_
