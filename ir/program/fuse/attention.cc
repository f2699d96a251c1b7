#include "ir/program/fuse/attention.h"

#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/ring.h"
#include "ir/program/fuse/place_of_piece.h"

namespace cleave::ir {
namespace {

// The inputs of the ops, by their place.
constexpr size_t kQ = 0, kK = 1, kV = 2;
constexpr size_t kY = 3, kLogsumexp = 4, kDy = 5;        // Of the gradients by q, k and bias.
constexpr size_t kLogsumexpOfValue = 2, kDyOfValue = 3;  // Of that by v.

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program), places_(program) {}

  Attention Run() {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const Compute* const compute = std::get_if<Compute>(&program_.steps[i].action);
      if (compute == nullptr || !IsOfAttention(compute->kind)) continue;
      const bool is_forward = compute->kind == OpKind::kAttention || compute->kind == OpKind::kAttentionLogsumexp;
      is_forward ? AddForward(static_cast<int>(i), *compute) : AddBackward(static_cast<int>(i), *compute);
    }
    return std::move(found_);
  }

 private:
  const Step& StepAt(int i) const { return program_.steps[static_cast<size_t>(i)]; }
  const std::vector<ValueId>& InputsOf(int i) const { return std::get<Compute>(StepAt(i).action).inputs; }

  // What all these ops read.
  static AttentionInputs CommonInputs(const Compute& compute) {
    AttentionInputs inputs = {.q = compute.inputs[kQ], .k = compute.inputs[kK], .v = std::nullopt};
    auto others = compute.inputs.end();
    if (compute.attributes.Get(attribute::kRanges)) {
      others -= 2;
      inputs.ranges.assign(others, compute.inputs.end());
    }
    if (compute.attributes.Get(attribute::kBiased)) inputs.bias = *(others - 1);
    return inputs;
  }

  // But for the values, which not all read.
  static bool AreSame(AttentionInputs a, const AttentionInputs& b) {
    a.v = b.v;
    return a == b;
  }

  // Puts `joined`, which is the open piece with one step more, in its place if all its steps can run as one.
  template <typename Piece>
  bool Joins(Piece& open, Piece joined) {
    if (!Alike(open.steps.front(), joined.steps.back())) return false;
    const std::optional<int> place = places_.PlaceOf(joined.steps);
    if (!place.has_value()) return false;
    joined.place = *place;
    open = std::move(joined);
    return true;
  }

  void AddForward(int step, const Compute& compute) {
    const bool is_result = compute.kind == OpKind::kAttention;
    AttentionForward own{.steps = {step}, .place = step, .inputs = CommonInputs(compute)};
    if (is_result) own.inputs.v = compute.inputs[kV];
    (is_result ? own.output : own.logsumexp) = compute.output;
    for (const size_t number : forward_of_[own.inputs.q]) {
      AttentionForward joined = found_.forward[number];
      if (!AreSame(joined.inputs, own.inputs) || joined.steps.size() > 1) continue;
      if (joined.output.has_value() == is_result) continue;
      // The result belongs to its own statistics.
      const ValueId statistics = is_result ? *joined.logsumexp : *own.logsumexp;
      const std::vector<ValueId>& read = InputsOf(is_result ? step : joined.steps[0]);
      if (absl::c_find(read, statistics) == read.end()) continue;
      joined.steps.push_back(step);
      if (is_result) joined.inputs.v = own.inputs.v;
      (is_result ? joined.output : joined.logsumexp) = compute.output;
      if (Joins(found_.forward[number], std::move(joined))) return;
    }
    forward_of_[own.inputs.q].push_back(found_.forward.size());
    found_.forward.push_back(std::move(own));
  }

  void AddBackward(int step, const Compute& compute) {
    const bool by_value = compute.kind == OpKind::kAttentionGradientValue;
    AttentionBackward own{.steps = {step},
                          .place = step,
                          .inputs = CommonInputs(compute),
                          .logsumexp = compute.inputs[by_value ? kLogsumexpOfValue : kLogsumexp],
                          .output_gradient = compute.inputs[by_value ? kDyOfValue : kDy]};
    if (!by_value) {
      own.inputs.v = compute.inputs[kV];
      own.output = compute.inputs[kY];
    }
    ResultOf(compute.kind, own) = compute.output;
    for (const size_t number : backward_of_[own.inputs.q]) {
      AttentionBackward joined = found_.backward[number];
      if (!AreSame(joined.inputs, own.inputs) || joined.logsumexp != own.logsumexp ||
          joined.output_gradient != own.output_gradient || ResultOf(compute.kind, joined).has_value())
        continue;
      if (!by_value) {
        if (joined.output.has_value() && (joined.output != own.output || joined.inputs.v != own.inputs.v)) continue;
        joined.inputs.v = own.inputs.v;
        joined.output = own.output;
      }
      ResultOf(compute.kind, joined) = compute.output;
      joined.steps.push_back(step);
      if (Joins(found_.backward[number], std::move(joined))) return;
    }
    backward_of_[own.inputs.q].push_back(found_.backward.size());
    found_.backward.push_back(std::move(own));
  }

  static std::optional<ValueId>& ResultOf(OpKind kind, AttentionBackward& piece) {
    if (kind == OpKind::kAttentionGradientValue) return piece.v_gradient;
    if (kind == OpKind::kAttentionGradientBias) return piece.bias_gradient;
    return kind == OpKind::kAttentionGradientQuery ? piece.q_gradient : piece.k_gradient;
  }

  // Whether both run in the same passes of a step, and compute the same attention.
  bool Alike(int a, int b) const {
    const Attributes& attributes = std::get<Compute>(StepAt(a).action).attributes;
    const Attributes& others = std::get<Compute>(StepAt(b).action).attributes;
    const auto is_equal = [&](auto attribute) { return attributes.Get(attribute) == others.Get(attribute); };
    return places_.RunTogether(a, b) && is_equal(attribute::kFactor) && is_equal(attribute::kCap) &&
           is_equal(attribute::kCausal) && is_equal(attribute::kWindow) && is_equal(attribute::kRate) &&
           is_equal(attribute::kKey) && is_equal(attribute::kHeadsInside) &&
           RingPieces(attributes) == RingPieces(others) && (RingPieces(attributes) == 0 || is_equal(attribute::kTurn));
  }

  const Program& program_;
  const PlacesOfPieces places_;
  Attention found_;
  // Of the queries: the numbers of the pieces found.
  std::map<ValueId, absl::InlinedVector<size_t, 2>> forward_of_;
  std::map<ValueId, absl::InlinedVector<size_t, 2>> backward_of_;
};

}  // namespace

bool IsOfAttention(OpKind kind) {
  switch (kind) {
    case OpKind::kAttention:
    case OpKind::kAttentionLogsumexp:
    case OpKind::kAttentionGradientValue:
    case OpKind::kAttentionGradientQuery:
    case OpKind::kAttentionGradientKey:
    case OpKind::kAttentionGradientBias:
      return true;
    default:
      return false;
  }
}

Attention FindAttention(const Program& program) { return Finder(program).Run(); }

}  // namespace cleave::ir
