// One op while it gets its batched form (OpDefinition::batch): its present inputs, and functions that add the ops which
// replace it.
//
// A form adds ops that compute the op for all elements, whichever inputs are mapped. Their number does not depend on
// that of the elements.
#ifndef CLEAVE_IR_GRAPH_OPS_LIFT_H_
#define CLEAVE_IR_GRAPH_OPS_LIFT_H_

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/ops/builder.h"

namespace cleave::ir {

// A tensor that the op reads: all elements, with their dimension first, or one value that all share.
struct LiftedInput {
  OpId value;
  bool mapped = false;
};

class Lift {
 public:
  // Keeps references to all arguments except `inputs`. REQUIRES: an input is mapped.
  Lift(GraphBuilder& builder, const Op& op, std::vector<LiftedInput> inputs, int64_t size)
      : builder_(builder), op_(op), inputs_(std::move(inputs)), size_(size) {}

  const Op& op() const { return op_; }
  GraphBuilder& builder() { return builder_; }
  int64_t size() const { return size_; }  // Elements.
  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool mapped(int input) const { return inputs_[static_cast<size_t>(input)].mapped; }
  OpId value(int input) const { return inputs_[static_cast<size_t>(input)].value; }
  Shape shape(OpId id) const { return builder_.type(id).shape; }
  Shape element(int input) const;  // The shape of one element.
  int rank(int input) const { return static_cast<int>(element(input).size()); }

  OpId Whole(int input);              // With the elements' dimension, whether or not it is mapped.
  OpId Aligned(int input, int rank);  // Broadcasts with elements of `rank` dimensions.
  std::vector<OpId> Inputs() const;   // All inputs as they are.

  // Adds the op itself, with other inputs or attributes; it keeps its name.
  OpId Main(const std::vector<OpId>& inputs, Attributes attributes);
  OpId Main(const std::vector<OpId>& inputs) { return Main(inputs, op_.attributes); }
  // Adds another op in its place, which takes its name.
  OpId Instead(OpKind kind, const std::vector<OpId>& inputs, Attributes attributes = {});
  // Adds an op beside it, or one of those that compose it.
  OpId Step(OpKind kind, const std::vector<OpId>& inputs, Attributes attributes = {});
  OpId Reshape(OpId x, const Shape& shape);
  OpId Moved(OpId x, int64_t from, int64_t to);  // Dimension `from` of x becomes dimension `to`.
  OpId Constant(double value, const Shape& shape = {});
  // The mean of each element, of `rank` dimensions.
  OpId ElementMean(OpId x, int rank);

  const std::vector<OpId>& main() const { return main_; }

 private:
  GraphBuilder& builder_;
  const Op& op_;
  std::vector<LiftedInput> inputs_;
  int64_t size_;
  std::vector<OpId> main_;
};

// `value` repeated `size` times along a new first dimension.
OpId RepeatElement(GraphBuilder& builder, OpId value, int64_t size, const std::string& name);

// An axis of one element, moved by the dimension of the elements before its own; an axis that is counted from the last
// one stays.
int64_t ShiftedAxis(int64_t axis);

// `rest` with `first` before it.
std::vector<int64_t> Before(int64_t first, std::vector<int64_t> rest);

// For OpDefinition::batch.
OpId BatchSame(Lift& lift);          // One tensor; what the op looks at are last dimensions.
OpId BatchBroadcasting(Lift& lift);  // All inputs broadcast.
OpId BatchAlongAxis(Lift& lift);     // One tensor, with an attribute `axis`.

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_LIFT_H_
