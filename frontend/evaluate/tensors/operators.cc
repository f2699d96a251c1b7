#include "frontend/evaluate/tensors/operators.h"

#include "absl/strings/str_cat.h"
#include "dsl/syntax/print.h"
#include "frontend/evaluate/statics/per_rank.h"

namespace cleave::frontend {
namespace {

std::optional<ir::OpKind> OpOf(dsl::syntax::BinaryOperator op) {
  switch (op) {
    case dsl::syntax::BinaryOperator::kAdd:
      return ir::OpKind::kAdd;
    case dsl::syntax::BinaryOperator::kSubtract:
      return ir::OpKind::kSub;
    case dsl::syntax::BinaryOperator::kMultiply:
      return ir::OpKind::kMul;
    case dsl::syntax::BinaryOperator::kDivide:
      return ir::OpKind::kDiv;
    case dsl::syntax::BinaryOperator::kRemainder:
    case dsl::syntax::BinaryOperator::kEqual:
    case dsl::syntax::BinaryOperator::kNotEqual:
    case dsl::syntax::BinaryOperator::kLess:
    case dsl::syntax::BinaryOperator::kLessEqual:
    case dsl::syntax::BinaryOperator::kGreater:
    case dsl::syntax::BinaryOperator::kGreaterEqual:
      return std::nullopt;
  }
  return std::nullopt;
}

// Arithmetic of a tensor with a number that differs between ranks.
Value RankArithmetic(const dsl::syntax::Binary& binary, const Value& left, const Value& right, const Origin& origin,
                     OpWriter& ops, Reporter& reporter) {
  if (binary.op == dsl::syntax::BinaryOperator::kDivide && right.is_per_rank()) {
    for (int64_t rank = 0; rank < ir::RankCount(ops.graph().rank_axes); ++rank) {
      if (OnRank(right, rank).as_number() != 0) continue;
      reporter.Report(Error(Code::kE0208, "division by zero")
                          .At(binary.operator_span, "a tensor divided by 0 here")
                          .Note(absl::StrCat("on rank ", rank)));
      return Value{Poison()};
    }
  }
  const int first = ops.size();
  const auto operand = [&](const Value& value, const dsl::syntax::Expression& expression) {
    return Operand{&expression, value.is_tensor() ? value.as_tensor() : ops.AddRankValue(value, origin)};
  };
  const Operand a = operand(left, *binary.left);
  const Operand b = operand(right, *binary.right);
  const Value result = ops.AddOp(*OpOf(binary.op), {a, b}, {}, origin);
  ops.EndOperation(origin.span, std::string(dsl::syntax::OperatorText(binary.op)), first);
  return result;
}

}  // namespace

Value TensorArithmetic(const dsl::syntax::Binary& binary, const Value& left, const Value& right, const Origin& origin,
                       OpWriter& ops, Reporter& reporter) {
  const std::optional<ir::OpKind> kind = OpOf(binary.op);
  if (kind.has_value() && (left.is_of_step() || right.is_of_step())) {
    const auto tensor = [&](const Value& value) {
      return value.is_of_step() ? Value{TensorValue{ops.AddStepScalar(value.as_of_step(), origin)}} : value;
    };
    const Value first = tensor(left);
    return TensorArithmetic(binary, first, tensor(right), origin, ops, reporter);
  }
  const auto fits = [](const Value& value) { return value.is_tensor() || OnRank(value, 0).is_number(); };
  const bool operands_fit = fits(left) && fits(right);
  if (!kind.has_value() || !operands_fit) {
    const std::string op(dsl::syntax::OperatorText(binary.op));
    reporter.Report(
        Error(Code::kE0204, absl::StrCat("`", op, "` does not take ", !kind.has_value() ? "tensors" : "these values"))
            .At(binary.operator_span,
                absl::StrCat(DescribeType(left, ops.graph()), " ", op, " ", DescribeType(right, ops.graph()))));
    return Value{Poison()};
  }

  if (left.is_per_rank() || right.is_per_rank()) return RankArithmetic(binary, left, right, origin, ops, reporter);
  const int first = ops.size();
  Value result{Poison()};
  const bool is_f32 = ops.type((left.is_tensor() ? left : right).as_tensor()).dtype == ir::DType::kF32;
  if (left.is_tensor() && right.is_tensor()) {
    result = ops.AddOp(*kind, {{&*binary.left, left.as_tensor()}, {&*binary.right, right.as_tensor()}}, {}, origin);
  } else if (is_f32 && *kind == ir::OpKind::kDiv && right.is_number() && right.as_number() == 0) {
    reporter.Report(Error(Code::kE0208, "division by zero").At(binary.operator_span, "a tensor divided by 0 here"));
  } else if (is_f32 && (*kind == ir::OpKind::kMul || (*kind == ir::OpKind::kDiv && right.is_number()))) {
    const double number = (left.is_tensor() ? right : left).as_number();
    const Operand tensor =
        left.is_tensor() ? Operand{&*binary.left, left.as_tensor()} : Operand{&*binary.right, right.as_tensor()};
    result = ops.AddOp(ir::OpKind::kScale, {tensor},
                       {{ir::attribute::kFactor, *kind == ir::OpKind::kDiv ? 1.0 / number : number}}, origin);
  } else {
    // The number is f32, so next to an i32 tensor it is the tensor that needs the cast.
    const auto operand = [&](const Value& value, const dsl::syntax::Expression& expression) {
      if (value.is_tensor()) return Operand{&expression, value.as_tensor()};
      return Operand{&expression, ops.AddConstant(ir::DType::kF32, value.as_number(), origin)};
    };
    const Operand a = operand(left, *binary.left);
    const Operand b = operand(right, *binary.right);
    result = ops.AddOp(*kind, {a, b}, {}, origin);
  }
  ops.EndOperation(origin.span, std::string(dsl::syntax::OperatorText(binary.op)), first);
  return result;
}

}  // namespace cleave::frontend
