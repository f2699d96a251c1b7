#include "frontend/evaluate/op_call.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/statics/arithmetic.h"
#include "frontend/evaluate/statics/per_rank.h"

namespace cleave::frontend {
namespace {

bool IsTensorKind(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::kTensor:
    case ArgumentKind::kOptionalTensor:
    case ArgumentKind::kTensorList:
    case ArgumentKind::kTensors:
      return true;
    case ArgumentKind::kBool:
    case ArgumentKind::kInt:
    case ArgumentKind::kFloat:
    case ArgumentKind::kInts:
    case ArgumentKind::kFloats:
    case ArgumentKind::kDType:
    case ArgumentKind::kString:
      return false;
  }
  return false;
}

absl::string_view Expected(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::kTensor:
    case ArgumentKind::kOptionalTensor:
    case ArgumentKind::kTensors:
      return "a tensor";
    case ArgumentKind::kTensorList:
      return "a tuple of tensors";
    case ArgumentKind::kBool:
      return "a bool";
    case ArgumentKind::kInt:
      return "an int";
    case ArgumentKind::kFloat:
      return "a float";
    case ArgumentKind::kInts:
      return "a tuple of ints";
    case ArgumentKind::kFloats:
      return "a tuple of floats";
    case ArgumentKind::kDType:
      return "an element type, `f32` or `i32`";
    case ArgumentKind::kString:
      return "a string";
  }
  return "";
}

std::optional<AttributeValue> ToAttribute(const ::cleave::Argument& formal, const Value& value) {
  switch (formal.kind) {
    case ArgumentKind::kBool:
      if (std::holds_alternative<bool>(value.kind)) return AttributeValue(std::get<bool>(value.kind));
      return std::nullopt;
    case ArgumentKind::kInt:
      if (value.is_int()) return AttributeValue(value.as_int());
      return std::nullopt;
    case ArgumentKind::kFloat:
      if (value.is_number()) return AttributeValue(value.as_number());
      return std::nullopt;
    case ArgumentKind::kInts:
      if (auto numbers = ToInts(value)) return AttributeValue(*std::move(numbers));
      return std::nullopt;
    case ArgumentKind::kFloats: {
      if (!value.is_tuple()) return std::nullopt;
      std::vector<double> numbers;
      for (const Value& element : value.as_tuple()) {
        if (!element.is_number()) return std::nullopt;
        numbers.push_back(element.as_number());
      }
      return AttributeValue(std::move(numbers));
    }
    case ArgumentKind::kDType:
      if (std::holds_alternative<DType>(value.kind)) {
        return AttributeValue(std::string(DTypeName(std::get<DType>(value.kind))));
      }
      return std::nullopt;
    case ArgumentKind::kString:
      if (std::holds_alternative<std::string>(value.kind)) return AttributeValue(std::get<std::string>(value.kind));
      return std::nullopt;
    case ArgumentKind::kTensor:
    case ArgumentKind::kOptionalTensor:
    case ArgumentKind::kTensorList:
    case ArgumentKind::kTensors:
      return std::nullopt;
  }
  return std::nullopt;
}

// Numbers that stand for tensors next to a tensor become constants, which broadcast; a power by a number becomes
// `power`, as a product by one is `scale`. Returns the op to add.
const OpDefinition& TakeNumbers(const OpDefinition& op, absl::Span<const syntax::Argument* const> matched,
                                ArgumentValues& values, const Origin& origin, OpWriter& ops) {
  bool has_tensor = false;
  DType whole_number = DType::kF32;
  for (const syntax::Argument* given : matched) {
    if (given == nullptr || !values[given].is_tensor()) continue;
    has_tensor = true;
    if (ops.type(values[given].as_tensor()).dtype == DType::kI32) whole_number = DType::kI32;
  }
  if (!has_tensor) return op;
  if (op.kind == OpKind::kPow && values[matched[1]].is_number()) return DefinitionOf(OpKind::kPower);
  for (size_t i = 0; i < op.signature.size(); ++i) {
    if (!op.signature[i].takes_number || matched[i] == nullptr) continue;
    Value& value = values[matched[i]];
    if (value.is_per_rank() && OnRank(value, 0).is_number()) {
      const bool whole = OnRank(value, 0).is_int() && whole_number == DType::kI32;
      const OpId number = ops.AddRankValue(value, origin);
      value = Value{TensorValue{number}};
      if (whole) value = ops.AddOp(OpKind::kCast, {{nullptr, number}}, {{attribute::kDType, DType::kI32}}, origin);
      continue;
    }
    if (!value.is_number()) continue;
    const DType dtype = value.is_int() ? whole_number : DType::kF32;
    value = Value{TensorValue{ops.AddConstant(dtype, value.as_number(), origin)}};
  }
  return op;
}

}  // namespace

