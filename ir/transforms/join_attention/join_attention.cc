// Reading guide: Joiner::At follows the values from a product of queries and keys to the product with the values, and
// Join writes the two ops in the places of the softmax and of the last op. What then nobody reads goes.
#include "ir/transforms/join_attention/join_attention.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/strong_id/strong_id.h"
#include "ir/graph/ops/attention.h"
#include "ir/graph/roles.h"
#include "ir/sharding/pins/move.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {
namespace {

// Scores below this have no weight in float, whatever the others are.
constexpr double kHidden = -1e8;

class Joiner {
 public:
  Joiner(Graph graph, const JoinAttentionOptions& options, Pins& pins)
      : graph_(std::move(graph)),
        options_(options),
        pins_(pins),
        readers_(Users(graph_)),
        has_role_(graph_.ops.size(), 0),
        is_pinned_(graph_.ops.size(), 0),
        region_(graph_.ops.size(), -1),
        stage_(graph_.ops.size(), -1),
        is_gone_(graph_.ops.size(), 0) {
    for (const Op& op : graph_.ops) names_.insert(op.name);
    for (const Look& look : graph_.looks) has_role_[look.value] = 1;
    for (const Metric& metric : graph_.metrics) has_role_[metric.value] = 1;
    for (const StateUpdate& update : graph_.updates) has_role_[update.value] = 1;
    if (graph_.loss.has_value()) has_role_[*graph_.loss] = 1;
    for (const Pin& pin : pins.pins) is_pinned_[pin.op] = 1;
    for (const Priority& priority : pins.priorities) is_pinned_[priority.op] = 1;
    for (size_t i = 0; i < pins.regions.size(); ++i) {
      for (const OpId op : pins.regions[i].ops) region_[op] = static_cast<int>(i);
    }
    for (const StagePin& pin : pins.stages) stage_[pin.op] = pin.stage;
  }

  Graph Run() && {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (std::optional<Found> found = At(OpId(static_cast<int64_t>(i)))) Join(*std::move(found));
    }
    if (!joins_) return std::move(graph_);
    RetainStatistics();
    RemoveUnreadBiases();
    const auto stays = [&](OpId op) { return is_gone_[op] == 0; };
    IdVector<OpId, OpId> places;
    Graph joined = OnlyOps(std::move(graph_), stays, places);
    MovePins(stays, places, pins_);
    return joined;
  }

 private:
  // A tensor of attention as it lies.
  struct Operand {
    OpId value;
    bool heads_inside = false;
    std::vector<OpId> absorbed = {};  // Ops between the tensor and the product, which nobody else reads.
  };

  struct Found {
    Operand q, k, v;
    std::vector<OpId> between;  // From the first product on, without the softmax and the last op.
    OpId softmax;
    OpId last;  // The product with the values, or the transpose behind it.
    bool heads_inside = false;
    double scale = 1;
    double cap = 0;
    bool causal = false;
    int64_t window = 0;
    std::vector<OpId> ranges = {};  // First and end, or nothing.
    double rate = 0;
    std::string key = {};  // Of the dropout.
    std::optional<OpId> bias = {};
    std::vector<OpId> matrix_of_bias = {};  // What lies between it and the scores, for others perhaps as well.
  };

  const Op& op(OpId id) const { return graph_.op(id); }
  const Shape& shape(OpId id) const { return graph_.op(id).type.shape; }

  bool IsReadOnce(OpId value) const { return readers_[value].size() == 1 && has_role_[value] == 0; }

  bool IsProduct(const Op& product, bool transpose_b) const {
    return product.kind == OpKind::kMatmul && product.phase == Phase::kForward && is_pinned_[product.id] == 0 &&
           !product.attributes.Get(attribute::kTransposeA) &&
           product.attributes.Get(attribute::kTransposeB) == transpose_b &&
           op(product.inputs[0]).type.rank() == op(product.inputs[1]).type.rank();
  }

  // The only reader of `value` if it is a `kind`, takes the value first and nobody pinned it.
  const Op* Next(OpId value, OpKind kind) const {
    if (!IsReadOnce(value)) return nullptr;
    const Op& reader = op(readers_[value][0]);
    const bool takes = reader.kind == kind && reader.inputs[0] == value && is_pinned_[reader.id] == 0;
    return takes ? &reader : nullptr;
  }

