// Calls of ops, and what is wrong with them in the words of the model.
#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/text/text.h"
#include "frontend/evaluate/evaluator.h"

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

std::string Join(const std::string& path, const std::string& name) {
  return path.empty() ? name : absl::StrCat(path, ".", name);
}

}  // namespace

// Numbers that stand for tensors next to a tensor become constants, which broadcast; a power by a number becomes
// `power`, as a product by one is `scale`. Returns the op to add.
const OpDefinition& Evaluator::TakeNumbers(const OpDefinition& op, absl::Span<const syntax::Argument* const> matched,
                                           ArgumentValues& values, Span span, const Frame& frame) {
  bool has_tensor = false;
  DType whole_number = DType::kF32;
  for (const syntax::Argument* given : matched) {
    if (given == nullptr || !values[given].is_tensor()) continue;
    has_tensor = true;
    if (builder_.type(values[given].as_tensor()).dtype == DType::kI32) whole_number = DType::kI32;
  }
  if (!has_tensor) return op;
  if (op.kind == OpKind::kPow && values[matched[1]].is_number()) return DefinitionOf(OpKind::kPower);
  for (size_t i = 0; i < op.signature.size(); ++i) {
    if (!op.signature[i].takes_number || matched[i] == nullptr) continue;
    Value& value = values[matched[i]];
    if (value.is_per_rank() && OnRank(value, 0).is_number()) {
      const bool whole = OnRank(value, 0).is_int() && whole_number == DType::kI32;
      const OpId number = AddRankValue(value, span, frame);
      value = Value{TensorValue{number}};
      if (whole) value = AddOp(OpKind::kCast, {{nullptr, number}}, {{attribute::kDType, DType::kI32}}, span, frame);
      continue;
    }
    if (!value.is_number()) continue;
    const DType dtype = value.is_int() ? whole_number : DType::kF32;
    value = Value{TensorValue{AddConstant(dtype, value.as_number(), span, frame)}};
  }
  return op;
}

