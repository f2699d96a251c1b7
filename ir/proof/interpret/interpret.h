// Reference execution in double: a Graph on one device, and a Program on simulated ranks in lockstep.
#ifndef CLEAVE_IR_PROOF_INTERPRET_INTERPRET_H_
#define CLEAVE_IR_PROOF_INTERPRET_INTERPRET_H_

#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/proof/interpret/interpret_ranks.h"
#include "ir/tensor/types/tensor.h"

namespace cleave::ir {

// Values of inputs, parameters and states, by op.
using SourceValues = std::map<OpId, Tensor>;

// The value of every op. `step` counts from 1. REQUIRES: `sources` holds a tensor of the right shape for every input,
// parameter and state.
IdVector<OpId, Tensor> InterpretGraph(const Graph& graph, const SourceValues& sources, int64_t step);

// Every value on every rank: result[value][rank], local tensors. Each rank starts with its slice of the sources. A step
// that reads what no step wrote is an Internal error.
absl::StatusOr<IdVector<ValueId, std::vector<Tensor>>> InterpretProgram(const Program& program,
                                                                        const SourceValues& sources, int64_t step);

// The same for a manual program, whose ranks may have different sources. REQUIRES: program.is_manual.
absl::StatusOr<IdVector<ValueId, std::vector<Tensor>>> InterpretProgram(const Program& program,
                                                                        const RankSources& sources, int64_t step);

// The part of `whole`, the tensor of `value`, that `rank` holds.
Tensor LocalPart(const Program& program, const Value& value, const Tensor& whole, int rank);

// Combines two parts of a partial value. A NaN stays a NaN.
double Combine(Reduction reduction, double a, double b);

// Where the floats of a source are drawn: `center` plus or minus `spread` times a number in (0.5, 1.5).
struct SourceRange {
  double center = 0;
  double spread = 1;
};
using SourceRanges = std::map<OpId, SourceRange>;

// Random sources: floats in their range, those of states positive; labels and tokens in the range of their use. What
// has no range is drawn from the default one, which keeps the graph's values small.
SourceValues RandomSources(const Graph& graph, uint64_t seed, const SourceRanges& ranges = {});

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_INTERPRET_INTERPRET_H_
