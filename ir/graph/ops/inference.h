// What the inference functions of the ops share: checks of element types and ranks, and errors in the house style.
// Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_INFERENCE_H_
#define CLEAVE_IR_GRAPH_OPS_INFERENCE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {

using Types = absl::Span<const TensorType>;

// The name under which an op's gradient function adds the gradient by argument `argument`: "h1.matmul.grad_a".
std::string GradientName(const Op& op, const std::string& argument);

// An error unless input `index` holds `expected`; `argument` is its name in the signature, for the cast that the help
// offers.
std::optional<OpError> CheckDType(Types inputs, int index, DType expected, const std::string& argument);

// An error unless input `index` holds real numbers, f32, bf16 or f16.
std::optional<OpError> CheckFloat(Types inputs, int index, const std::string& argument);

// An error unless inputs `a` and `b` hold real numbers of one type. A scalar beside a tensor may have the other type:
// like a constant, it takes the tensor's type.
std::optional<OpError> CheckOneFloat(Types inputs, int a, const std::string& name_a, int b, const std::string& name_b);

// The element type of the result of an elementwise op on `inputs`: that of the first tensor, else of the first scalar.
DType ElementwiseDType(Types inputs);

// The attribute `result`, the type of a value that is not that which follows from the inputs. Of products of 16 bits:
// `f32` where the sum is kept in the type in which it was added up, absent where it is rounded to the type of the
// factors. Of kFloat ops: `bf16` or `f16` where the value is rounded.
Argument ResultArgument();
std::variant<DType, OpError> ResultDType(Types inputs, const Attributes& attributes);

// The attribute `batch` of an op that is made for many elements at once (`vmap`): how many first dimensions its tensors
// have in common, each of whose elements is computed by itself; absent where there are none.
Argument BatchArgument();
size_t BatchOf(const Attributes& attributes);

// An error unless input `index` has at least `rank` dimensions.
std::optional<OpError> CheckRank(Types inputs, int index, int rank);

// An error unless inputs `a` and `b` have exactly the same shape.
std::optional<OpError> CheckSameShape(Types inputs, int a, int b, const std::string& argument_b);

// The optional mask of losses: f32[batch] over the first dimension of input 0.
std::optional<OpError> CheckMask(Types inputs, int index);

// Every size at least 1; `attribute` gives the sizes.
std::optional<OpError> CheckSizes(const Shape& shape, const std::string& attribute);

// An error unless the number is finite.
std::optional<OpError> CheckFinite(const Attributes& attributes, Attribute<double> key);

// `axes` counted from the front (-1 is the last), sorted. Errors: an axis outside of [-rank, rank), or given twice.
std::variant<std::vector<int>, OpError> NormalizeAxes(const std::vector<int64_t>& axes, int rank);

// The same for axes that inference has accepted; no axes mean all.
std::vector<int> AxesOf(const Attributes& attributes, int rank);

// The attribute `axis`, which NormalizeAxes has accepted, counted from the front.
size_t AxisOf(const Attributes& attributes, int rank);

// The product of the sizes, or kMaxElements + 1 when it is larger.
int64_t CountUpToLimit(const Shape& shape);

// "(256, 1)", "(256,)": a shape as the language writes it.
std::string ShapeTupleText(const Shape& shape);

// Fills in defaults and checks names and types of attributes and the number of inputs against the signature.
std::optional<OpError> CompleteAttributes(const OpDefinition& definition, size_t input_count, Attributes& attributes);

// An error where attribute `name` is none of `words`.
std::optional<OpError> CheckWord(const Attributes& attributes, Attribute<std::string> key,
                                 const std::vector<std::string>& words);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_INFERENCE_H_
