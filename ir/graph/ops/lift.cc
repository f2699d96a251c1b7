#include "ir/graph/ops/lift.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace cleave::ir {

Shape Lift::element(int input) const {
  const Shape& whole = shape(value(input));
  return mapped(input) ? Shape(whole.begin() + 1, whole.end()) : whole;
}

OpId Lift::Whole(int input) {
  if (mapped(input)) return value(input);
  return RepeatElement(builder_, value(input), size_, absl::StrCat(op_.name, ".broadcast_to"));
}

// Sizes are aligned from the last dimension, so an element with fewer dimensions gets dimensions of size 1 behind that
// of the elements.
OpId Lift::Aligned(int input, int rank) {
  const Shape own = element(input);
  if (!mapped(input) || static_cast<int>(own.size()) == rank) return value(input);
  Shape aligned(static_cast<size_t>(rank) - own.size() + 1, 1);
  aligned[0] = size_;
  aligned.insert(aligned.end(), own.begin(), own.end());
  return Reshape(value(input), aligned);
}

std::vector<OpId> Lift::Inputs() const {
  std::vector<OpId> values;
  for (const LiftedInput& input : inputs_) values.push_back(input.value);
  return values;
}

OpId Lift::Main(const std::vector<OpId>& inputs, Attributes attributes) {
  main_.push_back(builder_.Add(op_.kind, inputs, std::move(attributes), op_.name));
  return main_.back();
}

OpId Lift::Instead(OpKind kind, const std::vector<OpId>& inputs, Attributes attributes) {
  return builder_.Add(kind, inputs, std::move(attributes), op_.name);
}

OpId Lift::Step(OpKind kind, const std::vector<OpId>& inputs, Attributes attributes) {
  return builder_.Add(kind, inputs, std::move(attributes), absl::StrCat(op_.name, ".", OpKindName(kind)));
}

OpId Lift::Reshape(OpId x, const Shape& shape) { return Step(OpKind::kReshape, {x}, {{attribute::kShape, shape}}); }

OpId Lift::Moved(OpId x, int64_t from, int64_t to) {
  if (from == to) return x;
  std::vector<int64_t> permutation(shape(x).size());
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return Step(OpKind::kTranspose, {x}, {{attribute::kPermutation, permutation}});
}

OpId Lift::Constant(double value, const Shape& shape) {
  return Step(OpKind::kConstant, {},
              {{attribute::kDType, DType::kF32}, {attribute::kShape, shape}, {attribute::kValue, value}});
}

OpId Lift::ElementMean(OpId x, int rank) {
  if (rank == 0) return x;
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 1);
  return Step(OpKind::kReduceMean, {x}, {{attribute::kAxes, axes}});
}

OpId RepeatElement(GraphBuilder& builder, OpId value, int64_t size, const std::string& name) {
  return builder.Add(OpKind::kBroadcastTo, {value}, {{attribute::kShape, Before(size, builder.type(value).shape)}},
                     name);
}

int64_t ShiftedAxis(int64_t axis) { return axis < 0 ? axis : axis + 1; }

std::vector<int64_t> Before(int64_t first, std::vector<int64_t> rest) {
  rest.insert(rest.begin(), first);
  return rest;
}

OpId BatchSame(Lift& lift) { return lift.Main(lift.Inputs()); }

OpId BatchBroadcasting(Lift& lift) {
  int rank = 0;
  for (int i = 0; i < lift.input_count(); ++i) rank = std::max(rank, lift.rank(i));
  std::vector<OpId> inputs;
  for (int i = 0; i < lift.input_count(); ++i) inputs.push_back(lift.Aligned(i, rank));
  return lift.Main(inputs);
}

OpId BatchAlongAxis(Lift& lift) {
  Attributes attributes = lift.op().attributes;
  attributes.Set(attribute::kAxis, ShiftedAxis(lift.op().attributes.Get(attribute::kAxis)));
  return lift.Main(lift.Inputs(), attributes);
}

}  // namespace cleave::ir
