#include "ir/partition/manual.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/manual/manual.h"

namespace cleave {
namespace {

class Mover {
 public:
  Mover(const Graph& graph, const Op& op, const Mesh& mesh)
      : op_(op), x_(graph.op(op.inputs[0]).type), mesh_(mesh), rank_axes_(graph.rank_axes) {}

  ManualMove Move() const {
    if (op_.kind == "all_reduce") return AllReduce();
    if (op_.kind == "all_gather") return AllGather();
    if (op_.kind == "reduce_scatter") return ReduceScatter();
    if (op_.kind == "broadcast") return Broadcast();
    if (op_.kind == "all_to_all") return AllToAll();
    CLEAVE_CHECK(op_.kind == "neighbor_exchange") << "no collective for `" << op_.kind << "`";
    return Exchange();
  }

 private:
  std::vector<AxisId> Axes() const {
    return MeshAxesOf(rank_axes_, GroupOf(rank_axes_, op_.attributes.GetString("group")), mesh_);
  }
  size_t Dimension(const char* attribute) const { return static_cast<size_t>(op_.attributes.GetInt(attribute)); }
  int64_t size() const { return op_.attributes.GetInt("size"); }

  static Layout Whole(const TensorType& type) { return Layout::Replicated(type.rank()); }
  static Layout CutAlong(const TensorType& type, size_t dimension, const std::vector<AxisId>& axes) {
    Layout layout = Whole(type);
    layout.dimensions[dimension] = axes;
    return layout;
  }
  Layout PartialOver(const std::vector<AxisId>& axes, Reduction reduction) const {
    Layout layout = Whole(x_);
    for (AxisId axis : axes) layout.partial.push_back({axis, reduction});
    return layout;
  }

  ManualMove AllReduce() const {
    const std::optional<Reduction> reduction = ParseReduction(op_.attributes.GetString("reduction"));
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
    const size_t axis = Dimension("axis");
    Transfer transfer;
    transfer.from_dimension = static_cast<int>(axis);
    return {.sent = op_.type,
            .before = CutAlong(op_.type, axis, Axes()),
            .collective = {.kind = CollectiveKind::kAllGather, .axes = Axes(), .transfers = {transfer}, .why = {}},
            .received = op_.type,
            .after = Whole(op_.type)};
  }

  ManualMove ReduceScatter() const {
    const size_t axis = Dimension("axis");
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
                           .root = static_cast<int>(op_.attributes.GetInt("root"))},
            .received = x_,
            .after = Whole(x_)};
  }

  // In the tensor that the ranks hold together, the dimension of `concat_axis` is cut before the exchange and that of
  // `split_axis` after it. Where both are the same dimension, its elements are seen as (sender, receiver, element of a
  // part).
  ManualMove AllToAll() const {
    size_t from = Dimension("concat_axis");
    size_t to = Dimension("split_axis");
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
    const std::optional<CollectiveKind> kind = ParseCollectiveKind(op_.attributes.GetString("primitive"));
    CLEAVE_CHECK(kind.has_value()) << "`" << op_.name << "` is no exchange";
    const auto numbers = [&](const char* name) { return op_.attributes.GetInts(name); };
    return {.sent = x_,
            .before = Whole(x_),
            .collective = {.kind = *kind,
                           .axes = mesh_.AxisIds(),
                           .transfers = {{}},
                           .why = {},
                           .messages = Messages{.send_sizes = numbers("send_sizes"),
                                                .receive_sizes = numbers("receive_sizes"),
                                                .send_ranks = numbers("send_ranks"),
                                                .receive_ranks = numbers("receive_ranks")}},
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

bool IsAlone(const Op& op) { return op.attributes.Has("size") && op.attributes.GetInt("size") == 1; }

}  // namespace cleave
