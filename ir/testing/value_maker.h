// A graph under construction that gives a value of any wanted type: an existing one, one made from an existing one, or
// a new source. Inside of ir/testing only.
#ifndef CLEAVE_IR_TESTING_VALUE_MAKER_H_
#define CLEAVE_IR_TESTING_VALUE_MAKER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/samples.h"
#include "ir/tensor/types/tensor.h"

namespace cleave::ir {

// Values are computed while the graph grows, on one choice of sources, so that they can be kept small: a chain of
// random ops would soon reach infinity.
class ValueMaker {
 public:
  explicit ValueMaker(Random& random) : random_(random) {}

  // An f32 value of this shape from the domain of `fill`, or (kLabels) an i32 one.
  OpId Real(const Shape& shape, Fill fill);
  OpId Labels(const Shape& shape);
  OpId Parameter(const Shape& shape) { return Source(OpKind::kParameter, DType::kF32, shape); }
  // Existing values of a type.
  std::vector<OpId> OfType(DType dtype) const;

  // nullopt where the op refuses its arguments.
  std::optional<OpId> TryAdd(OpKind kind, std::vector<OpId> inputs, Attributes attributes);
  OpId Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes = {});
  // `value`, scaled down where its elements are large.
  OpId Tamed(OpId value);

  // The phase of the ops that are added from now on, except for sources.
  void SetPhase(Phase phase);

  GraphBuilder& builder() { return builder_; }
  const TensorType& type(OpId value) const { return builder_.type(value); }
  bool Chance(double probability) { return std::uniform_real_distribution<double>(0, 1)(random_) < probability; }
  template <typename T>
  const T& OneOf(const std::vector<T>& items) {
    return items[random_() % items.size()];
  }

 private:
  OpId Source(OpKind kind, DType dtype, const Shape& shape);
  OpId RealSource(const Shape& shape) {
    return Source(Chance(0.6) ? OpKind::kParameter : OpKind::kInput, DType::kF32, shape);
  }
  OpId OfShape(const Shape& shape);
  // `value` in another shape, with other elements added or some of its own left out.
  OpId Adapted(OpId value, const Shape& shape);
  OpId OfCount(OpId flat, int64_t count);
  OpId Reshaped(OpId value, const Shape& shape);
  void Evaluate(OpId id);

  Random& random_;
  GraphBuilder builder_;
  Phase phase_ = Phase::kForward;
  IdVector<OpId, Tensor> values_;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_VALUE_MAKER_H_
