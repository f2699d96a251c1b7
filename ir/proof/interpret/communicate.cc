#include "ir/proof/interpret/communicate.h"

#include <algorithm>
#include <optional>

#include "base/check/check.h"
#include "ir/graph/manual/communication.h"
#include "ir/graph/manual/manual.h"
#include "ir/proof/interpret/interpret.h"

namespace cleave::ir {
namespace {

// The values of a group's members, by their number.
using Members = std::vector<const Tensor*>;

Tensor Reduce(const Members& members, Reduction reduction) {
  Tensor result = *members[0];
  for (size_t m = 1; m < members.size(); ++m) {
    for (size_t i = 0; i < result.values.size(); ++i) {
      result.values[i] = Combine(reduction, result.values[i], members[m]->values[i]);
    }
  }
  return result;
}

// Part `part` of `parts` equal ones along dimension `axis`.
Tensor PartOf(const Tensor& x, int64_t axis, int64_t part, int64_t parts) {
  Shape begin(x.shape.size(), 0);
  Shape size = x.shape;
  size[static_cast<size_t>(axis)] /= parts;
  begin[static_cast<size_t>(axis)] = part * size[static_cast<size_t>(axis)];
  return Box(x, begin, size);
}

Tensor Joined(const std::vector<Tensor>& parts, int64_t axis) {
  Shape shape = parts[0].shape;
  const int64_t own = shape[static_cast<size_t>(axis)];
  shape[static_cast<size_t>(axis)] *= static_cast<int64_t>(parts.size());
  Tensor joined = Zeros(shape);
  Shape begin(shape.size(), 0);
  for (const Tensor& part : parts) {
    PasteBox(part, begin, joined);
    begin[static_cast<size_t>(axis)] += own;
  }
  return joined;
}

// What the member with number `own` of a group gets. REQUIRES: not a neighbor_exchange, which has no group.
Tensor ValueOfMember(Communication communication, const Attributes& attributes, const Members& members, int64_t own) {
  const int64_t size = static_cast<int64_t>(members.size());
  std::vector<Tensor> parts;
  switch (communication) {
    case Communication::kAllReduce:
      return Reduce(members, *ParseReduction(attributes.Get(attribute::kReduction)));
    case Communication::kReduceScatter:
      return PartOf(Reduce(members, Reduction::kSum), attributes.Get(attribute::kAxis), own, size);
    case Communication::kBroadcast:
      return *members[static_cast<size_t>(attributes.Get(attribute::kRoot))];
    case Communication::kAllGather:
      for (const Tensor* member : members) parts.push_back(*member);
      return Joined(parts, attributes.Get(attribute::kAxis));
    case Communication::kAllToAll:
      for (const Tensor* member : members)
        parts.push_back(PartOf(*member, attributes.Get(attribute::kSplitAxis), own, size));
      return Joined(parts, attributes.Get(attribute::kConcatAxis));
    case Communication::kNeighborExchange:
      break;
  }
  CLEAVE_UNREACHABLE();
}

// Puts every part that a rank sends into a queue for each pair of ranks, and takes from it what the other receives.
TensorOnRanks Exchange(const Op& op, const TensorOnRanks& x) {
  using Part = std::vector<double>;
  std::map<std::pair<int64_t, int64_t>, std::vector<Part>> sent;
  const int64_t ranks = static_cast<int64_t>(x.size());
  auto peer = op.attributes.Get(attribute::kSendRanks).begin();
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto values = x[static_cast<size_t>(rank)].values.begin();
    for (int64_t size : op.attributes.Get(attribute::kSendSizes)) {
      if (*peer >= 0) sent[{rank, *peer}].push_back(Part(values, values + size));
      values += size;
      ++peer;
    }
  }
  TensorOnRanks received(x.size(), Zeros(op.type.shape));
  std::map<std::pair<int64_t, int64_t>, size_t> taken;
  peer = op.attributes.Get(attribute::kReceiveRanks).begin();
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto values = received[static_cast<size_t>(rank)].values.begin();
    for (int64_t size : op.attributes.Get(attribute::kReceiveSizes)) {
      if (*peer >= 0) {
        const Part& part = sent[{*peer, rank}].at(taken[{*peer, rank}]++);
        CLEAVE_CHECK(static_cast<int64_t>(part.size()) == size) << op.name;
        std::copy(part.begin(), part.end(), values);
      }
      values += size;
      ++peer;
    }
  }
  return received;
}

}  // namespace

TensorOnRanks Communicate(const std::vector<RankAxis>& axes, const Op& op, const TensorOnRanks& x) {
  const std::optional<Communication> communication = CommunicationOf(op.kind);
  CLEAVE_CHECK(communication.has_value()) << op.kind;
  if (*communication == Communication::kNeighborExchange) return Exchange(op, x);
  const RankAxisSet group = GroupOf(axes, op.attributes.Get(attribute::kGroup));
  TensorOnRanks result;
  for (int64_t rank = 0; rank < static_cast<int64_t>(x.size()); ++rank) {
    Members members;
    for (int64_t member : GroupMembers(axes, group, rank)) members.push_back(&x[static_cast<size_t>(member)]);
    result.push_back(ValueOfMember(*communication, op.attributes, members, GroupIndex(axes, group, rank)));
  }
  return result;
}

}  // namespace cleave::ir