  std::optional<Found> At(OpId first) const {
    if (!IsProduct(op(first), true)) return std::nullopt;
    Found found;
    found.between = {first};
    OpId value = first;
    const auto pass = [&](OpKind kind) {
      const Op* const next = Next(value, kind);
      if (next == nullptr) return next;
      value = next->id;
      found.between.push_back(value);
      return next;
    };
    while (const Op* scale = pass(OpKind::kScale)) found.scale *= scale->attributes.Get(attribute::kFactor);
    if (pass(OpKind::kTanh) != nullptr) {
      // tanh(scale q k) * cap = cap * tanh((scale * cap) q k / cap)
      const Op* const cap = pass(OpKind::kScale);
      found.cap = cap == nullptr ? 1 : cap->attributes.Get(attribute::kFactor);
      if (found.cap <= 0) return std::nullopt;
      found.scale *= found.cap;
    }
    if (const Op* const sum = SumWithBias(value, found)) {
      if (found.cap != 0 || found.scale == 0) return std::nullopt;
      value = sum->id;
      found.between.push_back(value);
    }
    while (true) {  // One of each, in any order.
      const Op* mask = nullptr;
      if (!found.causal && (mask = pass(OpKind::kCausalMask)) != nullptr) {
        found.causal = true;
        found.window = mask->attributes.Get(attribute::kWindow);
      } else if (found.ranges.empty() && (mask = pass(OpKind::kRangeMask)) != nullptr) {
        found.ranges = {mask->inputs[1], mask->inputs[2]};
      } else {
        break;
      }
      if (mask->attributes.Get(attribute::kFill) > kHidden) return std::nullopt;
    }
    const Op* const softmax = Next(value, OpKind::kSoftmax);
    if (softmax == nullptr) return std::nullopt;
    found.softmax = softmax->id;
    value = softmax->id;
    if (const Op* const dropout = pass(OpKind::kDropout)) {
      if (dropout->type.rank() > 4) return std::nullopt;
      found.rate = dropout->attributes.Get(attribute::kRate);
      found.key = dropout->attributes.Get(attribute::kKey);
    }
    const Op* const last = Next(value, OpKind::kMatmul);
    if (last == nullptr || !IsProduct(*last, false)) return std::nullopt;
    found.last = last->id;
    found.q = Peeled(op(first).inputs[0], first);
    found.k = WithoutRepetition(op(first).inputs[1], first);
    found.v = WithoutRepetition(last->inputs[1], last->id);
    if (const Op* turned = Next(last->id, OpKind::kTranspose); turned != nullptr && SwapsHeadsAndRows(*turned)) {
      found.between.push_back(found.last);
      found.last = turned->id;
      found.heads_inside = true;
    }
    return Fits(found) ? std::optional(std::move(found)) : std::nullopt;
  }

  // The only reader of scores [.., heads, rows, columns] if it adds a bias by distance, which it puts into `found`.
  const Op* SumWithBias(OpId scores, Found& found) const {
    if (!IsReadOnce(scores)) return nullptr;
    const Op& sum = op(readers_[scores][0]);
    if (sum.kind != OpKind::kAdd || is_pinned_[sum.id] != 0 || sum.type != op(scores).type) return nullptr;
    const OpId other = sum.inputs[sum.inputs[0] == scores ? 1 : 0];
    found.bias = BiasOf(other, shape(scores), found.matrix_of_bias);
    return found.bias.has_value() ? &sum : nullptr;
  }

  // The bias [heads, rows + columns] of which `by_distance` of the prelude has made a tensor [heads, rows, columns]
  // that repeats it for each row, one place further: t for distances,
  //   reshape [h, 1, t], broadcast_to [h, r, t], reshape [h, r t], slice from r on, reshape [h, r, t - 1], slice [h, r,
  //   c]
  std::optional<OpId> BiasOf(OpId value, const Shape& scores, std::vector<OpId>& chain) const {
    const size_t rank = scores.size();
    const int64_t h = scores[rank - 3], r = scores[rank - 2], c = scores[rank - 1], t = r + c;
    const auto begin = [&](OpId slice) -> const std::vector<int64_t>& {
      return op(slice).attributes.Get(attribute::kBegin);
    };
    for (const OpKind kind :
         {OpKind::kSlice, OpKind::kReshape, OpKind::kSlice, OpKind::kReshape, OpKind::kBroadcastTo, OpKind::kReshape}) {
      if (op(value).kind != kind || is_pinned_[value] != 0 || stage_[value] >= 0 || region_[value] >= 0 ||
          has_role_[value] != 0)
        return std::nullopt;
      chain.push_back(value);
      value = op(value).inputs[0];
    }
    const Shape wanted[] = {{h, r, c}, {h, r, t - 1}, {h, r * (t - 1)}, {h, r * t}, {h, r, t}, {h, 1, t}};
    for (size_t i = 0; i < chain.size(); ++i) {
      if (shape(chain[i]) != wanted[i]) return std::nullopt;
    }
    const bool is_bias = shape(value) == Shape{h, t} && op(value).type.dtype == DType::kF32 &&
                         begin(chain[0]) == Shape{0, 0, 0} && begin(chain[2]) == Shape{0, r};
    return is_bias ? std::optional(value) : std::nullopt;
  }