Value CallOp(const OpDefinition& called, const CallSite& site, Pieces& pieces) {
  const auto& [call, span, frame] = site;
  const Context& context = pieces.context;
  const Signature signature = SignatureOf(called);
  const auto matched = MatchArguments(signature, call.arguments, span, context.reporter);
  // Arguments are expanded in any case: their own mistakes are reported too.
  ArgumentValues values;
  bool poisoned = !matched.has_value();
  for (const syntax::Argument& argument : call.arguments) {
    values[&argument] = context.Evaluate(*argument.value, frame);
    poisoned |= values[&argument].is_poison();
  }
  if (poisoned) return Value{Poison()};
  if (call.arguments.size() == 1) {
    if (auto number = StaticFunction(called.name(), values.begin()->second, span, context.graph(), context.reporter))
      return *number;
  }
  pieces.regions.Enter(call, frame.naming.path, *matched, values);
  const int first = context.ops.size();
  const OpDefinition& op = TakeNumbers(called, *matched, values, frame.At(span), context.ops);

  const auto wrong = [&](const ::cleave::Argument& formal, const syntax::Expression& expression, const Value& value) {
    poisoned = true;
    if (!IsTensorKind(formal.kind) && DiffersBetweenRanks(value)) {
      context.reporter.Report(ShapeDiffersBetweenRanks(
          absl::StrCat("argument `", formal.name, "` of `", op.name(), "` differs between ranks"), expression, value,
          frame.scope, context.graph()));
      return;
    }
    context.reporter.Report(Error(Code::kE0204, absl::StrCat("argument `", formal.name, "` of `", op.name(), "` is ",
                                                             Expected(formal.kind)))
                                .At(expression.span, absl::StrCat("this is ", DescribeType(value, context.graph())))
                                .Note(absl::StrCat("the signature is `", signature.ToString(), "`")));
  };
  std::vector<Operand> operands;
  Attributes attributes;
  for (size_t i = 0; i < op.signature.size(); ++i) {
    const ::cleave::Argument& formal = op.signature[i];
    if (formal.internal) continue;
    const syntax::Argument* given = (*matched)[i];
    if (given == nullptr) continue;
    const syntax::Expression& expression = *given->value;
    const Value& value = values[given];
    if (!IsTensorKind(formal.kind)) {
      if (auto attribute = ToAttribute(formal, value)) {
        attributes.values[formal.name] = *std::move(attribute);
      } else {
        wrong(formal, expression, value);
      }
    } else if (formal.kind == ArgumentKind::kTensors) {
      // The last one, by position: what is given from here on.
      for (const syntax::Argument* rest = given; rest != call.arguments.data() + call.arguments.size(); ++rest) {
        if (rest->name) break;
        if (values[rest].is_tensor()) {
          operands.push_back({&*rest->value, values[rest].as_tensor()});
        } else {
          wrong(formal, *rest->value, values[rest]);
        }
      }
    } else if (formal.kind != ArgumentKind::kTensorList) {
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
      const auto* tuple = std::get_if<syntax::Tuple>(&expression.kind);
      for (size_t e = 0; e < value.as_tuple().size(); ++e) {
        operands.push_back({tuple ? &*tuple->elements[e].value : &expression, value.as_tuple()[e].as_tensor()});
      }
    }
  }
  if (poisoned) return Value{Poison()};
  // Inside of what `vmap` maps, a first dimension is not that of the samples.
  if (!pieces.vmap.is_mapped()) {
    const auto mask = pieces.mask.MaskFor(op, operands, pieces.sources.inputs(), frame.At(span), context.ops);
    if (mask) operands.push_back({nullptr, *mask});
  }

  const Value result = context.ops.AddOp(op.kind, operands, std::move(attributes), frame.At(span));
  context.ops.EndOperation(span, op.name(), first);
  return result;
}

}  // namespace cleave::frontend
