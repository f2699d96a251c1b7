// Shared by argmax, top_k and their parts. Elements are ranked from the largest to the smallest, equal ones by their
// index; a NaN comes first. Inside of ir/graph/ops only.
//
// Where the ranked dimension is cut, each rank gives candidates: the k first ranked elements of each of its pieces. The
// first ranked of all candidates are those of the whole.
#ifndef CLEAVE_IR_GRAPH_OPS_RANKING_H_
#define CLEAVE_IR_GRAPH_OPS_RANKING_H_

#include <limits>
#include <vector>

#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/rows.h"

namespace cleave::ir {

// An index that no element has: larger than all of them.
inline constexpr int64_t kNoIndex = std::numeric_limits<int32_t>::max();

// An error where dimension `axis` of input 0, counted from the front, has more elements than i32 has indices.
std::optional<OpError> CheckIndexed(Types inputs, int axis);

// An error unless x has dimension `axis` (-1 is the last) and i32 its indices; the axis counted from the front.
std::optional<OpError> CheckAxis(Types inputs, const Attributes& attributes);
int AxisOf(const TensorType& x, const Attributes& attributes);

// A local tensor as [outer, length, inner] around dimension `axis`.
struct AxisView {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;

  size_t At(int64_t o, int64_t position, int64_t i) const {
    return static_cast<size_t>((o * length + position) * inner + i);
  }
};
AxisView ViewAround(const Shape& shape, int axis);

// Whether a value ranks before another one whose index is larger.
inline bool RanksBefore(double a, double b) { return a > b || (a != a && b == b); }

// The positions of the first ranked of `length` elements, at most `count`.
std::vector<int64_t> FirstRanked(const double* row, int64_t length, int64_t count);

// (x [.., n]; k) -> [.., k] of `dtype`. In the rule n is inner and k, a selection of it, whole.
InferResult InferTopK(Types inputs, const Attributes& attributes, DType dtype);
Rule TopKRule(Types inputs, const TensorType& output, const Attributes& attributes);
Attributes ResizeTopK(const Attributes& attributes, const Rule& resized);
std::vector<Argument> TopKSignature();

// (x [.., n]; k, pieces, elements = n) -> [.., pieces * k]: the candidates of each piece, one piece after another. In
// the rule x is read in windows of the pieces.
InferResult InferCandidates(Types inputs, const Attributes& attributes, DType dtype);
Rule CandidatesRule(Types inputs, const TensorType& output, const Attributes& attributes);
Attributes ResizeCandidates(const Attributes& attributes, const Rule& resized);
std::vector<Argument> CandidatesSignature();
// Adds an op of that form for the last dimension of x cut into `pieces`.
OpId AddCandidates(GraphBuilder& builder, OpKind kind, const Op& op, int64_t pieces, const std::string& name);

// function(x, rows, pieces of a row, k, result)
std::vector<KernelCall> CandidatesCall(const CallSite& site, std::string function);

// A place in the output and the candidate that it takes.
struct Candidate {
  size_t slot = 0;
  int64_t position = -1;     // In the local input; -1 where the piece has no more elements.
  int64_t index = kNoIndex;  // In the whole row.
};
std::vector<Candidate> CandidatesOf(const Evaluation& evaluation);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_RANKING_H_
