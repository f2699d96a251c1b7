#include "frontend/evaluate/tensors/operators.h"

#include "absl/strings/str_cat.h"
#include "dsl/syntax/print.h"
#include "frontend/evaluate/statics/logic.h"
#include "frontend/evaluate/statics/per_rank.h"

namespace cleave::frontend {
namespace {

bool IsI32(ir::OpId tensor, const OpWriter& ops) { return ops.type(tensor).dtype == ir::DType::kI32; }

// The op that computes `left op right`; where `whole`, both are whole numbers.
std::optional<ir::OpKind> OpOf(dsl::syntax::BinaryOperator op, bool whole) {
  switch (op) {
    case dsl::syntax::BinaryOperator::kAdd:
      return ir::OpKind::kAdd;
    case dsl::syntax::BinaryOperator::kSubtract:
      return ir::OpKind::kSub;
    case dsl::syntax::BinaryOperator::kMultiply:
      return ir::OpKind::kMul;
    case dsl::syntax::BinaryOperator::kDivide:
      return whole ? ir::OpKind::kQuotient : ir::OpKind::kDiv;
    case dsl::syntax::BinaryOperator::kRemainder:
      return ir::OpKind::kRemainder;
    case dsl::syntax::BinaryOperator::kPower:
      return ir::OpKind::kPow;
    case dsl::syntax::BinaryOperator::kEqual:
      return ir::OpKind::kEqual;
    case dsl::syntax::BinaryOperator::kNotEqual:
      return ir::OpKind::kNotEqual;
    case dsl::syntax::BinaryOperator::kLess:
      return ir::OpKind::kLess;
    case dsl::syntax::BinaryOperator::kLessEqual:
      return ir::OpKind::kLessEqual;
    case dsl::syntax::BinaryOperator::kGreater:
      return ir::OpKind::kGreater;
    case dsl::syntax::BinaryOperator::kGreaterEqual:
      return ir::OpKind::kGreaterEqual;
    case dsl::syntax::BinaryOperator::kAnd:
    case dsl::syntax::BinaryOperator::kOr:
      return std::nullopt;
  }
  return std::nullopt;
}

// Whether `value` is a whole number, on all ranks where it differs between them.
bool IsWhole(const Value& value) { return OnRank(value, 0).is_int(); }

// A tensor, or a scalar for a number: next to whole numbers, an int is one, too.
Operand OperandOf(const Value& value, const dsl::syntax::Expression& expression, bool whole, const Origin& origin,
                  OpWriter& ops) {
  if (value.is_tensor()) return {&expression, value.as_tensor()};
  const ir::DType dtype = whole && IsWhole(value) ? ir::DType::kI32 : ir::DType::kF32;
  if (!value.is_per_rank()) return {&expression, ops.AddConstant(dtype, value.as_number(), origin)};
  const ir::OpId number = ops.AddRankValue(value, origin);
  if (dtype == ir::DType::kF32) return {&expression, number};
  return {&expression,
          ops.AddOp(ir::OpKind::kCast, {{nullptr, number}}, {{ir::attribute::kDType, dtype}}, origin).as_tensor()};
}

// Whether the divisor is 0, on a rank where it differs between them; that is reported.
bool DividesByZero(const dsl::syntax::Binary& binary, const Value& divisor, const ir::Graph& graph,
                   Reporter& reporter) {
  const bool divides =
      binary.op == dsl::syntax::BinaryOperator::kDivide || binary.op == dsl::syntax::BinaryOperator::kRemainder;
  if (!divides || divisor.is_tensor()) return false;
  const int64_t ranks = divisor.is_per_rank() ? ir::RankCount(graph.rank_axes) : 1;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (OnRank(divisor, rank).as_number() != 0) continue;
    Diagnostic error = Error(Code::kE0208, "division by zero").At(binary.operator_span, "a tensor divided by 0 here");
    if (divisor.is_per_rank()) error.notes.push_back(absl::StrCat("on rank ", rank));
    reporter.Report(std::move(error));
    return true;
  }
  return false;
}

// Whether every element of a tensor is 0 or 1, as far as the ops that make it show.
bool IsTruth(ir::OpId tensor, const ir::Graph& graph, int depth = 0) {
  constexpr int kDeepest = 16;
  const ir::Op& op = graph.op(tensor);
  switch (op.kind) {
    case ir::OpKind::kEqual:
    case ir::OpKind::kNotEqual:
    case ir::OpKind::kLess:
    case ir::OpKind::kLessEqual:
    case ir::OpKind::kGreater:
    case ir::OpKind::kGreaterEqual:
    case ir::OpKind::kOneHot:
      return true;
    case ir::OpKind::kMul:
    case ir::OpKind::kMaximum:
      return depth < kDeepest && IsTruth(op.inputs[0], graph, depth + 1) && IsTruth(op.inputs[1], graph, depth + 1);
    default:
      return false;
  }
}

// 1 where the tensor is not 0, else 0.
Value TruthOf(const Value& tensor, const dsl::syntax::Expression& expression, const Origin& origin, OpWriter& ops) {
  if (IsTruth(tensor.as_tensor(), ops.graph())) return tensor;
  const ir::OpId zero = ops.AddConstant(ops.type(tensor.as_tensor()).dtype, 0, origin);
  return ops.AddOp(ir::OpKind::kNotEqual, {{&expression, tensor.as_tensor()}, {nullptr, zero}}, {}, origin);
}

void ReportWrongOperands(const dsl::syntax::Binary& binary, const Value& left, const Value& right,
                         const ir::Graph& graph, Reporter& reporter) {
  const absl::string_view op = dsl::syntax::OperatorText(binary.op);
  reporter.Report(
      Error(Code::kE0204, absl::StrCat("`", op, "` does not take these values"))
          .At(binary.operator_span, absl::StrCat(DescribeType(left, graph), " ", op, " ", DescribeType(right, graph))));
}

}  // namespace

