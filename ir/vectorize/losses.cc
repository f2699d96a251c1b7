// Losses give one number for all that they see, so that of each element is composed of the ops that it stands for.
#include "ir/vectorize/rules.h"

namespace cleave {
namespace {

// A mask of samples, the third input, makes sums that are not means of the elements' own.
bool HasMask(const Lift& lift) { return lift.input_count() > 2; }

OpId Difference(Lift& lift) { return lift.Step("sub", lift.Inputs()); }

}  // namespace

// -log_softmax(logits)[label]
std::optional<OpId> BatchCrossEntropy(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  const int rank = lift.rank(0);
  const OpId log = lift.Step("log_softmax", {lift.value(0)});
  const OpId chosen = lift.Step("one_hot", {lift.value(1)}, {{"depth", lift.element(0).back()}});
  const OpId kept = lift.Step("where", {chosen, log, lift.Constant(0)});
  const OpId row = lift.Step("reduce_sum", {kept}, {{"axes", std::vector<int64_t>{rank}}});
  return lift.ElementMean(lift.Step("neg", {row}), rank - 1);
}

std::optional<OpId> BatchAccuracy(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  const OpId guess = lift.Step("argmax", {lift.value(0)}, {{"axis", int64_t{-1}}});
  return lift.ElementMean(lift.Step("equal", {guess, lift.value(1)}), lift.rank(1));
}

std::optional<OpId> BatchMse(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  return lift.ElementMean(lift.Step("square", {Difference(lift)}), lift.rank(0));
}

std::optional<OpId> BatchMae(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  return lift.ElementMean(lift.Step("abs", {Difference(lift)}), lift.rank(0));
}

// d^2 / 2 where |d| <= delta, else delta * (|d| - delta / 2).
std::optional<OpId> BatchHuber(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  const double delta = lift.op().attributes.GetDouble("delta");
  const OpId difference = Difference(lift);
  const OpId distance = lift.Step("abs", {difference});
  const OpId near = lift.Step("scale", {lift.Step("square", {difference})}, {{"factor", 0.5}});
  const OpId beyond = lift.Step("sub", {distance, lift.Constant(delta / 2)});
  const OpId far = lift.Step("scale", {beyond}, {{"factor", delta}});
  const OpId is_near = lift.Step("less_equal", {distance, lift.Constant(delta)});
  return lift.ElementMean(lift.Step("where", {is_near, near, far}), lift.rank(0));
}

// softplus(x) - x * t
std::optional<OpId> BatchBceWithLogits(Lift& lift) {
  if (HasMask(lift)) return std::nullopt;
  const OpId product = lift.Step("mul", lift.Inputs());
  const OpId all = lift.Step("sub", {lift.Step("softplus", {lift.value(0)}), product});
  return lift.ElementMean(all, lift.rank(0));
}

}  // namespace cleave
