#include "frontend/evaluate/ops/op_writer.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"

namespace cleave::frontend {

std::string JoinPath(const std::string& path, const std::string& name) {
  return path.empty() ? name : absl::StrCat(path, ".", name);
}

std::map<OpId, Span> MovedToBatched(const std::map<OpId, Span>& places, const Vectorized& batched) {
  std::map<OpId, Span> moved;
  for (const auto& [id, place] : places) {
    const auto now = batched.find(id);
    moved[now == batched.end() ? id : now->second.value] = place;
  }
  return moved;
}

Value OpWriter::AddOp(OpKind kind, const std::vector<Operand>& operands, Attributes attributes, const Origin& origin,
                      const std::string& name) {
  std::vector<OpId> inputs;
  for (const Operand& operand : operands) inputs.push_back(operand.op);
  builder_.SetLine(reporter_.ModelLine(origin.span));
  auto result = builder_.TryAdd(kind, std::move(inputs), std::move(attributes),
                                JoinPath(origin.path, name.empty() ? std::string(OpKindName(kind)) : name));
  if (const OpId* id = std::get_if<OpId>(&result)) return Value{TensorValue{*id}};
  Report(std::get<OpError>(result), kind, operands, origin.span);
  return Value{Poison()};
}

Value OpWriter::AddOpOfRanks(OpKind kind, const std::vector<Operand>& operands, Attributes attributes,
                             const Origin& origin, const std::string& name) {
  const Value result = AddOp(kind, operands, std::move(attributes), origin, name);
  if (result.is_tensor()) rank_places_[result.as_tensor()] = origin.span;
  return result;
}

OpId OpWriter::AddConstant(DType dtype, double value, const Origin& origin) {
  return AddValid(OpKind::kConstant, {},
                  {{attribute::kDType, dtype}, {attribute::kShape, std::vector<int64_t>()}, {attribute::kValue, value}},
                  JoinPath(origin.path, "constant"), origin.span);
}

OpId OpWriter::AddRankValue(const Value& value, const Origin& origin) {
  std::vector<double> values;
  for (const Value& each : value.as_per_rank()) values.push_back(each.as_number());
  return AddOpOfRanks(OpKind::kRankValue, {}, {{attribute::kValues, std::move(values)}}, origin).as_tensor();
}

OpId OpWriter::AddValid(OpKind kind, std::vector<OpId> inputs, Attributes attributes, const std::string& name,
                        Span span) {
  builder_.SetLine(reporter_.ModelLine(span));
  return builder_.Add(kind, std::move(inputs), std::move(attributes), name);
}

void OpWriter::MoveToBatched(const Vectorized& batched) { rank_places_ = MovedToBatched(rank_places_, batched); }

std::string OpWriter::Describe(const Operand& operand) const {
  const Op& op = graph().op(operand.op);
  const auto* name = operand.expression ? std::get_if<syntax::Name>(&operand.expression->kind) : nullptr;
  std::string text = name ? absl::StrCat("`", name->text, "`") : "this";
  absl::StrAppend(&text, " is ", op.type.ToString());
  if (name && op.line > 0) absl::StrAppend(&text, ", from line ", op.line);
  return text;
}

// An op's help names the arguments of its signature, `cast(label, i32)`; the user knows them by what stands in the
// call.
std::string OpWriter::InTheWordsOfTheModel(OpKind kind, const std::string& help,
                                           const std::vector<Operand>& operands) const {
  const OpDefinition& op = DefinitionOf(kind);
  for (size_t i = 0; i < operands.size() && i < op.signature.size(); ++i) {
    if (op.signature[i].kind == ArgumentKind::kTensorList || operands[i].expression == nullptr) break;
    const std::string formal = absl::StrCat("(", op.signature[i].name, ",");
    if (!reporter_.IsUserPlace(operands[i].expression->span) || !absl::StrContains(help, formal)) continue;
    return absl::StrReplaceAll(help, {{formal, absl::StrCat("(", ExpressionText(*operands[i].expression), ",")}});
  }
  return help;
}

void OpWriter::Report(const OpError& error, OpKind kind, const std::vector<Operand>& operands, Span span) {
  Diagnostic diagnostic = Error(error.code, error.message);
  std::vector<bool> labelled(operands.size(), false);
  for (const OpError::AboutInput& about : error.about) {
    const auto index = static_cast<size_t>(about.input);
    if (index >= operands.size() || operands[index].expression == nullptr) continue;
    std::string text = Describe(operands[index]);
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
    diagnostic.labels.push_back({operands[i].expression->span, Describe(operands[i])});
  }
  diagnostic.notes = error.notes;
  for (const std::string& help : error.help) diagnostic.help.push_back(InTheWordsOfTheModel(kind, help, operands));
  reporter_.Report(std::move(diagnostic));
}

}  // namespace cleave::frontend