  bool Fits(const Found& found) const {
    const Shape& q = shape(found.q.value);
    const int64_t head = std::max(q.back(), shape(found.v.value).back());
    if (q.size() < 3 || head > options_.largest_head || op(found.q.value).type.dtype != DType::kF32) return false;
    if (HeadsOf(found.k) != HeadsOf(found.v)) return false;
    const auto belongs = [&](OpId id) {
      return op(id).phase == Phase::kForward && region_[id] == region_[found.last] &&
             (stage_[id] < 0 || stage_[id] == stage_[found.last]);
    };
    return belongs(found.softmax) && std::all_of(found.between.begin(), found.between.end(), belongs);
  }

  int64_t HeadsOf(const Operand& operand) const {
    const Shape& sizes = shape(operand.value);
    return sizes[AttentionDimensions(sizes.size(), operand.heads_inside).heads];
  }

  bool SwapsHeadsAndRows(const Op& transpose) const {
    const std::vector<int64_t>& permutation = transpose.attributes.Get(attribute::kPermutation);
    const size_t rank = permutation.size();
    if (rank < 3) return false;
    for (size_t d = 0; d < rank; ++d) {
      const size_t from = d == rank - 3 ? rank - 2 : d == rank - 2 ? rank - 3 : d;
      if (permutation[d] != static_cast<int64_t>(from)) return false;
    }
    return true;
  }

  // Whether `id` may become a part of what reads it.
  bool IsAbsorbable(OpId id, OpId reader) const {
    return IsReadOnce(id) && is_pinned_[id] == 0 && stage_[id] < 0 && region_[id] == region_[reader];
  }

  // `value` without a transpose that brings heads in front of rows.
  Operand Peeled(OpId value, OpId reader) const {
    const Op& transpose = op(value);
    if (transpose.kind != OpKind::kTranspose || !SwapsHeadsAndRows(transpose) || !IsAbsorbable(value, reader))
      return {.value = value};
    return {.value = transpose.inputs[0], .heads_inside = true, .absorbed = {value}};
  }

  // `value` [.., heads, columns, head] before its heads are repeated for the queries of their group:
  //   [.., groups, columns, head] -> reshape [.., groups, 1, ..] -> broadcast_to [.., groups, heads / groups, ..]
  //   -> reshape [.., heads, ..]
  Operand WithoutRepetition(OpId value, OpId reader) const {
    std::vector<OpId> repetition;
    OpId inner = value;
    for (const OpKind kind : {OpKind::kReshape, OpKind::kBroadcastTo, OpKind::kReshape}) {
      if (op(inner).kind != kind || !IsAbsorbable(inner, reader)) return Peeled(value, reader);
      repetition.push_back(inner);
      inner = op(inner).inputs[0];
    }
    const Shape& heads = shape(value);
    const Shape& groups = shape(inner);
    const size_t rank = heads.size();
    if (groups.size() != rank || rank < 3 || groups[rank - 3] == 0) return Peeled(value, reader);
    Shape repeated = groups;
    repeated.insert(repeated.end() - 2, heads[rank - 3] / groups[rank - 3]);
    Shape with_one = groups;
    with_one.insert(with_one.end() - 2, 1);
    const bool repeats = shape(repetition[1]) == repeated && shape(repetition[2]) == with_one;
    if (!repeats) return Peeled(value, reader);
    Operand operand = Peeled(inner, reader);
    operand.absorbed.insert(operand.absorbed.end(), repetition.begin(), repetition.end());
    return operand;
  }

