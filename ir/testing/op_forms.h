// Uses of the ops of the table, in random sizes. Random graphs are made from them. Inside of ir/testing only.
#ifndef CLEAVE_IR_TESTING_OP_FORMS_H_
#define CLEAVE_IR_TESTING_OP_FORMS_H_

#include <optional>
#include <vector>

#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/samples.h"

namespace cleave::ir {

// One way to use an op: a sample of ir/graph/ops/samples.h without its values.
struct OpForm {
  const OpDefinition* op = nullptr;
  Attributes attributes;
  std::vector<TensorType> types;
  std::vector<Fill> fills;
  TensorType output;
  Rule rule;
};

// The forms of every op with inputs that may stand in a model and has samples, one list per op, by name. Made once:
// later calls are free.
const std::vector<std::vector<OpForm>>& OpForms();

// Sizes of the form's factors: those that may change lie in [1, largest], mostly above 1.
std::vector<int64_t> RandomSizes(const OpForm& form, int64_t largest, Random& random);

// Sizes under which input `input` has `shape`, where the form allows it: every dimension one factor that may change.
// The other sizes are those of `sizes`.
std::optional<std::vector<int64_t>> SizesThatFit(const OpForm& form, size_t input, const Shape& shape,
                                                 std::vector<int64_t> sizes);

// The same form with other sizes. REQUIRES: factors that are not free keep their sizes.
OpForm Resized(const OpForm& form, const std::vector<int64_t>& sizes);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_OP_FORMS_H_