Value TensorArithmetic(const dsl::syntax::Binary& binary, const Value& left, const Value& right, const Origin& origin,
                       OpWriter& ops, Reporter& reporter) {
  if (left.is_of_step() || right.is_of_step()) {
    const auto tensor = [&](const Value& value) {
      return value.is_of_step() ? Value{TensorValue{ops.AddStepScalar(value.as_of_step(), origin)}} : value;
    };
    const Value first = tensor(left);
    return TensorArithmetic(binary, first, tensor(right), origin, ops, reporter);
  }
  const auto fits = [](const Value& value) { return value.is_tensor() || OnRank(value, 0).is_number(); };
  if (!fits(left) || !fits(right)) {
    ReportWrongOperands(binary, left, right, ops.graph(), reporter);
    return Value{Poison()};
  }
  if (DividesByZero(binary, right, ops.graph(), reporter)) return Value{Poison()};

  const auto is_whole = [&](const Value& value) {
    return value.is_tensor() ? IsI32(value.as_tensor(), ops) : IsWhole(value);
  };
  const bool beside_i32 = IsI32((left.is_tensor() ? left : right).as_tensor(), ops);
  const ir::OpKind kind = *OpOf(binary.op, is_whole(left) && is_whole(right));
  const int first = ops.size();
  Value result{Poison()};
  const bool scales = kind == ir::OpKind::kMul || (kind == ir::OpKind::kDiv && right.is_number());
  if (!beside_i32 && scales && (left.is_number() || right.is_number())) {
    const double number = (left.is_tensor() ? right : left).as_number();
    const Operand tensor =
        left.is_tensor() ? Operand{&*binary.left, left.as_tensor()} : Operand{&*binary.right, right.as_tensor()};
    result = ops.AddOp(ir::OpKind::kScale, {tensor},
                       {{ir::attribute::kFactor, kind == ir::OpKind::kDiv ? 1.0 / number : number}}, origin);
  } else if (kind == ir::OpKind::kPow && right.is_number()) {
    result = ops.AddOp(ir::OpKind::kPower, {{&*binary.left, left.as_tensor()}},
                       {{ir::attribute::kExponent, right.as_number()}}, origin);
  } else {
    const Operand a = OperandOf(left, *binary.left, beside_i32, origin, ops);
    const Operand b = OperandOf(right, *binary.right, beside_i32, origin, ops);
    result = ops.AddOp(kind, {a, b}, {}, origin);
  }
  ops.EndOperation(origin.span, std::string(dsl::syntax::OperatorText(binary.op)), first);
  return result;
}

Value TensorNegate(const Operand& x, const Origin& origin, OpWriter& ops) {
  const int first = ops.size();
  const Value result =
      IsI32(x.op, ops)
          ? ops.AddOp(ir::OpKind::kSub, {{nullptr, ops.AddConstant(ir::DType::kI32, 0, origin)}, x}, {}, origin)
          : ops.AddOp(ir::OpKind::kNeg, {x}, {}, origin);
  ops.EndOperation(origin.span, "-", first);
  return result;
}

Value TensorLogic(const dsl::syntax::Binary& binary, const Value& left, const Value& right, const Origin& origin,
                  OpWriter& ops, Reporter& reporter) {
  const auto fits = [](const Value& value) {
    return value.is_tensor() || std::holds_alternative<bool>(value.kind) ||
           (value.is_of_step() && value.as_of_step().is_condition);
  };
  if (!fits(left) || !fits(right)) {
    ReportWrongOperands(binary, left, right, ops.graph(), reporter);
    return Value{Poison()};
  }
  for (const Value* operand : {&left, &right}) {
    if (Decides(binary.op, *operand)) return *operand;
  }
  const int first = ops.size();
  const auto truth = [&](const Value& value, const dsl::syntax::Expression& expression) {
    return value.is_of_step() ? Value{TensorValue{ops.AddStepScalar(value.as_of_step(), origin)}}
                              : TruthOf(value, expression, origin, ops);
  };
  Value result{Poison()};
  if (std::holds_alternative<bool>(left.kind)) {
    result = truth(right, *binary.right);
  } else if (std::holds_alternative<bool>(right.kind)) {
    result = truth(left, *binary.left);
  } else {
    const Value a = truth(left, *binary.left);
    const Value b = truth(right, *binary.right);
    const auto kind = binary.op == dsl::syntax::BinaryOperator::kAnd ? ir::OpKind::kMul : ir::OpKind::kMaximum;
    result = ops.AddOp(kind, {{&*binary.left, a.as_tensor()}, {&*binary.right, b.as_tensor()}}, {}, origin);
  }
  ops.EndOperation(origin.span, std::string(dsl::syntax::OperatorText(binary.op)), first);
  return result;
}

Value TensorNot(const Operand& x, const Origin& origin, OpWriter& ops) {
  const int first = ops.size();
  const ir::OpId zero = ops.AddConstant(ops.type(x.op).dtype, 0, origin);
  const Value result = ops.AddOp(ir::OpKind::kEqual, {x, {nullptr, zero}}, {}, origin);
  ops.EndOperation(origin.span, "!", first);
  return result;
}

}  // namespace cleave::frontend
