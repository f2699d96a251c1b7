#include "ir/transforms/pool_first/pool_first.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/strong_id/strong_id.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {
namespace {

class Mover {
 public:
  Mover(Graph graph, const Pins& pins) : graph_(std::move(graph)), uses_(graph_.ops.size(), 0) {
    for (const Op& op : graph_.ops) {
      for (const OpId input : op.inputs) ++uses_[input];
    }
    for (const Look& look : graph_.looks) Keep(look.value);
    for (const Metric& metric : graph_.metrics) Keep(metric.value);
    for (const StateUpdate& update : graph_.updates) Keep(update.value);
    if (graph_.loss.has_value()) Keep(*graph_.loss);
    pinned_ = IdVector<OpId, char>(graph_.ops.size(), 0);
    const auto take = [&](const auto& all) {
      for (const auto& pin : all) pinned_[pin.op] = 1;
    };
    take(pins.pins);
    take(pins.priorities);
    take(pins.retentions);
    take(pins.stages);
  }

  Graph Run() && {
    for (const Op& op : graph_.ops) {
      if (op.kind == OpKind::kMaxPool && pinned_[op.id] == 0) Move(op.id);
    }
    return std::move(graph_);
  }

 private:
  // More than one use: the value is wanted where it is.
  void Keep(OpId op) { uses_[op] += 2; }

  // The input of `op` to whose elements it does the same everywhere in a plane, and without changing their order.
  std::optional<size_t> IncreasedInput(const Op& op) const {
    if (op.kind == OpKind::kRelu) return 0;
    if (op.kind != OpKind::kAdd) return std::nullopt;
    for (const size_t image : {0, 1}) {
      const Shape& bias = graph_.op(op.inputs[1 - image]).type.shape;
      const bool is_even = bias.size() >= 2 && bias[bias.size() - 1] == 1 && bias[bias.size() - 2] == 1;
      if (is_even && graph_.op(op.inputs[image]).type == op.type) return image;
    }
    return std::nullopt;
  }

  void Move(OpId pool) {
    const TensorType pooled = graph_.op(pool).type;
    std::vector<OpId> places = {pool};  // Upward.
    std::vector<size_t> images = {0};   // Of the op at each place: which input is the image.
    OpId image = graph_.op(pool).inputs[0];
    if (pooled.elements() >= graph_.op(image).type.elements()) return;
    while (uses_[image] == 1 && pinned_[image] == 0 && graph_.op(image).phase == graph_.op(pool).phase) {
      const std::optional<size_t> input = IncreasedInput(graph_.op(image));
      if (!input.has_value()) break;
      places.push_back(image);
      images.push_back(*input);
      image = graph_.op(image).inputs[*input];
    }
    // The pooling takes the first place, and each of the others the next one.
    std::reverse(places.begin(), places.end());
    std::reverse(images.begin() + 1, images.end());
    std::vector<Op> moved = {graph_.op(pool)};
    for (size_t i = 0; i + 1 < places.size(); ++i) moved.push_back(graph_.op(places[i]));
    for (size_t i = 0; i < places.size(); ++i) {
      moved[i].id = places[i];
      moved[i].inputs[images[i]] = i == 0 ? image : places[i - 1];
      moved[i].type = pooled;
      graph_.ops[places[i]] = std::move(moved[i]);
    }
  }

  Graph graph_;
  IdVector<OpId, int> uses_;
  IdVector<OpId, char> pinned_;
};

}  // namespace

Graph PoolFirst(Graph forward, const Pins& pins) { return Mover(std::move(forward), pins).Run(); }

}  // namespace cleave::ir
