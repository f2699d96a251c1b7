#include "ir/graph/manual/manual.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check/check.h"
#include "ir/graph/manual/moves.h"

namespace cleave::ir {
namespace {

RankAxisSet SetOf(size_t axis) { return {uint64_t{1} << axis}; }

// The difference between the numbers of two ranks that are neighbours on `axis`.
int64_t Stride(const std::vector<RankAxis>& axes, size_t axis) {
  int64_t stride = 1;
  for (size_t i = axis + 1; i < axes.size(); ++i) stride *= axes[i].size;
  return stride;
}

int64_t Coordinate(const std::vector<RankAxis>& axes, size_t axis, int64_t rank) {
  return rank / Stride(axes, axis) % axes[axis].size;
}

template <typename T>
RankAxisSet VarianceOfRows(const std::vector<RankAxis>& axes, absl::Span<const T> table, size_t row) {
  CLEAVE_CHECK(table.size() == static_cast<size_t>(RankCount(axes)) * row) << "a table of " << table.size();
  RankAxisSet set;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (int64_t rank = 0; rank < RankCount(axes); ++rank) {
      const int64_t first = rank - Coordinate(axes, i, rank) * Stride(axes, i);
      const auto own = table.subspan(static_cast<size_t>(rank) * row, row);
      if (own != table.subspan(static_cast<size_t>(first) * row, row)) set = set | SetOf(i);
    }
  }
  return set;
}

// The axes that messages cross, or on which they differ. Along any other axis every rank sends to the rank at the same
// distance. A message that crosses an axis cannot be the same for all ranks, because at the ends of the axis no rank
// receives it.
RankAxisSet CrossedBy(const std::vector<RankAxis>& axes, const std::vector<int64_t>& peers, size_t parts) {
  const int64_t ranks = RankCount(axes);
  CLEAVE_CHECK(peers.size() == static_cast<size_t>(ranks) * parts) << "a table of " << peers.size();
  RankAxisSet set;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t stride = Stride(axes, i);
    for (size_t entry = 0; entry < peers.size(); ++entry) {
      const int64_t rank = static_cast<int64_t>(entry / parts);
      const int64_t coordinate = Coordinate(axes, i, rank);
      const int64_t of_first = peers[entry - static_cast<size_t>(coordinate * stride) * parts];
      const int64_t expected = of_first < 0 ? of_first : of_first + coordinate * stride;
      if (peers[entry] != expected) set = set | SetOf(i);
    }
  }
  return set;
}

// The axes over which the op itself makes ranks differ, whatever its inputs are.
RankAxisSet VarianceOfMove(const std::vector<RankAxis>& axes, const Op& op, RankMove move) {
  switch (move) {
    case RankMove::kMakesEqual:
      return {};
    case RankMove::kDealsParts:
      return GroupOf(axes, op.attributes.Get(attribute::kGroup));
    case RankMove::kMessages: {
      const size_t sent = op.attributes.Get(attribute::kSendSizes).size();
      const size_t received = op.attributes.Get(attribute::kReceiveSizes).size();
      return CrossedBy(axes, op.attributes.Get(attribute::kSendRanks), sent) |
             CrossedBy(axes, op.attributes.Get(attribute::kReceiveRanks), received);
    }
    case RankMove::kOwnPlace:
      return VarianceOfTable(axes, op.attributes.Get(attribute::kStarts), 1);
    case RankMove::kOwnValue:
      return VarianceOfTable(axes, op.attributes.Get(attribute::kValues));
    case RankMove::kOwnState:
      return op.attributes.Get(attribute::kLocal) ? AllAxes(axes) : RankAxisSet{};
    case RankMove::kNone:
      return {};
  }
  CLEAVE_UNREACHABLE();
}

RankAxisSet Union(absl::Span<const RankAxisSet> sets) {
  RankAxisSet all;
  for (RankAxisSet set : sets) all = all | set;
  return all;
}

}  // namespace

int64_t RankCount(const std::vector<RankAxis>& axes) {
  int64_t count = 1;
  for (const RankAxis& axis : axes) count *= axis.size;
  return count;
}

RankAxisSet AllAxes(const std::vector<RankAxis>& axes) {
  RankAxisSet set;
  for (size_t i = 0; i < axes.size(); ++i) set = set | SetOf(i);
  return set;
}

RankAxisSet DividedAxes(const std::vector<RankAxis>& axes) {
  RankAxisSet set;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].size > 1) set = set | SetOf(i);
  }
  return set;
}

