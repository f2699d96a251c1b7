#include "frontend/evaluate/tensors/tuples.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"

namespace cleave::frontend {
namespace {

bool IsTupleOfTensors(const Value& value) {
  if (!value.is_tuple() || value.as_tuple().empty()) return false;
  return std::all_of(value.as_tuple().begin(), value.as_tuple().end(),
                     [](const Value& element) { return element.is_tensor(); });
}

// The sizes into which `split` cuts dimension `axis` of `size` elements; nullopt after a mistake.
std::optional<std::vector<int64_t>> PartSizes(const dsl::syntax::Expression& expression, const Value& parts,
                                              int64_t size, size_t axis, const Context& context) {
  const auto numbers = ToInts(parts);
  if (!numbers || (parts.is_tuple() && parts.as_tuple().empty())) {
    context.reporter.Report(Error(Code::kE0204, "argument `parts` of `split` is an int or a tuple of ints")
                                .At(expression.span, absl::StrCat("this is ", DescribeType(parts, context.graph())))
                                .Note("an int is the number of equal parts, a tuple has the size of each"));
    return std::nullopt;
  }
  const std::vector<int64_t>& given = *numbers;
  if (parts.is_int()) {
    if (given[0] > static_cast<int64_t>(kMaxOps) && size % given[0] == 0) {
      context.reporter.Report(
          Error(Code::kE0213, "the model is too large")
              .At(expression.span, absl::StrCat("each of ", FormatCount(given[0]), " parts is an op, and it may have ",
                                                FormatCount(static_cast<int64_t>(kMaxOps)))));
      return std::nullopt;
    }
    if (given[0] >= 1 && size % given[0] == 0) {
      return std::vector<int64_t>(static_cast<size_t>(given[0]), size / given[0]);
    }
    context.reporter.Report(
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
  context.reporter.Report(Error(Code::kE0409, "parts whose sizes do not add up to that of the dimension")
                              .At(expression.span, absl::StrCat("dimension ", axis, " has ", size, " elements"))
                              .Note("each part has at least 1 element"));
  return std::nullopt;
}

}  // namespace

std::optional<size_t> AxisArgument(const dsl::syntax::Expression& expression, const Value& value, int64_t rank,
                                   const Context& context) {
  if (!value.is_int()) {
    context.reporter.Report(Error(Code::kE0204, "argument `axis` is an int")
                                .At(expression.span, absl::StrCat("this is ", DescribeType(value, context.graph()))));
    return std::nullopt;
  }
  const int64_t axis = value.as_int();
  if (axis >= -rank && axis < rank) return static_cast<size_t>(axis < 0 ? axis + rank : axis);
  Diagnostic error = Error(Code::kE0404, absl::StrCat("axis ", axis, " of a tensor with ", Plural(rank, "dimension")))
                         .At(expression.span, absl::StrCat("the tensor has ", Plural(rank, "dimension")));
  if (rank > 0) error.help.push_back(absl::StrCat("axes are 0 to ", rank - 1, ", or -1 to ", -rank, " from the last"));
  context.reporter.Report(std::move(error));
  return std::nullopt;
}

Value Stack(const CallSite& site, const Context& context) {
  const auto& [call, span, frame] = site;
  static const Signature kSignature{.callee = "stack",
                                    .arguments = {{"x", "x: (tensor, …)", true}, {"axis", "axis: int", true}}};
  const auto matched = MatchArguments(kSignature, call.arguments, span, context.reporter);
  if (!matched) return Value{Poison()};
  const dsl::syntax::Expression& list = *(*matched)[0]->value;
  const Value tensors = context.Evaluate(list, frame);
  const Value axis_value = context.Evaluate(*(*matched)[1]->value, frame);
  if (tensors.is_poison() || axis_value.is_poison()) return Value{Poison()};
  if (!IsTupleOfTensors(tensors)) {
    context.reporter.Report(Error(Code::kE0204, "argument `x` of `stack` is a tuple of tensors")
                                .At(list.span, absl::StrCat("this is ", DescribeType(tensors, context.graph()))));
    return Value{Poison()};
  }
  const ir::TensorType type = context.ops.type(tensors.as_tuple().front().as_tensor());
  for (const Value& element : tensors.as_tuple()) {
    const ir::TensorType& other = context.ops.type(element.as_tensor());
    if (other == type) continue;
    context.reporter.Report(Error(Code::kE0405, absl::StrCat("`stack` of ", type.ToString(), " and ", other.ToString()))
                                .At(list.span, "these tensors differ")
                                .Note("all have the same shape and element type"));
    return Value{Poison()};
  }
  const auto axis = AxisArgument(*(*matched)[1]->value, axis_value, type.rank() + 1, context);
  if (!axis) return Value{Poison()};

  const int first = context.ops.size();
  ir::Shape longer = type.shape;
  longer.insert(longer.begin() + static_cast<int64_t>(*axis), 1);
  std::vector<Operand> operands;
  for (const Value& element : tensors.as_tuple()) {
    // Named after the element, it belongs to the pass of a loop that made it.
    const OpWriter::Inside inside = context.ops.EnterOf(element.as_tensor());
    const std::string& path = context.graph().op(element.as_tensor()).name;
    const Value reshaped = context.ops.AddOp(ir::OpKind::kReshape, {{&list, element.as_tensor()}},
                                             {{ir::attribute::kShape, longer}}, {span, path});
    if (reshaped.is_poison()) return reshaped;
    operands.push_back({&list, reshaped.as_tensor()});
  }
  const Value result = context.ops.AddOp(ir::OpKind::kConcat, operands,
                                         {{ir::attribute::kAxis, static_cast<int64_t>(*axis)}}, frame.At(span));
  context.ops.EndOperation(span, "stack", first);
  return result;
}

Value Split(const CallSite& site, const Context& context) {
  const auto& [call, span, frame] = site;
  static const Signature kSignature{
      .callee = "split",
      .arguments = {{"x", "x: tensor", true}, {"parts", "parts: int or (int, …)", true}, {"axis", "axis: int", true}}};
  const auto matched = MatchArguments(kSignature, call.arguments, span, context.reporter);
  if (!matched) return Value{Poison()};
  const dsl::syntax::Expression& tensor = *(*matched)[0]->value;
  const dsl::syntax::Expression& parts = *(*matched)[1]->value;
  const Value x = context.Evaluate(tensor, frame);
  const Value parts_value = context.Evaluate(parts, frame);
  const Value axis_value = context.Evaluate(*(*matched)[2]->value, frame);
  if (x.is_poison() || parts_value.is_poison() || axis_value.is_poison()) return Value{Poison()};
  if (!x.is_tensor()) {
    context.reporter.Report(Error(Code::kE0204, "argument `x` of `split` is a tensor")
                                .At(tensor.span, absl::StrCat("this is ", DescribeType(x, context.graph()))));
    return Value{Poison()};
  }
  const ir::Shape shape = context.ops.type(x.as_tensor()).shape;
  const auto axis = AxisArgument(*(*matched)[2]->value, axis_value, static_cast<int64_t>(shape.size()), context);
  if (!axis) return Value{Poison()};
  const auto sizes = PartSizes(parts, parts_value, shape[*axis], *axis, context);
  if (!sizes) return Value{Poison()};

  const int first = context.ops.size();
  TupleValue result;
  std::vector<int64_t> begin(shape.size(), 0);
  for (const int64_t size : *sizes) {
    std::vector<int64_t> end = shape;
    end[*axis] = begin[*axis] + size;
    const bool whole = size == shape[*axis];
    result.elements.push_back(whole ? x
                                    : context.ops.AddOp(ir::OpKind::kSlice, {{&tensor, x.as_tensor()}},
                                                        {{ir::attribute::kBegin, begin}, {ir::attribute::kEnd, end}},
                                                        frame.At(span)));
    if (result.elements.back().is_poison()) return Value{Poison()};
    begin[*axis] = end[*axis];
  }
  context.ops.EndOperation(span, "split", first);
  return Value{std::move(result)};
}

}  // namespace cleave::frontend