  void Join(Found found) {
    for (const OpId id : found.between) is_gone_[id] = 1;
    of_bias_.insert(found.matrix_of_bias.begin(), found.matrix_of_bias.end());
    for (const Operand* operand : {&found.q, &found.k, &found.v}) {
      for (const OpId id : operand->absorbed) is_gone_[id] = 1;
    }
    std::vector<OpId> others;
    if (found.bias.has_value()) others.push_back(*found.bias);
    others.insert(others.end(), found.ranges.begin(), found.ranges.end());
    const auto number = [](bool inside) { return static_cast<int64_t>(inside ? 1 : 0); };
    Op& attention = graph_.ops[found.last];
    attention.kind = OpKind::kAttention;
    attention.inputs = {found.q.value, found.k.value, found.v.value};
    attention.attributes = {{attribute::kFactor, found.scale},
                            {attribute::kCausal, found.causal},
                            {attribute::kWindow, found.window},
                            {attribute::kCap, found.cap},
                            {attribute::kRanges, !found.ranges.empty()},
                            {attribute::kBiased, found.bias.has_value()},
                            {attribute::kRate, found.rate},
                            {attribute::kKey, std::move(found.key)},
                            {attribute::kHeadsInside,
                             {number(found.q.heads_inside), number(found.k.heads_inside), number(found.v.heads_inside),
                              number(found.heads_inside)}}};
    if (!options_.trains) {
      is_gone_[found.softmax] = 1;
    } else {
      attention.inputs.push_back(found.softmax);
      statistics_of_[found.last] = found.softmax;
      Op& statistics = graph_.ops[found.softmax];
      statistics.kind = OpKind::kAttentionLogsumexp;
      statistics.name = absl::StrCat(attention.name, ".logsumexp");
      while (!names_.insert(statistics.name).second) absl::StrAppend(&statistics.name, "_");
      statistics.inputs = {found.q.value, found.k.value};
      statistics.inputs.insert(statistics.inputs.end(), others.begin(), others.end());
      statistics.attributes = attention.attributes;
      statistics.type.shape.pop_back();
    }
    attention.inputs.insert(attention.inputs.end(), others.begin(), others.end());
    joins_ = true;
  }

  // What made matrices of biases that nobody reads any more; readers stand behind.
  void RemoveUnreadBiases() {
    const auto is_gone = [&](OpId id) { return is_gone_[id] != 0; };
    for (size_t i = graph_.ops.size(); i-- > 0;) {
      const OpId id(static_cast<int64_t>(i));
      if (of_bias_.contains(id) && std::all_of(readers_[id].begin(), readers_[id].end(), is_gone)) is_gone_[id] = 1;
    }
  }

  // Statistics are kept, or made again, as what they belong to.
  void RetainStatistics() {
    std::vector<RetentionPin> retentions;
    for (const RetentionPin& pin : pins_.retentions) {
      if (op(pin.op).kind == OpKind::kAttentionLogsumexp) continue;  // Of the softmax that was there.
      retentions.push_back(pin);
      const auto joined = statistics_of_.find(pin.op);
      if (joined == statistics_of_.end()) continue;
      retentions.push_back(pin);
      retentions.back().op = joined->second;
    }
    std::sort(retentions.begin(), retentions.end(),
              [](const RetentionPin& a, const RetentionPin& b) { return a.op < b.op; });
    pins_.retentions = std::move(retentions);
  }

  Graph graph_;
  const JoinAttentionOptions options_;
  Pins& pins_;
  const IdVector<OpId, std::vector<OpId>> readers_;
  IdVector<OpId, char> has_role_;
  IdVector<OpId, char> is_pinned_;  // To a layout or with a priority.
  IdVector<OpId, int> region_;      // -1: none.
  IdVector<OpId, int64_t> stage_;   // That of a pin; -1: none.
  IdVector<OpId, char> is_gone_;
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_map<OpId, OpId> statistics_of_;  // By the op of attention that they belong to.
  absl::flat_hash_set<OpId> of_bias_;              // What lies between a bias and the scores.
  bool joins_ = false;
};

}  // namespace

Graph JoinAttention(Graph graph, const JoinAttentionOptions& options, Pins& pins) {
  return options.largest_head == 0 ? std::move(graph) : Joiner(std::move(graph), options, pins).Run();
}

}  // namespace cleave::ir
