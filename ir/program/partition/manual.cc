#include "ir/program/partition/manual.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/manual/communication.h"
#include "ir/graph/manual/manual.h"
#include "ir/sharding/mesh/rank_axes.h"

namespace cleave::ir {
namespace {

class Mover {
 public:
  Mover(const Graph& graph, const Op& op, const Mesh& mesh)
      : op_(op), x_(graph.op(op.inputs[0]).type), mesh_(mesh), rank_axes_(graph.rank_axes) {}

  ManualMove Move() const {
    const std::optional<Communication> communication = CommunicationOf(op_.kind);
    CLEAVE_CHECK(communication.has_value()) << "no collective for `" << op_.kind << "`";
    switch (*communication) {
      case Communication::kAllReduce:
        return AllReduce();
      case Communication::kAllGather:
        return AllGather();
      case Communication::kReduceScatter:
        return ReduceScatter();
      case Communication::kBroadcast:
        return Broadcast();
      case Communication::kAllToAll:
        return AllToAll();
      case Communication::kNeighborExchange:
        return Exchange();
    }
    CLEAVE_UNREACHABLE();
  }

 private:
  AxisList Axes() const {
    return MeshAxesOf(rank_axes_, GroupOf(rank_axes_, op_.attributes.Get(attribute::kGroup)), mesh_);
  }
  size_t Dimension(Attribute<int64_t> key) const { return static_cast<size_t>(op_.attributes.Get(key)); }
  int64_t size() const { return op_.attributes.Get(attribute::kSize); }

  static Layout Whole(const TensorType& type) { return Layout::Replicated(type.rank()); }
  static Layout CutAlong(const TensorType& type, size_t dimension, const AxisList& axes) {
    Layout layout = Whole(type);
    layout.dimensions[dimension] = axes;
    return layout;
  }
  Layout PartialOver(const AxisList& axes, Reduction reduction) const {
    Layout layout = Whole(x_);
    for (AxisId axis : axes) layout.partial.push_back({axis, reduction});
    return layout;
  }

  ManualMove AllReduce() const {
    const std::optional<Reduction> reduction = ParseReduction(op_.attributes.Get(attribute::kReduction));
    CLEAVE_CHECK(reduction.has_value()) << "`" << op_.name << "` reduces by no reduction";
    return {.sent = x_,
            .before = PartialOver(Axes(), *reduction),
            .collective = {.kind = CollectiveKind::kAllReduce,
                           .axes = Axes(),
                           .reduction = *reduction,
                           .transfers = {{}},
                           .why = {}},
            .received = x_,
            .after = Whole(x_)};
  }

  ManualMove AllGather() const {
    const size_t axis = Dimension(attribute::kAxis);
    Transfer transfer;
    transfer.from_dimension = static_cast<int>(axis);
    return {.sent = op_.type,
            .before = CutAlong(op_.type, axis, Axes()),
            .collective = {.kind = CollectiveKind::kAllGather, .axes = Axes(), .transfers = {transfer}, .why = {}},
            .received = op_.type,
            .after = Whole(op_.type)};
  }

  ManualMove ReduceScatter() const {
    const size_t axis = Dimension(attribute::kAxis);
    Transfer transfer;
    transfer.to_dimension = static_cast<int>(axis);
    return {.sent = x_,
            .before = PartialOver(Axes(), Reduction::kSum),
            .collective = {.kind = CollectiveKind::kReduceScatter, .axes = Axes(), .transfers = {transfer}, .why = {}},
            .received = x_,
            .after = CutAlong(x_, axis, Axes())};
  }

  ManualMove Broadcast() const {
    return {.sent = x_,
            .before = Whole(x_),
            .collective = {.kind = CollectiveKind::kBroadcast,
                           .axes = Axes(),
                           .transfers = {{}},
                           .why = {},
                           .root = static_cast<int>(op_.attributes.Get(attribute::kRoot))},
            .received = x_,
            .after = Whole(x_)};
  }

  // In the tensor that the ranks hold together, the dimension of `concat_axis` is cut before the exchange and that of
  // `split_axis` after it. Where both are the same dimension, its elements are seen as (sender, receiver, element of a
  // part).
  ManualMove AllToAll() const {
    size_t from = Dimension(attribute::kConcatAxis);
    size_t to = Dimension(attribute::kSplitAxis);
    TensorType whole = x_;
    if (from == to) {
      const auto at = whole.shape.begin() + static_cast<std::ptrdiff_t>(to);
      *at /= size();
      whole.shape.insert(at, {size(), size()});
      to = from + 1;
    } else {
      whole.shape[from] *= size();
    }
    Transfer transfer;
    transfer.from_dimension = static_cast<int>(from);
    transfer.to_dimension = static_cast<int>(to);
    return {.sent = whole,
            .before = CutAlong(whole, from, Axes()),
            .collective = {.kind = CollectiveKind::kAllToAll, .axes = Axes(), .transfers = {transfer}, .why = {}},
            .received = whole,
            .after = CutAlong(whole, to, Axes())};
  }

  ManualMove Exchange() const {
    const std::optional<CollectiveKind> kind = ParseCollectiveKind(op_.attributes.Get(attribute::kPrimitive));
    CLEAVE_CHECK(kind.has_value()) << "`" << op_.name << "` is no exchange";
    const auto numbers = [&](Attribute<std::vector<int64_t>> key) { return op_.attributes.Get(key); };
    return {.sent = x_,
            .before = Whole(x_),
            .collective = {.kind = *kind,
                           .axes = mesh_.AxisIds(),
                           .transfers = {{}},
                           .why = {},
                           .messages = Messages{.send_sizes = numbers(attribute::kSendSizes),
                                                .receive_sizes = numbers(attribute::kReceiveSizes),
                                                .send_ranks = numbers(attribute::kSendRanks),
                                                .receive_ranks = numbers(attribute::kReceiveRanks)}},
            .received = op_.type,
            .after = Whole(op_.type)};
  }

  const Op& op_;
  const TensorType& x_;
  const Mesh& mesh_;
  const std::vector<RankAxis>& rank_axes_;
};

}  // namespace

ManualMove ManualMoveOf(const Graph& graph, const Op& op, const Mesh& mesh) { return Mover(graph, op, mesh).Move(); }

bool IsAlone(const Op& op) { return op.attributes.Has(attribute::kSize) && op.attributes.Get(attribute::kSize) == 1; }

}  // namespace cleave::ir
