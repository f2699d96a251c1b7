// Operators on tensors and subscripts.
#include "absl/strings/str_cat.h"
#include "dsl/syntax/print.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {
namespace {

const char* OpOf(syntax::BinaryOperator op) {
  switch (op) {
    case syntax::BinaryOperator::kAdd:
      return "add";
    case syntax::BinaryOperator::kSubtract:
      return "sub";
    case syntax::BinaryOperator::kMultiply:
      return "mul";
    case syntax::BinaryOperator::kDivide:
      return "div";
    case syntax::BinaryOperator::kRemainder:
    case syntax::BinaryOperator::kEqual:
    case syntax::BinaryOperator::kNotEqual:
    case syntax::BinaryOperator::kLess:
    case syntax::BinaryOperator::kLessEqual:
    case syntax::BinaryOperator::kGreater:
    case syntax::BinaryOperator::kGreaterEqual:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

// A static number next to a tensor: a product or quotient by it is `scale`, a sum takes a constant that is broadcast.
Value Evaluator::TensorArithmetic(const syntax::Binary& binary, const Value& left, const Value& right, Span span,
                                  Frame& frame) {
  const char* kind = OpOf(binary.op);
  const bool operands_fit = (left.is_tensor() || left.is_number()) && (right.is_tensor() || right.is_number());
  if (kind == nullptr || !operands_fit) {
    const std::string op(syntax::OperatorText(binary.op));
    reporter_.Report(
        Error(Code::kE0204, absl::StrCat("`", op, "` does not take ", kind == nullptr ? "tensors" : "these values"))
            .At(binary.operator_span,
                absl::StrCat(DescribeType(left, graph()), " ", op, " ", DescribeType(right, graph()))));
    return Value{Poison()};
  }

  const int first = static_cast<int>(builder_.graph().ops.size());
  Value result{Poison()};
  const std::string op_kind = kind;
  const bool is_f32 = builder_.type((left.is_tensor() ? left : right).as_tensor()).dtype == DType::kF32;
  if (left.is_tensor() && right.is_tensor()) {
    result = AddOp(op_kind, {{&*binary.left, left.as_tensor()}, {&*binary.right, right.as_tensor()}}, {}, span, frame);
  } else if (is_f32 && op_kind == "div" && right.is_number() && right.as_number() == 0) {
    reporter_.Report(Error(Code::kE0208, "division by zero").At(binary.operator_span, "a tensor divided by 0 here"));
  } else if (is_f32 && (op_kind == "mul" || (op_kind == "div" && right.is_number()))) {
    const double number = (left.is_tensor() ? right : left).as_number();
    const Operand tensor =
        left.is_tensor() ? Operand{&*binary.left, left.as_tensor()} : Operand{&*binary.right, right.as_tensor()};
    result = AddOp("scale", {tensor}, {{{"factor", op_kind == "div" ? 1.0 / number : number}}}, span, frame);
  } else {
    // The number is f32: next to an i32 tensor it is the tensor that needs the cast.
    const auto operand = [&](const Value& value, const syntax::Expression& expression) {
      if (value.is_tensor()) return Operand{&expression, value.as_tensor()};
      return Operand{&expression, AddConstant(DType::kF32, value.as_number(), span, frame)};
    };
    const Operand a = operand(left, *binary.left);
    const Operand b = operand(right, *binary.right);
    result = AddOp(op_kind, {a, b}, {}, span, frame);
  }
  last_operation_ = {span, std::string(syntax::OperatorText(binary.op)), first,
                     static_cast<int>(builder_.graph().ops.size()), false};
  return result;
}

// `x[a .. b, i]`: a slice, and a reshape that drops the dimensions that an index picks one element of.
Value Evaluator::EvaluateIndex(const syntax::Index& index, Span span, Frame& frame) {
  const Value base = Evaluate(*index.base, frame);
  if (base.is_tuple()) return TupleElement(index, std::get<TupleValue>(base.kind), frame);
  bool poisoned = base.is_poison();
  if (!poisoned && !base.is_tensor()) {
    reporter_.Report(Error(Code::kE0214, "only a tensor or a tuple has subscripts")
                         .At(index.base->span, absl::StrCat("this is ", DescribeType(base, graph()))));
    poisoned = true;
  }
  const Shape shape = poisoned ? Shape() : builder_.type(base.as_tensor()).shape;
  if (!poisoned && index.subscripts.size() > shape.size()) {
    reporter_.Report(
        Error(Code::kE0214, absl::StrCat("more subscripts than the tensor has dimensions"))
            .At(index.subscripts[shape.size()].span, absl::StrCat("the tensor is ", DescribeType(base, graph()))));
    poisoned = true;
  }

  std::vector<int64_t> begin(shape.size(), 0);
  std::vector<int64_t> end = shape;
  std::vector<bool> dropped(shape.size(), false);
  for (size_t d = 0; d < index.subscripts.size(); ++d) {
    const syntax::Subscript& subscript = index.subscripts[d];
    const auto bound = [&](const std::optional<syntax::Box<syntax::Expression>>& expression, int64_t otherwise) {
      if (!expression) return otherwise;
      const Value value = Evaluate(**expression, frame);
      if (value.is_int()) return value.as_int();
      if (!value.is_poison()) {
        reporter_.Report(Error(Code::kE0204, "a subscript must be an int")
                             .At((*expression)->span, absl::StrCat("this is ", DescribeType(value, graph()))));
      }
      poisoned = true;
      return otherwise;
    };
    const int64_t size = d < shape.size() ? shape[d] : 1;
    const int64_t low = bound(subscript.begin, 0);
    const int64_t high = subscript.is_range ? bound(subscript.end, size) : low + 1;
    if (poisoned || d >= shape.size()) continue;
    if (low < 0 || high > size || low >= high) {
      const std::string what = subscript.is_range ? absl::StrCat("elements ", low, " to ", high, ", the end excluded,")
                                                  : absl::StrCat("element ", low);
      reporter_.Report(Error(Code::kE0214, absl::StrCat(what, subscript.is_range ? " are" : " is", " not in dimension ",
                                                        d, " of size ", size))
                           .At(subscript.span, low >= high && subscript.is_range && low >= 0 && high <= size
                                                   ? "the range is empty"
                                                   : absl::StrCat("the tensor is ", DescribeType(base, graph()))));
      poisoned = true;
      continue;
    }
    begin[d] = low;
    end[d] = high;
    dropped[d] = !subscript.is_range;
  }
  if (poisoned) return Value{Poison()};

  const int first = static_cast<int>(builder_.graph().ops.size());
  Value result = base;
  if (end != shape || begin != std::vector<int64_t>(shape.size(), 0)) {
    result = AddOp("slice", {{&*index.base, base.as_tensor()}}, {{{"begin", begin}, {"end", end}}}, span, frame);
  }
  std::vector<int64_t> kept;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!dropped[d]) kept.push_back(end[d] - begin[d]);
  }
  if (kept.size() != shape.size() && !result.is_poison()) {
    result = AddOp("reshape", {{&*index.base, result.as_tensor()}}, {{{"shape", kept}}}, span, frame);
  }
  last_operation_ = {span, "[…]", first, static_cast<int>(builder_.graph().ops.size()), false};
  return result;
}

}  // namespace cleave::frontend
