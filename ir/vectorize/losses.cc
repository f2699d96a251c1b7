// Losses give one number for all that they see, so that of each element is composed of the ops that it stands for.
#include "ir/vectorize/rules.h"

namespace cleave {
namespace {

// A mask of samples, the third input, makes sums that are not means of the elements' own.
bool HasMask(const Lift& lift) { return lift.input_count() > 2; }

OpId Difference(Lift& lift) { return lift.Step(OpKind::kSub, lift.Inputs()); }

}  // namespace

// -log_softmax(logits)[label]
std::optional<OpId> BatchCrossEntropy(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  const int rank = lift.rank(0);
  const OpId log = lift.Step(OpKind::kLogSoftmax, {lift.value(0)});
  const OpId chosen = lift.Step(OpKind::kOneHot, {lift.value(1)}, {{attribute::kDepth, lift.element(0).back()}});
  const OpId kept = lift.Step(OpKind::kWhere, {chosen, log, lift.Constant(0)});
  const OpId row = lift.Step(OpKind::kReduceSum, {kept}, {{attribute::kAxes, std::vector<int64_t>{rank}}});
  return lift.ElementMean(lift.Step(OpKind::kNeg, {row}), rank - 1);
}

std::optional<OpId> BatchAccuracy(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  const OpId guess = lift.Step(OpKind::kArgmax, {lift.value(0)}, {{attribute::kAxis, -1}});
  return lift.ElementMean(lift.Step(OpKind::kEqual, {guess, lift.value(1)}), lift.rank(1));
}

std::optional<OpId> BatchMse(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  return lift.ElementMean(lift.Step(OpKind::kSquare, {Difference(lift)}), lift.rank(0));
}

std::optional<OpId> BatchMae(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  return lift.ElementMean(lift.Step(OpKind::kAbs, {Difference(lift)}), lift.rank(0));
}

// d^2 / 2 where |d| <= delta, else delta * (|d| - delta / 2).
std::optional<OpId> BatchHuber(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  const double delta = lift.op().attributes.Get(attribute::kDelta);
  const OpId difference = Difference(lift);
  const OpId distance = lift.Step(OpKind::kAbs, {difference});
  const OpId near = lift.Step(OpKind::kScale, {lift.Step(OpKind::kSquare, {difference})}, {{attribute::kFactor, 0.5}});
  const OpId beyond = lift.Step(OpKind::kSub, {distance, lift.Constant(delta / 2)});
  const OpId far = lift.Step(OpKind::kScale, {beyond}, {{attribute::kFactor, delta}});
  const OpId is_near = lift.Step(OpKind::kLessEqual, {distance, lift.Constant(delta)});
  return lift.ElementMean(lift.Step(OpKind::kWhere, {is_near, near, far}), lift.rank(0));
}

// softplus(x) - x * t
std::optional<OpId> BatchBceWithLogits(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  const OpId product = lift.Step(OpKind::kMul, lift.Inputs());
  const OpId all = lift.Step(OpKind::kSub, {lift.Step(OpKind::kSoftplus, {lift.value(0)}), product});
  return lift.ElementMean(all, lift.rank(0));
}

}  // namespace cleave
