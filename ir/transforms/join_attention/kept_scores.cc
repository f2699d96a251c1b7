#include "ir/transforms/join_attention/kept_scores.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

bool IsProduct(const Op& op) { return op.kind == OpKind::kMatmul || op.kind == OpKind::kEinsum; }

// What may stand between the products of attention that becomes one op.
bool BecomesPart(OpKind kind) {
  const OpKind kinds[] = {OpKind::kScale,     OpKind::kTanh,    OpKind::kCausalMask,
                          OpKind::kRangeMask, OpKind::kSoftmax, OpKind::kDropout};
  return std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds);
}

class Finder {
 public:
  Finder(const Graph& graph, const JoinAttentionOptions& options, const Pins& pins)
      : graph_(graph), options_(options), readers_(Users(graph)) {
    for (const Look& look : graph.looks) roles_.insert(look.value);
    for (const Metric& metric : graph.metrics) roles_.insert(metric.value);
    for (const Pin& pin : pins.pins) pinned_.insert(pin.op);
    for (const Priority& priority : pins.priorities) pinned_.insert(priority.op);
  }

  std::optional<KeptScores> At(const Op& softmax) const {
    if (softmax.kind != OpKind::kSoftmax || softmax.phase != Phase::kForward || softmax.type.rank() < 3)
      return std::nullopt;
    std::vector<OpId> between;  // From the scores on, both products among them.
    const std::optional<OpId> scores = ProductBefore(softmax, between);
    if (!scores.has_value()) return std::nullopt;
    std::reverse(between.begin(), between.end());
    between.push_back(softmax.id);
    const std::optional<OpId> mixed = ProductBehind(softmax, between);
    if (!mixed.has_value()) return std::nullopt;
    return KeptScores{softmax.id, *scores, *mixed, Reason(*scores, *mixed, between)};
  }

 private:
  const Op& op(OpId id) const { return graph_.op(id); }
  bool IsParameter(OpId id) const { return op(id).kind == OpKind::kParameter; }

  // Of values that the model computes, of the shape of `like`.
  bool IsOfValues(const Op& product) const {
    return IsProduct(product) && product.inputs.size() == 2 && !IsParameter(product.inputs[0]) &&
           !IsParameter(product.inputs[1]);
  }

  std::optional<OpId> ProductBefore(const Op& softmax, std::vector<OpId>& between) const {
    const Op* at = &op(softmax.inputs[0]);
    while (at->type.shape == softmax.type.shape && at->phase == Phase::kForward) {
      between.push_back(at->id);
      if (IsProduct(*at)) return IsOfValues(*at) ? std::optional(at->id) : std::nullopt;
      const Op* next = nullptr;  // The last of equal inputs: `where(mask, scores, -1e9)` has its mask in front.
      for (const OpId input : at->inputs) {
        const Op& candidate = op(input);
        if (candidate.type.shape != softmax.type.shape || candidate.type.dtype != DType::kF32) continue;
        if (next == nullptr || IsProduct(candidate) || BecomesPart(candidate.kind)) next = &candidate;
      }
      if (next == nullptr) return std::nullopt;
      at = next;
    }
    return std::nullopt;
  }

  std::optional<OpId> ProductBehind(const Op& softmax, std::vector<OpId>& between) const {
    OpId value = softmax.id;
    while (true) {
      OpId next = value;
      for (const OpId reader : readers_[value]) {
        const Op& candidate = op(reader);
        if (candidate.phase != Phase::kForward) continue;
        if (IsOfValues(candidate)) return reader;
        if (candidate.type.shape == softmax.type.shape) next = reader;
      }
      if (next == value) return std::nullopt;
      value = next;
      between.push_back(value);
    }
  }

  std::string Reason(OpId scores, OpId mixed, const std::vector<OpId>& between) const {
    const auto named = [&](OpId id) { return absl::StrCat("`", op(id).name, "`"); };
    for (const OpId id : between) {
      if (id != scores && !BecomesPart(op(id).kind)) {
        return absl::StrCat(named(id), ", `", OpKindName(op(id).kind), "`, stands between its products");
      }
    }
    for (const OpId id : {scores, mixed}) {
      if (op(id).kind != OpKind::kMatmul) return absl::StrCat(named(id), " is an `einsum`, and no `matmul`");
    }
    for (const OpId id : between) {
      if (readers_[id].size() > 1) return absl::StrCat(named(readers_[id].back()), " reads ", named(id), ", too");
      if (roles_.count(id) > 0) return absl::StrCat(named(id), " is looked at");
      if (pinned_.count(id) > 0) return absl::StrCat(named(id), " has a pin of its own");
    }
    const Shape& q = op(op(scores).inputs[0]).type.shape;
    const Shape& v = op(op(mixed).inputs[1]).type.shape;
    if (!op(scores).attributes.Get(attribute::kTransposeB)) {
      return absl::StrCat(named(scores), " reads keys that are transposed by themselves, and not with `transpose_b`");
    }
    if (const int64_t head = std::max(q.back(), v.back()); head > options_.largest_head) {
      return absl::StrCat("its heads have ", head, " elements, more than ", options_.largest_head);
    }
    return "its ops are not all in one form, region, stage or retention";
  }

  const Graph& graph_;
  const JoinAttentionOptions& options_;
  const IdVector<OpId, std::vector<OpId>> readers_;
  std::set<OpId> roles_, pinned_;
};

}  // namespace

std::vector<KeptScores> FindKeptScores(const Graph& joined, const JoinAttentionOptions& options, const Pins& pins) {
  std::vector<KeptScores> found;
  const Finder finder(joined, options, pins);
  for (const Op& op : joined.ops) {
    if (std::optional<KeptScores> kept = finder.At(op)) found.push_back(*std::move(kept));
  }
  return found;
}

}  // namespace cleave::ir
