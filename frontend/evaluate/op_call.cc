#include "frontend/evaluate/op_call.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/statics/arithmetic.h"
#include "frontend/evaluate/statics/per_rank.h"

namespace cleave::frontend {
namespace {

bool IsTensorKind(ir::ArgumentKind kind) {
  switch (kind) {
    case ir::ArgumentKind::kTensor:
    case ir::ArgumentKind::kOptionalTensor:
    case ir::ArgumentKind::kTensorList:
    case ir::ArgumentKind::kTensors:
      return true;
    case ir::ArgumentKind::kBool:
    case ir::ArgumentKind::kInt:
    case ir::ArgumentKind::kFloat:
    case ir::ArgumentKind::kInts:
    case ir::ArgumentKind::kFloats:
    case ir::ArgumentKind::kDType:
    case ir::ArgumentKind::kString:
      return false;
  }
  return false;
}

absl::string_view Expected(const ::cleave::ir::Argument& formal) {
  if (formal.takes_shape) return "a tuple of ints, or a tensor";
  switch (formal.kind) {
    case ir::ArgumentKind::kTensor:
    case ir::ArgumentKind::kOptionalTensor:
    case ir::ArgumentKind::kTensors:
      return "a tensor";
    case ir::ArgumentKind::kTensorList:
      return "a tuple of tensors";
    case ir::ArgumentKind::kBool:
      return "a bool";
    case ir::ArgumentKind::kInt:
      return "an int";
    case ir::ArgumentKind::kFloat:
      return "a float";
    case ir::ArgumentKind::kInts:
      return "a tuple of ints";
    case ir::ArgumentKind::kFloats:
      return "a tuple of floats";
    case ir::ArgumentKind::kDType:
      return "an element type, `f32` or `i32`";
    case ir::ArgumentKind::kString:
      return "a string";
  }
  return "";
}

std::optional<ir::AttributeValue> ToAttribute(const ::cleave::ir::Argument& formal, const Value& value) {
  switch (formal.kind) {
    case ir::ArgumentKind::kBool:
      if (std::holds_alternative<bool>(value.kind)) return ir::AttributeValue(std::get<bool>(value.kind));
      return std::nullopt;
    case ir::ArgumentKind::kInt:
      if (value.is_int()) return ir::AttributeValue(value.as_int());
      return std::nullopt;
    case ir::ArgumentKind::kFloat:
      if (value.is_number()) return ir::AttributeValue(value.as_number());
      return std::nullopt;
    case ir::ArgumentKind::kInts:
      if (auto numbers = ToInts(value)) return ir::AttributeValue(*std::move(numbers));
      return std::nullopt;
    case ir::ArgumentKind::kFloats: {
      if (!value.is_tuple()) return std::nullopt;
      std::vector<double> numbers;
      for (const Value& element : value.as_tuple()) {
        if (!element.is_number()) return std::nullopt;
        numbers.push_back(element.as_number());
      }
      return ir::AttributeValue(std::move(numbers));
    }
    case ir::ArgumentKind::kDType:
      if (std::holds_alternative<ir::DType>(value.kind)) {
        return ir::AttributeValue(std::string(ir::DTypeName(std::get<ir::DType>(value.kind))));
      }
      return std::nullopt;
    case ir::ArgumentKind::kString:
      if (std::holds_alternative<std::string>(value.kind)) return ir::AttributeValue(std::get<std::string>(value.kind));
      return std::nullopt;
    case ir::ArgumentKind::kTensor:
    case ir::ArgumentKind::kOptionalTensor:
    case ir::ArgumentKind::kTensorList:
    case ir::ArgumentKind::kTensors:
      return std::nullopt;
  }
  return std::nullopt;
}

// Numbers that stand for tensors next to a tensor become constants, which broadcast; a power with a number becomes
// `power`, and a product with a number becomes `scale`. Returns the op to add.
const ir::OpDefinition& TakeNumbers(const ir::OpDefinition& op, absl::Span<const dsl::syntax::Argument* const> matched,
                                    ArgumentValues& values, const Origin& origin, OpWriter& ops) {
  bool has_tensor = false;
  ir::DType whole_number = ir::DType::kF32;
  for (const dsl::syntax::Argument* given : matched) {
    if (given == nullptr || !values[given].is_tensor()) continue;
    has_tensor = true;
    if (ops.type(values[given].as_tensor()).dtype == ir::DType::kI32) whole_number = ir::DType::kI32;
  }
  if (!has_tensor) return op;
  if (op.kind == ir::OpKind::kPow && values[matched[1]].is_number()) return ir::DefinitionOf(ir::OpKind::kPower);
  for (size_t i = 0; i < op.signature.size(); ++i) {
    if (i >= matched.size() || matched[i] == nullptr) continue;  // Not all arguments can be given.
    Value& value = values[matched[i]];
    if (value.is_of_step() && IsTensorKind(op.signature[i].kind)) {
      value = Value{TensorValue{ops.AddStepScalar(value.as_of_step(), origin)}};
    }
    if (!op.signature[i].takes_number) continue;
    if (value.is_per_rank() && OnRank(value, 0).is_number()) {
      const bool whole = OnRank(value, 0).is_int() && whole_number == ir::DType::kI32;
      const ir::OpId number = ops.AddRankValue(value, origin);
      value = Value{TensorValue{number}};
      if (whole)
        value = ops.AddOp(ir::OpKind::kCast, {{nullptr, number}}, {{ir::attribute::kDType, ir::DType::kI32}}, origin);
      continue;
    }
    if (!value.is_number()) continue;
    const ir::DType dtype = value.is_int() ? whole_number : ir::DType::kF32;
    value = Value{TensorValue{ops.AddConstant(dtype, value.as_number(), origin)}};
  }
  return op;
}

// Sizes that stand for a tensor become zeros of this shape. False after a mistake, which has been reported.
bool TakeShapes(const ir::OpDefinition& op, absl::Span<const dsl::syntax::Argument* const> matched,
                ArgumentValues& values, const Origin& origin, const Context& context) {
  for (size_t i = 0; i < op.signature.size(); ++i) {
    if (!op.signature[i].takes_shape || matched[i] == nullptr) continue;
    Value& value = values[matched[i]];
    const std::optional<std::vector<int64_t>> sizes = ToInts(context.demands.Settled(value));
    if (!sizes.has_value()) continue;
    const ir::OpId zero = context.ops.AddConstant(ir::DType::kF32, 0, origin);
    value = context.ops.AddOp(ir::OpKind::kBroadcastTo, {{nullptr, zero}}, {{ir::attribute::kShape, *sizes}}, origin);
    if (value.is_poison()) return false;
  }
  return true;
}

}  // namespace

Value CallOp(const ir::OpDefinition& called, const CallSite& site, Pieces& pieces) {
  const auto& [call, span, frame] = site;
  const Context& context = pieces.context;
  Signature signature = SignatureOf(called);
  // A call that gives one of them is a call of another form.
  for (const dsl::syntax::Parameter* more : pieces.functions.FormParameters(called)) {
    signature.arguments.push_back(FormalOf(*more));
    signature.arguments.back().required = false;
    signature.arguments.back().by_name = absl::StrCat("`", more->name.text, " = …`");
  }
  const auto matched = MatchArguments(signature, call.arguments, span, context.reporter);
  // Arguments are expanded in any case, so that their own mistakes are reported too.
  ArgumentValues values;
  bool poisoned = !matched.has_value();
  for (const dsl::syntax::Argument& argument : call.arguments) {
    values[&argument] = context.Evaluate(*argument.value, frame);
    poisoned |= values[&argument].is_poison();
  }
  if (called.kind == ir::OpKind::kTotal) poisoned |= !pieces.mask.CheckInMetric("total", span, context.reporter);
  if (poisoned) return Value{Poison()};
  std::vector<Value> given_values;
  for (const dsl::syntax::Argument* given : *matched) {
    if (given != nullptr) given_values.push_back(values[given]);
  }
  if (auto number = StaticFunction(called.name(), given_values, span, context.graph(), context.reporter)) {
    return *std::move(number);
  }
  pieces.regions.Enter(call, frame.naming.path, *matched, values);
  const int first = context.ops.size();
  if (!TakeShapes(called, *matched, values, frame.At(span), context)) return Value{Poison()};
  const ir::OpDefinition& op = TakeNumbers(called, *matched, values, frame.At(span), context.ops);

  const auto wrong = [&](const ::cleave::ir::Argument& formal, const dsl::syntax::Expression& expression,
                         const Value& value) {
    poisoned = true;
    if (!IsTensorKind(formal.kind) && DiffersBetweenRanks(value)) {
      context.reporter.Report(ShapeDiffersBetweenRanks(
          absl::StrCat("argument `", formal.name, "` of `", op.name(), "` differs between ranks"), expression, value,
          site.frame.scope, context.graph()));
      return;
    }
    context.reporter.Report(
        Error(Code::kE0204, absl::StrCat("argument `", formal.name, "` of `", op.name(), "` is ", Expected(formal)))
            .At(expression.span, absl::StrCat("this is ", DescribeType(value, context.graph())))
            .Note(absl::StrCat("the signature is `", signature.ToString(), "`")));
  };
  std::vector<Operand> operands;
  ir::Attributes::Values attributes;
  size_t place = 0;  // Among the arguments that a model can give.
  for (const ::cleave::ir::Argument& formal : op.signature) {
    if (formal.internal) continue;
    const dsl::syntax::Argument* given = (*matched)[place++];
    if (given == nullptr) continue;
    const dsl::syntax::Expression& expression = *given->value;
    const Value& value = values[given];
    if (!IsTensorKind(formal.kind)) {
      if (auto attribute = ToAttribute(formal, context.demands.Settled(value))) {
        attributes[formal.name] = *std::move(attribute);
      } else {
        wrong(formal, expression, value);
      }
    } else if (formal.kind == ir::ArgumentKind::kTensors) {
      // The last formal argument takes all arguments by position from here on.
      for (const dsl::syntax::Argument* rest = given; rest != call.arguments.data() + call.arguments.size(); ++rest) {
        if (rest->name) break;
        if (values[rest].is_tensor()) {
          operands.push_back({&*rest->value, values[rest].as_tensor()});
        } else {
          wrong(formal, *rest->value, values[rest]);
        }
      }
    } else if (formal.kind != ir::ArgumentKind::kTensorList) {
      if (value.is_tensor()) {
        operands.push_back({&expression, value.as_tensor()});
      } else {
        wrong(formal, expression, value);
      }
    } else if (!value.is_tuple() || value.as_tuple().empty() ||
               !std::all_of(value.as_tuple().begin(), value.as_tuple().end(),
                            [](const Value& element) { return element.is_tensor(); })) {
      wrong(formal, expression, value);
    } else {
      const auto* tuple = std::get_if<dsl::syntax::Tuple>(&expression.kind);
      for (size_t e = 0; e < value.as_tuple().size(); ++e) {
        operands.push_back({tuple ? &*tuple->elements[e].value : &expression, value.as_tuple()[e].as_tensor()});
      }
    }
  }
  if (poisoned) return Value{Poison()};
  // In a function that `vmap` maps, a first dimension is not that of the samples.
  if (!pieces.vmap.is_mapped()) {
    const auto mask = pieces.mask.MaskFor(op, operands, pieces.sources.inputs(), frame.At(span), context.ops);
    if (mask) operands.push_back({nullptr, *mask});
  }

  const Value result = context.ops.AddOp(op.kind, operands, ir::Attributes(std::move(attributes)), frame.At(span));
  context.ops.EndOperation(span, op.name(), first);
  return result;
}

}  // namespace cleave::frontend
