// What differs between the ranks of a manual model.
//
// Every op of such a graph describes what one rank computes. A value *varies* over the axes on which ranks may hold
// different values, and is equal on ranks that differ on other axes only: parameters and inputs vary over none, a slice
// that begins at a multiple of `rank` over all, the result of an all_reduce not over the axes of its group.
//
//   x varies over {}, row = x[rank * n ..] over {world}, all_reduce(row) over {}.
//
// A value that does not vary is one value, whatever ranks hold copies of it. Where an op combines it with values that
// vary over an axis, each rank on that axis contributes to its gradient, and the gradient is the sum of these
// contributions. Precisely: let `x` vary over V(x), and let the op that reads it be computed over W. Then the
// contribution to the gradient of x is summed over W - V(x). For ordinary ops, W is the set of axes over which the
// result varies. For a collective W = V(x) + group, while its result may vary over less. So the gradient of an
// all_reduce whose result is equal everywhere is the identity. (The rule is that of typed per-device programs: JAX
// shard_map with varying manual axes.)
#ifndef CLEAVE_IR_GRAPH_MANUAL_MANUAL_H_
#define CLEAVE_IR_GRAPH_MANUAL_MANUAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"

namespace cleave::ir {

// A set of Graph::rank_axes: bit i is axis i.
struct RankAxisSet {
  uint64_t bits = 0;

  bool empty() const { return bits == 0; }
  bool Contains(RankAxisSet other) const { return (bits & other.bits) == other.bits; }
  friend RankAxisSet operator&(RankAxisSet a, RankAxisSet b) { return {a.bits & b.bits}; }
  friend RankAxisSet operator|(RankAxisSet a, RankAxisSet b) { return {a.bits | b.bits}; }
  friend RankAxisSet operator-(RankAxisSet a, RankAxisSet b) { return {a.bits & ~b.bits}; }
  bool operator==(const RankAxisSet&) const = default;
};

int64_t RankCount(const std::vector<RankAxis>& axes);
RankAxisSet AllAxes(const std::vector<RankAxis>& axes);
// The axes with more than one rank: over other axes nothing can vary.
RankAxisSet DividedAxes(const std::vector<RankAxis>& axes);

// In mesh order. REQUIRES: the axes exist.
std::vector<std::string> NamesOf(const std::vector<RankAxis>& axes, RankAxisSet set);

// A group as ops write it: names of axes in mesh order, separated by spaces, "dp tp". REQUIRES for a set: its axes
// exist.
std::string GroupText(const std::vector<RankAxis>& axes, RankAxisSet group);
RankAxisSet GroupOf(const std::vector<RankAxis>& axes, absl::string_view text);
// The same for a text from outside: nullopt if it is not a group as GroupText writes it.
std::optional<RankAxisSet> ParseGroup(const std::vector<RankAxis>& axes, absl::string_view text);
int64_t GroupSize(const std::vector<RankAxis>& axes, RankAxisSet group);
// The rank's number in its group.
int64_t GroupIndex(const std::vector<RankAxis>& axes, RankAxisSet group, int64_t rank);
// The ranks of its group in the order of their numbers, `rank` included.
std::vector<int64_t> GroupMembers(const std::vector<RankAxis>& axes, RankAxisSet group, int64_t rank);

// The axes over which a table with one row of `row` entries for each rank is not constant.
RankAxisSet VarianceOfTable(const std::vector<RankAxis>& axes, absl::Span<const int64_t> table, int64_t row);
RankAxisSet VarianceOfTable(const std::vector<RankAxis>& axes, absl::Span<const double> table);

// The axes over which each value varies, none of them of size 1. REQUIRES: graph.is_manual().
IdVector<OpId, RankAxisSet> VarianceOf(const Graph& graph);
std::vector<RankAxisSet> VarianceOfInputs(const Op& op, const IdVector<OpId, RankAxisSet>& variance);
// The same for one op whose inputs vary over `inputs`.
RankAxisSet VarianceOfOp(const std::vector<RankAxis>& axes, const Op& op, absl::Span<const RankAxisSet> inputs);
// W of the comment above: the axes over which the op is computed.
RankAxisSet WorkedOver(const std::vector<RankAxis>& axes, const Op& op, absl::Span<const RankAxisSet> inputs);

// "equal on all ranks", "varies over dp and tp"
std::string VarianceText(const std::vector<RankAxis>& axes, RankAxisSet variance);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_MANUAL_MANUAL_H_