Value Evaluator::CallOp(const OpDefinition& called, const syntax::Call& call, Span span, Frame& frame) {
  const Signature signature = SignatureOf(called);
  const auto matched = MatchArguments(signature, call.arguments, span, reporter_);
  // Arguments are expanded in any case: their own mistakes are reported too.
  ArgumentValues values;
  bool poisoned = !matched.has_value();
  for (const syntax::Argument& argument : call.arguments) {
    values[&argument] = Evaluate(*argument.value, frame);
    poisoned |= values[&argument].is_poison();
  }
  if (poisoned) return Value{Poison()};
  if (call.arguments.size() == 1) {
    if (auto number = StaticFunction(called.name(), values.begin()->second, span)) return *number;
  }
  EnterRegion(call, frame.naming.path, *matched, values);
  const int first = static_cast<int>(builder_.graph().ops.size());
  const OpDefinition& op = TakeNumbers(called, *matched, values, span, frame);

  const auto wrong = [&](const ::cleave::Argument& formal, const syntax::Expression& expression, const Value& value) {
    poisoned = true;
    if (!IsTensorKind(formal.kind) && DiffersBetweenRanks(value)) {
      ReportShape(absl::StrCat("argument `", formal.name, "` of `", op.name(), "` differs between ranks"), expression,
                  value, frame);
      return;
    }
    reporter_.Report(Error(Code::kE0204,
                           absl::StrCat("argument `", formal.name, "` of `", op.name(), "` is ", Expected(formal.kind)))
                         .At(expression.span, absl::StrCat("this is ", DescribeType(value, graph())))
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
  if (std::optional<OpId> mask = MaskFor(op, operands, span, frame)) operands.push_back({nullptr, *mask});

  const Value result = AddOp(op.kind, operands, std::move(attributes), span, frame);
  last_operation_ = {span, op.name(), first, static_cast<int>(builder_.graph().ops.size()), false};
  return result;
}

std::optional<AttributeValue> Evaluator::ToAttribute(const ::cleave::Argument& formal, const Value& value) {
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
    case ArgumentKind::kInts: {
      if (value.is_int()) return AttributeValue(std::vector<int64_t>{value.as_int()});
      if (!value.is_tuple()) return std::nullopt;
      std::vector<int64_t> numbers;
      for (const Value& element : value.as_tuple()) {
        if (!element.is_int()) return std::nullopt;
        numbers.push_back(element.as_int());
      }
      return AttributeValue(std::move(numbers));
    }
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

std::string Evaluator::DescribeOperand(const Operand& operand) const {
  const Op& op = builder_.graph().op(operand.op);
  const auto* name = operand.expression ? std::get_if<syntax::Name>(&operand.expression->kind) : nullptr;
  std::string text = name ? absl::StrCat("`", name->text, "`") : "this";
  absl::StrAppend(&text, " is ", op.type.ToString());
  if (name && op.line > 0) absl::StrAppend(&text, ", from line ", op.line);
  return text;
}

// An op's help speaks of its own arguments, `cast(label, i32)`; the model's user knows them by what stands in the call.
std::string Evaluator::InTheWordsOfTheModel(OpKind kind, const std::string& help,
                                            const std::vector<Operand>& operands) const {
  const std::vector<::cleave::Argument>& signature = DefinitionOf(kind).signature;
  for (size_t i = 0; i < operands.size() && i < signature.size(); ++i) {
    if (signature[i].kind == ArgumentKind::kTensorList || operands[i].expression == nullptr) break;
    const std::string formal = absl::StrCat("(", signature[i].name, ",");
    if (!reporter_.IsUserPlace(operands[i].expression->span) || !absl::StrContains(help, formal)) continue;
    return absl::StrReplaceAll(help, {{formal, absl::StrCat("(", ExpressionText(*operands[i].expression), ",")}});
  }
  return help;
}

Value Evaluator::AddOp(OpKind kind, const std::vector<Operand>& operands, Attributes attributes, Span span,
                       const Frame& frame, const std::string& name) {
  std::vector<OpId> inputs;
  for (const Operand& operand : operands) inputs.push_back(operand.op);
  builder_.SetLine(reporter_.ModelLine(span));
  auto result = builder_.TryAdd(kind, std::move(inputs), std::move(attributes),
                                Join(frame.naming.path, name.empty() ? std::string(OpKindName(kind)) : name));
  if (const OpId* id = std::get_if<OpId>(&result)) return Value{TensorValue{*id}};

  const OpError& error = std::get<OpError>(result);
  Diagnostic diagnostic = Error(error.code, error.message);
  std::vector<bool> labelled(operands.size(), false);
  for (const OpError::AboutInput& about : error.about) {
    const auto index = static_cast<size_t>(about.input);
    if (index >= operands.size() || operands[index].expression == nullptr) continue;
    std::string text = DescribeOperand(operands[index]);
    const TensorType& type = builder_.type(operands[index].op);
    const bool repeats =
        about.text == absl::StrCat("is ", ShapeText(type.shape)) || absl::StartsWith(about.text, "holds ");
    if (!about.text.empty() && !repeats) absl::StrAppend(&text, ", ", about.text);
    diagnostic.labels.push_back({operands[index].expression->span, std::move(text)});
    labelled[index] = true;
  }
  if (diagnostic.labels.empty()) diagnostic.labels.push_back({span, "in this call"});
  for (size_t i = 0; i < operands.size(); ++i) {
    if (labelled[i] || operands[i].expression == nullptr) continue;
    diagnostic.labels.push_back({operands[i].expression->span, DescribeOperand(operands[i])});
  }
  diagnostic.notes = error.notes;
  for (const std::string& help : error.help) diagnostic.help.push_back(InTheWordsOfTheModel(kind, help, operands));
  reporter_.Report(std::move(diagnostic));
  return Value{Poison()};
}

OpId Evaluator::AddConstant(DType dtype, double value, Span span, const Frame& frame) {
  builder_.SetLine(reporter_.ModelLine(span));
  return builder_.Add(
      OpKind::kConstant, {},
      {{attribute::kDType, dtype}, {attribute::kShape, std::vector<int64_t>()}, {attribute::kValue, value}},
      Join(frame.naming.path, "constant"));
}

// Metrics leave out what fills up the last test batch: ops that take a mask get the one of the samples.
std::optional<OpId> Evaluator::MaskFor(const OpDefinition& op, const std::vector<Operand>& operands, Span span,
                                       const Frame& frame) {
  // Inside of what `vmap` maps, a first dimension is not that of the samples.
  if (!in_metric_ || vmap_depth_ > 0 || operands.empty() || expansion_.inputs.empty()) return std::nullopt;
  size_t tensors = 0;
  bool takes_mask = false;
  for (const ::cleave::Argument& formal : op.signature) {
    tensors += formal.kind == ArgumentKind::kTensor ? 1 : 0;
    takes_mask |= formal.kind == ArgumentKind::kOptionalTensor;
  }
  if (!takes_mask) return std::nullopt;
  if (operands.size() != tensors) {
    masked_ = true;  // By the user.
    return std::nullopt;
  }
  const Shape batch_shape = builder_.type(expansion_.inputs.begin()->first).shape;
  const Shape shape = builder_.type(operands[0].op).shape;
  if (batch_shape.empty() || shape.empty()) return std::nullopt;
  const Op* slice = SamplesOfRank(operands);
  if (shape[0] != batch_shape[0] && slice == nullptr) return std::nullopt;
  const Attributes own = slice == nullptr ? Attributes() : slice->attributes;
  if (!mask_) {
    builder_.SetLine(0);
    mask_ = builder_.Add(OpKind::kInput, {},
                         {{attribute::kDType, DType::kF32},
                          {attribute::kShape, std::vector<int64_t>{batch_shape[0]}},
                          {attribute::kData, "sample_mask"}},
                         "sample_mask");
  }
  masked_ = true;
  if (shape[0] == batch_shape[0]) return mask_;
  return AddOp(OpKind::kRankSlice, {{nullptr, *mask_}}, own, span, frame).as_tensor();
}

// The slice by rank of an input's samples among the operands; null where there is none.
const Op* Evaluator::SamplesOfRank(const std::vector<Operand>& operands) const {
  for (const Operand& operand : operands) {
    const Op& op = graph().op(operand.op);
    if (op.kind != OpKind::kRankSlice || op.attributes.Get(attribute::kAxis) != 0) continue;
    if (expansion_.inputs.count(op.inputs[0]) > 0) return &op;
  }
  return nullptr;
}

}  // namespace cleave::frontend
