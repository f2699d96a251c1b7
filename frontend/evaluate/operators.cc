// Operators on tensors and subscripts.
#include "absl/strings/str_cat.h"
#include "dsl/syntax/print.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {
namespace {

std::optional<OpKind> OpOf(syntax::BinaryOperator op) {
  switch (op) {
    case syntax::BinaryOperator::kAdd:
      return OpKind::kAdd;
    case syntax::BinaryOperator::kSubtract:
      return OpKind::kSub;
    case syntax::BinaryOperator::kMultiply:
      return OpKind::kMul;
    case syntax::BinaryOperator::kDivide:
      return OpKind::kDiv;
    case syntax::BinaryOperator::kRemainder:
    case syntax::BinaryOperator::kEqual:
    case syntax::BinaryOperator::kNotEqual:
    case syntax::BinaryOperator::kLess:
    case syntax::BinaryOperator::kLessEqual:
    case syntax::BinaryOperator::kGreater:
    case syntax::BinaryOperator::kGreaterEqual:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

// A static number next to a tensor: a product or quotient by it is `scale`, a sum takes a constant that is broadcast.
Value Evaluator::TensorArithmetic(const syntax::Binary& binary, const Value& left, const Value& right, Span span,
                                  Frame& frame) {
  const std::optional<OpKind> kind = OpOf(binary.op);
  const auto fits = [](const Value& value) { return value.is_tensor() || OnRank(value, 0).is_number(); };
  const bool operands_fit = fits(left) && fits(right);
  if (!kind.has_value() || !operands_fit) {
    const std::string op(syntax::OperatorText(binary.op));
    reporter_.Report(
        Error(Code::kE0204, absl::StrCat("`", op, "` does not take ", !kind.has_value() ? "tensors" : "these values"))
            .At(binary.operator_span,
                absl::StrCat(DescribeType(left, graph()), " ", op, " ", DescribeType(right, graph()))));
    return Value{Poison()};
  }

  if (left.is_per_rank() || right.is_per_rank()) return RankArithmetic(binary, left, right, span, frame);
  const int first = static_cast<int>(builder_.graph().ops.size());
  Value result{Poison()};
  const bool is_f32 = builder_.type((left.is_tensor() ? left : right).as_tensor()).dtype == DType::kF32;
  if (left.is_tensor() && right.is_tensor()) {
    result = AddOp(*kind, {{&*binary.left, left.as_tensor()}, {&*binary.right, right.as_tensor()}}, {}, span, frame);
  } else if (is_f32 && *kind == OpKind::kDiv && right.is_number() && right.as_number() == 0) {
    reporter_.Report(Error(Code::kE0208, "division by zero").At(binary.operator_span, "a tensor divided by 0 here"));
  } else if (is_f32 && (*kind == OpKind::kMul || (*kind == OpKind::kDiv && right.is_number()))) {
    const double number = (left.is_tensor() ? right : left).as_number();
    const Operand tensor =
        left.is_tensor() ? Operand{&*binary.left, left.as_tensor()} : Operand{&*binary.right, right.as_tensor()};
    result = AddOp(OpKind::kScale, {tensor}, {{attribute::kFactor, *kind == OpKind::kDiv ? 1.0 / number : number}},
                   span, frame);
  } else {
    // The number is f32: next to an i32 tensor it is the tensor that needs the cast.
    const auto operand = [&](const Value& value, const syntax::Expression& expression) {
      if (value.is_tensor()) return Operand{&expression, value.as_tensor()};
      return Operand{&expression, AddConstant(DType::kF32, value.as_number(), span, frame)};
    };
    const Operand a = operand(left, *binary.left);
    const Operand b = operand(right, *binary.right);
    result = AddOp(*kind, {a, b}, {}, span, frame);
  }
  last_operation_ = {span, std::string(syntax::OperatorText(binary.op)), first,
                     static_cast<int>(builder_.graph().ops.size()), false};
  return result;
}

// A number that differs between ranks next to a tensor.
Value Evaluator::RankArithmetic(const syntax::Binary& binary, const Value& left, const Value& right, Span span,
                                Frame& frame) {
  if (binary.op == syntax::BinaryOperator::kDivide && right.is_per_rank()) {
    for (int64_t rank = 0; rank < world(); ++rank) {
      if (OnRank(right, rank).as_number() != 0) continue;
      reporter_.Report(Error(Code::kE0208, "division by zero")
                           .At(binary.operator_span, "a tensor divided by 0 here")
                           .Note(absl::StrCat("on rank ", rank)));
      return Value{Poison()};
    }
  }
  const int first = static_cast<int>(builder_.graph().ops.size());
  const auto operand = [&](const Value& value, const syntax::Expression& expression) {
    return Operand{&expression, value.is_tensor() ? value.as_tensor() : AddRankValue(value, span, frame)};
  };
  const Operand a = operand(left, *binary.left);
  const Operand b = operand(right, *binary.right);
  const Value result = AddOp(*OpOf(binary.op), {a, b}, {}, span, frame);
  last_operation_ = {span, std::string(syntax::OperatorText(binary.op)), first,
                     static_cast<int>(builder_.graph().ops.size()), false};
  return result;
}

}  // namespace cleave::frontend
