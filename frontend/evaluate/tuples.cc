// `stack` makes one tensor of a tuple of them, `split` a tuple of one; neither is an op: they stand for reshapes and a
// concatenation, and for slices. `parts[0]` picks an element.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {
namespace {

bool IsTupleOfTensors(const Value& value) {
  if (!value.is_tuple() || value.as_tuple().empty()) return false;
  return std::all_of(value.as_tuple().begin(), value.as_tuple().end(),
                     [](const Value& element) { return element.is_tensor(); });
}

}  // namespace

// `axis` counted from the front, of a tensor with `rank` dimensions; nullopt after a mistake.
std::optional<size_t> Evaluator::AxisArgument(const syntax::Expression& expression, const Value& value, int64_t rank) {
  if (!value.is_int()) {
    reporter_.Report(Error(Code::kE0204, "argument `axis` is an int")
                         .At(expression.span, absl::StrCat("this is ", DescribeType(value, graph()))));
    return std::nullopt;
  }
  const int64_t axis = value.as_int();
  if (axis >= -rank && axis < rank) return static_cast<size_t>(axis < 0 ? axis + rank : axis);
  Diagnostic error = Error(Code::kE0404, absl::StrCat("axis ", axis, " of a tensor with ", Plural(rank, "dimension")))
                         .At(expression.span, absl::StrCat("the tensor has ", Plural(rank, "dimension")));
  if (rank > 0) error.help.push_back(absl::StrCat("axes are 0 to ", rank - 1, ", or -1 to ", -rank, " from the last"));
  reporter_.Report(std::move(error));
  return std::nullopt;
}

// `stack((a, b), axis = 0)`: tensors of one shape along a new dimension.
Value Evaluator::Stack(const syntax::Call& call, Span span, Frame& frame) {
  static const Signature kSignature{.callee = "stack",
                                    .arguments = {{"x", "x: (tensor, …)", true}, {"axis", "axis: int", true}}};
  const auto matched = MatchArguments(kSignature, call.arguments, span, reporter_);
  if (!matched) return Value{Poison()};
  const syntax::Expression& list = *(*matched)[0]->value;
  const Value tensors = Evaluate(list, frame);
  const Value axis_value = Evaluate(*(*matched)[1]->value, frame);
  if (tensors.is_poison() || axis_value.is_poison()) return Value{Poison()};
  if (!IsTupleOfTensors(tensors)) {
    reporter_.Report(Error(Code::kE0204, "argument `x` of `stack` is a tuple of tensors")
                         .At(list.span, absl::StrCat("this is ", DescribeType(tensors, graph()))));
    return Value{Poison()};
  }
  const TensorType type = builder_.type(tensors.as_tuple().front().as_tensor());
  for (const Value& element : tensors.as_tuple()) {
    const TensorType& other = builder_.type(element.as_tensor());
    if (other == type) continue;
    reporter_.Report(Error(Code::kE0405, absl::StrCat("`stack` of ", type.ToString(), " and ", other.ToString()))
                         .At(list.span, "these tensors differ")
                         .Note("all have the same shape and element type"));
    return Value{Poison()};
  }
  const auto axis = AxisArgument(*(*matched)[1]->value, axis_value, type.rank() + 1);
  if (!axis) return Value{Poison()};

  const int first = static_cast<int>(builder_.graph().ops.size());
  Shape longer = type.shape;
  longer.insert(longer.begin() + static_cast<int64_t>(*axis), 1);
  std::vector<Operand> operands;
  for (const Value& element : tensors.as_tuple()) {
    const Value reshaped =
        AddOp(OpKind::kReshape, {{&list, element.as_tensor()}}, {{attribute::kShape, longer}}, span, frame);
    if (reshaped.is_poison()) return reshaped;
    operands.push_back({&list, reshaped.as_tensor()});
  }
  const Value result = AddOp(OpKind::kConcat, operands, {{attribute::kAxis, static_cast<int64_t>(*axis)}}, span, frame);
  last_operation_ = {span, "stack", first, static_cast<int>(builder_.graph().ops.size()), false};
  return result;
}

