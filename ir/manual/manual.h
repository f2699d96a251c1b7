// What differs between the ranks of a manual model.
//
// Every op of such a graph says what one rank computes. A value *varies* over the axes on which ranks may hold
// different values, and is equal on ranks that differ on other axes only: parameters and inputs vary over none, a slice
// that begins at a multiple of `rank` over all, the result of an all_reduce not over the axes of its group.
//
//   x varies over {}, row = x[rank * n ..] over {world}, all_reduce(row) over {}.
//
// A value that does not vary is one value, whatever ranks hold copies of it; so its gradient is the sum of what the
// ranks that differ on an axis contribute, where an op combines it with values that vary over that axis. Of an op
// between `x` that varies over V(x) and its result, worked out over W: the contribution to x's gradient is summed over
// W - V(x). For ordinary ops W is where the result varies. A collective takes its input as varying over its group too:
// W = V(x) + group, while its result may vary over less. So the gradient of an all_reduce whose result is equal
// everywhere is the identity. (The rule is that of typed per-device programs: JAX shard_map with varying manual axes.)
#ifndef CLEAVE_IR_MANUAL_MANUAL_H_
#define CLEAVE_IR_MANUAL_MANUAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"

namespace cleave {

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
// Those of more than one rank: over others nothing can vary.
RankAxisSet DividedAxes(const std::vector<RankAxis>& axes);

// In mesh order. REQUIRES: the axes exist.
std::vector<std::string> NamesOf(const std::vector<RankAxis>& axes, RankAxisSet set);

// A group as ops write it: names of axes in mesh order, separated by spaces, "dp tp". REQUIRES (of the set's): axes
// exist.
std::string GroupText(const std::vector<RankAxis>& axes, RankAxisSet group);
RankAxisSet GroupOf(const std::vector<RankAxis>& axes, absl::string_view text);
// The same for a text from outside: nullopt where it is no group as GroupText writes it.
std::optional<RankAxisSet> ParseGroup(const std::vector<RankAxis>& axes, absl::string_view text);
int64_t GroupSize(const std::vector<RankAxis>& axes, RankAxisSet group);
// The rank's number in its group.
int64_t GroupIndex(const std::vector<RankAxis>& axes, RankAxisSet group, int64_t rank);
// The ranks of its group, by their number in it; includes `rank`.
std::vector<int64_t> GroupMembers(const std::vector<RankAxis>& axes, RankAxisSet group, int64_t rank);

// The axes over which a table with one row of `row` entries for each rank is not constant.
RankAxisSet VarianceOfTable(const std::vector<RankAxis>& axes, absl::Span<const int64_t> table, int64_t row);
RankAxisSet VarianceOfTable(const std::vector<RankAxis>& axes, absl::Span<const double> table);

// Where every value varies; over no axis of size 1. REQUIRES: graph.is_manual().
IdVector<OpId, RankAxisSet> VarianceOf(const Graph& graph);
std::vector<RankAxisSet> VarianceOfInputs(const Op& op, const IdVector<OpId, RankAxisSet>& variance);
// What `VarianceOf` adds for one op whose inputs vary over `inputs`.
RankAxisSet VarianceOfOp(const std::vector<RankAxis>& axes, const Op& op, absl::Span<const RankAxisSet> inputs);
// W of the comment above: where the op is worked out.
RankAxisSet WorkedOver(const std::vector<RankAxis>& axes, const Op& op, absl::Span<const RankAxisSet> inputs);

// "equal on all ranks", "varies over dp and tp"
std::string VarianceText(const std::vector<RankAxis>& axes, RankAxisSet variance);

}  // namespace cleave

#endif  // CLEAVE_IR_MANUAL_MANUAL_H_
