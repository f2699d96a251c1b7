#include <numeric>

#include "ir/vectorize/rules.h"

namespace cleave {
namespace {

// An axis of one element where all have a dimension before its own; one that is counted from the last stays.
int64_t Shifted(int64_t axis) { return axis < 0 ? axis : axis + 1; }

}  // namespace

std::optional<OpId> BatchReduction(Lift& lift) {
  if (lift.rank(0) == 0) return lift.value(0);  // Of one number it is that number.
  Attributes attributes = lift.op().attributes;
  std::vector<int64_t> axes = lift.op().attributes.Get(attribute::kAxes);
  for (int64_t& axis : axes) axis = Shifted(axis);
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(lift.rank(0)));
    std::iota(axes.begin(), axes.end(), 1);
  }
  attributes.Set(attribute::kAxes, axes);
  return lift.Main(lift.Inputs(), attributes);
}

std::optional<OpId> BatchAlongAxis(Lift& lift) {
  for (int i = 1; i < lift.input_count(); ++i) {
    if (lift.mapped(i)) return std::nullopt;
  }
  Attributes attributes = lift.op().attributes;
  attributes.Set(attribute::kAxis, Shifted(lift.op().attributes.Get(attribute::kAxis)));
  return lift.Main(lift.Inputs(), attributes);
}

std::optional<OpId> BatchLayerNorm(Lift& lift) {
  if (!lift.mapped(1) && !lift.mapped(2)) return lift.Main(lift.Inputs());
  // Normalised without scale and shift, which then are those of each element.
  const Shape row = {lift.element(0).back()};
  const OpId normal = lift.Main({lift.value(0), lift.Constant(1, row), lift.Constant(0, row)});
  const OpId scaled = lift.Step(OpKind::kMul, {normal, lift.Aligned(1, lift.rank(0))});
  return lift.Step(OpKind::kAdd, {scaled, lift.Aligned(2, lift.rank(0))});
}

// Elements are further samples.
std::optional<OpId> BatchPooling(Lift& lift) {
  Shape folded = lift.element(0);
  folded[0] *= lift.size();
  const OpId pooled = lift.Main({lift.Reshape(lift.value(0), folded)});
  Shape shape = lift.op().type.shape;
  shape.insert(shape.begin(), lift.size());
  return lift.Reshape(pooled, shape);
}

}  // namespace cleave