// `split(x, 3, axis = 1)` gives a tuple of three equal parts, `split(x, (2, 6), axis = 1)` parts of these sizes.
Value Evaluator::Split(const syntax::Call& call, Span span, Frame& frame) {
  static const Signature kSignature{
      .callee = "split",
      .arguments = {{"x", "x: tensor", true}, {"parts", "parts: int or (int, …)", true}, {"axis", "axis: int", true}}};
  const auto matched = MatchArguments(kSignature, call.arguments, span, reporter_);
  if (!matched) return Value{Poison()};
  const syntax::Expression& tensor = *(*matched)[0]->value;
  const syntax::Expression& parts = *(*matched)[1]->value;
  const Value x = Evaluate(tensor, frame);
  const Value parts_value = Evaluate(parts, frame);
  const Value axis_value = Evaluate(*(*matched)[2]->value, frame);
  if (x.is_poison() || parts_value.is_poison() || axis_value.is_poison()) return Value{Poison()};
  if (!x.is_tensor()) {
    reporter_.Report(Error(Code::kE0204, "argument `x` of `split` is a tensor")
                         .At(tensor.span, absl::StrCat("this is ", DescribeType(x, graph()))));
    return Value{Poison()};
  }
  const Shape shape = builder_.type(x.as_tensor()).shape;
  const auto axis = AxisArgument(*(*matched)[2]->value, axis_value, static_cast<int64_t>(shape.size()));
  if (!axis) return Value{Poison()};
  const auto sizes = PartSizes(parts, parts_value, shape[*axis], *axis);
  if (!sizes) return Value{Poison()};

  const int first = static_cast<int>(builder_.graph().ops.size());
  TupleValue result;
  std::vector<int64_t> begin(shape.size(), 0);
  for (const int64_t size : *sizes) {
    std::vector<int64_t> end = shape;
    end[*axis] = begin[*axis] + size;
    const bool whole = size == shape[*axis];
    result.elements.push_back(whole ? x
                                    : AddOp(OpKind::kSlice, {{&tensor, x.as_tensor()}},
                                            {{attribute::kBegin, begin}, {attribute::kEnd, end}}, span, frame));
    if (result.elements.back().is_poison()) return Value{Poison()};
    begin[*axis] = end[*axis];
  }
  last_operation_ = {span, "split", first, static_cast<int>(builder_.graph().ops.size()), false};
  return Value{std::move(result)};
}

// The sizes into which `split` cuts dimension `axis` of `size` elements; nullopt after a mistake.
std::optional<std::vector<int64_t>> Evaluator::PartSizes(const syntax::Expression& expression, const Value& parts,
                                                         int64_t size, size_t axis) {
  const auto numbers = ToAttribute({.name = "parts", .kind = ArgumentKind::kInts}, parts);
  if (!numbers || (parts.is_tuple() && parts.as_tuple().empty())) {
    reporter_.Report(Error(Code::kE0204, "argument `parts` of `split` is an int or a tuple of ints")
                         .At(expression.span, absl::StrCat("this is ", DescribeType(parts, graph())))
                         .Note("an int is the number of equal parts, a tuple has the size of each"));
    return std::nullopt;
  }
  const std::vector<int64_t>& given = std::get<std::vector<int64_t>>(*numbers);
  if (parts.is_int()) {
    if (given[0] >= 1 && size % given[0] == 0) {
      return std::vector<int64_t>(static_cast<size_t>(given[0]), size / given[0]);
    }
    reporter_.Report(
        Error(Code::kE0409, absl::StrCat(size, " elements cannot be split into ", given[0], " equal parts"))
            .At(expression.span, absl::StrCat("dimension ", axis, " has ", size, " elements"))
            .Help("give the size of each part: a tuple of ints"));
    return std::nullopt;
  }
  int64_t rest = size;
  for (const int64_t part : given) {
    if (part < 1 || part > rest) rest = -1;
    if (rest < 0) break;
    rest -= part;
  }
  if (rest == 0) return given;
  reporter_.Report(Error(Code::kE0409, "parts whose sizes do not add up to that of the dimension")
                       .At(expression.span, absl::StrCat("dimension ", axis, " has ", size, " elements"))
                       .Note("each part has at least 1 element"));
  return std::nullopt;
}

Value Evaluator::TupleElement(const syntax::Index& index, const TupleValue& tuple, Frame& frame) {
  const syntax::Subscript& subscript = index.subscripts.front();
  if (index.subscripts.size() > 1 || subscript.is_range) {
    reporter_.Report(Error(Code::kE0214, "an element of a tuple has one number")
                         .At(subscript.span, "expected an index, counted from 0"));
    return Value{Poison()};
  }
  const std::optional<int64_t> place = EvaluateInt(**subscript.begin, "an index", &frame);
  if (!place) return Value{Poison()};
  const int64_t size = static_cast<int64_t>(tuple.elements.size());
  if (*place >= 0 && *place < size) return tuple.elements[static_cast<size_t>(*place)];
  reporter_.Report(Error(Code::kE0214, absl::StrCat("element ", *place, " of a tuple of ", size))
                       .At(subscript.span, absl::StrCat("elements are 0 to ", size - 1)));
  return Value{Poison()};
}

}  // namespace cleave::frontend