std::vector<std::string> NamesOf(const std::vector<RankAxis>& axes, RankAxisSet set) {
  CLEAVE_CHECK(AllAxes(axes).Contains(set));
  std::vector<std::string> names;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (set.Contains(SetOf(i))) names.push_back(axes[i].name);
  }
  return names;
}

std::string GroupText(const std::vector<RankAxis>& axes, RankAxisSet group) {
  return absl::StrJoin(NamesOf(axes, group), " ");
}

std::optional<RankAxisSet> ParseGroup(const std::vector<RankAxis>& axes, absl::string_view text) {
  RankAxisSet group;
  for (absl::string_view name : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    size_t axis = 0;
    while (axis < axes.size() && axes[axis].name != name) ++axis;
    if (axis == axes.size()) return std::nullopt;
    group = group | SetOf(axis);
  }
  if (GroupText(axes, group) != text) return std::nullopt;
  return group;
}

RankAxisSet GroupOf(const std::vector<RankAxis>& axes, absl::string_view text) {
  const std::optional<RankAxisSet> group = ParseGroup(axes, text);
  CLEAVE_CHECK(group.has_value()) << "no group `" << text << "`";
  return *group;
}

int64_t GroupSize(const std::vector<RankAxis>& axes, RankAxisSet group) {
  int64_t size = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (group.Contains(SetOf(i))) size *= axes[i].size;
  }
  return size;
}

int64_t GroupIndex(const std::vector<RankAxis>& axes, RankAxisSet group, int64_t rank) {
  int64_t index = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (group.Contains(SetOf(i))) index = index * axes[i].size + Coordinate(axes, i, rank);
  }
  return index;
}

std::vector<int64_t> GroupMembers(const std::vector<RankAxis>& axes, RankAxisSet group, int64_t rank) {
  std::vector<int64_t> members = {rank};
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!group.Contains(SetOf(i))) continue;
    std::vector<int64_t> next;
    for (int64_t member : members) {
      const int64_t first = member - Coordinate(axes, i, member) * Stride(axes, i);
      for (int64_t c = 0; c < axes[i].size; ++c) next.push_back(first + c * Stride(axes, i));
    }
    members = std::move(next);
  }
  return members;
}

RankAxisSet VarianceOfTable(const std::vector<RankAxis>& axes, absl::Span<const int64_t> table, int64_t row) {
  return VarianceOfRows(axes, table, static_cast<size_t>(row));
}

RankAxisSet VarianceOfTable(const std::vector<RankAxis>& axes, absl::Span<const double> table) {
  return VarianceOfRows(axes, table, 1);
}

IdVector<OpId, RankAxisSet> VarianceOf(const Graph& graph) {
  CLEAVE_CHECK(graph.is_manual());
  IdVector<OpId, RankAxisSet> variance(graph.ops.size());
  for (const Op& op : graph.ops) variance[op.id] = VarianceOfOp(graph.rank_axes, op, VarianceOfInputs(op, variance));
  return variance;
}

std::vector<RankAxisSet> VarianceOfInputs(const Op& op, const IdVector<OpId, RankAxisSet>& variance) {
  std::vector<RankAxisSet> inputs;
  for (OpId input : op.inputs) inputs.push_back(variance[input]);
  return inputs;
}

RankAxisSet VarianceOfOp(const std::vector<RankAxis>& axes, const Op& op, absl::Span<const RankAxisSet> inputs) {
  const RankMove move = RankMoveOf(op.kind);
  const RankAxisSet varies = Union(inputs) | (VarianceOfMove(axes, op, move) & DividedAxes(axes));
  if (move != RankMove::kMakesEqual) return varies;
  return varies - GroupOf(axes, op.attributes.Get(attribute::kGroup));
}

RankAxisSet WorkedOver(const std::vector<RankAxis>& axes, const Op& op, absl::Span<const RankAxisSet> inputs) {
  if (RankMoveOf(op.kind) != RankMove::kMakesEqual) return VarianceOfOp(axes, op, inputs);
  return Union(inputs) | (GroupOf(axes, op.attributes.Get(attribute::kGroup)) & DividedAxes(axes));
}

std::string VarianceText(const std::vector<RankAxis>& axes, RankAxisSet variance) {
  std::vector<std::string> names = NamesOf(axes, variance);
  if (names.empty()) return "equal on all ranks";
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? absl::StrCat("varies over ", last)
                       : absl::StrCat("varies over ", absl::StrJoin(names, ", "), " and ", last);
}

}  // namespace cleave::ir
