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

std::map<ir::OpId, Span> MovedToBatched(const std::map<ir::OpId, Span>& places, const ir::Vectorized& batched) {
  std::map<ir::OpId, Span> moved;
  for (const auto& [id, place] : places) {
    const auto now = batched.find(id);
    moved[now == batched.end() ? id : now->second.value] = place;
  }
  return moved;
}

Value OpWriter::AddOp(ir::OpKind kind, const std::vector<Operand>& operands, ir::Attributes attributes,
                      const Origin& origin, const std::string& name) {
  std::vector<ir::OpId> inputs;
  for (const Operand& operand : operands) inputs.push_back(operand.op);
  builder_.SetLine(reporter_.ModelLine(origin.span));
  auto result = builder_.TryAdd(kind, std::move(inputs), std::move(attributes),
                                JoinPath(origin.path, name.empty() ? std::string(ir::OpKindName(kind)) : name));
  if (const ir::OpId* id = std::get_if<ir::OpId>(&result)) return Value{TensorValue{*id}};
  Report(std::get<ir::OpError>(result), kind, operands, origin.span);
  return Value{Poison()};
}

Value OpWriter::AddOpOfRanks(ir::OpKind kind, const std::vector<Operand>& operands, ir::Attributes attributes,
                             const Origin& origin, const std::string& name) {
  const Value result = AddOp(kind, operands, std::move(attributes), origin, name);
  if (result.is_tensor()) rank_places_[result.as_tensor()] = origin.span;
  return result;
}

ir::OpId OpWriter::AddConstant(ir::DType dtype, double value, const Origin& origin) {
  return AddValid(
      ir::OpKind::kConstant, {},
      {{ir::attribute::kDType, dtype}, {ir::attribute::kShape, std::vector<int64_t>()}, {ir::attribute::kValue, value}},
      JoinPath(origin.path, "constant"), origin.span);
}

ir::OpId OpWriter::AddStepScalar(const StepValue& value, const Origin& origin) {
  const std::string name = value.name.empty() ? std::string(ir::OpKindName(ir::OpKind::kStepScalar)) : value.name;
  return AddValid(ir::OpKind::kStepScalar, {}, {{ir::attribute::kFormula, ir::ScalarText(value.formula)}},
                  JoinPath(origin.path, name), origin.span);
}

ir::OpId OpWriter::AddRankValue(const Value& value, const Origin& origin) {
  std::vector<double> values;
  for (const Value& each : value.as_per_rank()) values.push_back(each.as_number());
  return AddOpOfRanks(ir::OpKind::kRankValue, {}, {{ir::attribute::kValues, std::move(values)}}, origin).as_tensor();
}

ir::OpId OpWriter::AddValid(ir::OpKind kind, std::vector<ir::OpId> inputs, ir::Attributes attributes,
                            const std::string& name, Span span) {
  builder_.SetLine(reporter_.ModelLine(span));
  return builder_.Add(kind, std::move(inputs), std::move(attributes), name);
}

void OpWriter::AddLook(ir::LookKind kind, ir::OpId op, const std::string& part, Span span) {
  builder_.mutable_graph().looks.push_back(
      {.kind = kind, .value = op, .name = "", .line = reporter_.ModelLine(span), .part = part});
}

void OpWriter::AddLookByName(ir::LookKind kind, std::string name, Span span) {
  looks_by_name_.push_back({.kind = kind,
                            .name = std::move(name),
                            .span = span,
                            .line = reporter_.ModelLine(span),
                            .place = graph().looks.size()});
}

void OpWriter::Rename(const std::map<ir::OpId, std::string>& names) {
  if (names.empty()) return;
  // Added again in the same order, all ops keep their ids.
  for (const ir::Op& op : builder_.RemoveFrom(names.begin()->first)) {
    const auto found = names.find(op.id);
    ir::Attributes attributes = op.attributes;
    // The key of a random op is its name unless the model gives another one.
    if (attributes.Has(ir::attribute::kKey) && attributes.Get(ir::attribute::kKey) == op.name) {
      attributes.Set(ir::attribute::kKey, "");
    }
    builder_.SetLine(op.line);
    const ir::OpId again =
        builder_.Add(op.kind, op.inputs, std::move(attributes), found == names.end() ? op.name : found->second);
    builder_.mutable_graph().ops[again].repetition = op.repetition;
  }
}

void OpWriter::MoveToBatched(const ir::Vectorized& batched) {
  rank_places_ = MovedToBatched(rank_places_, batched);
  for (ir::Look& look : builder_.mutable_graph().looks) {
    const auto now = batched.find(look.value);
    if (now != batched.end()) look.value = now->second.value;
  }
}

OpWriter::Inside OpWriter::EnterPart(size_t number) {
  const ir::Repetition& around = trails_.back().repetition;
  Enter({.repetition = {.place = ir::Within(around.place, number), .passes = around.passes}});
  return Inside(*this);
}

OpWriter::Inside OpWriter::EnterCall() {
  Trail& around = trails_.back();
  const ir::TextPlace calls = ir::Within(around.repetition.place, "call");
  Enter({.repetition = {.place = ir::Within(calls, around.calls++), .passes = around.repetition.passes}});
  return Inside(*this);
}

OpWriter::Inside OpWriter::EnterPass(int64_t number) {
  const ir::Repetition& around = trails_.back().repetition;
  Enter({.repetition = ir::InPass(around, around.place, number)});
  return Inside(*this);
}

OpWriter::Inside OpWriter::EnterOf(ir::OpId value) { return EnterAs(graph().op(value).repetition); }

OpWriter::Inside OpWriter::EnterAs(const ir::Repetition& there) {
  Enter({.repetition = {.place = ir::Within(there.place, here().place), .passes = there.passes}});
  return Inside(*this);
}

void OpWriter::MakeOf(const ir::Op* parameter) {
  Trail trail;
  if (parameter != nullptr) {
    trail.repetition = parameter->repetition;
    // Loops of the optimizer are other loops for each parameter that is not repeated itself.
    if (!parameter->repetition.is_repeated())
      trail.repetition.place = ir::Within(0, static_cast<uint64_t>(parameter->id.value()));
  }
  trails_.clear();
  Enter(std::move(trail));
}

void OpWriter::Enter(Trail trail) {
  trails_.push_back(std::move(trail));
  builder_.SetSource({.of = trails_.back().repetition});
}

void OpWriter::Leave() {
  trails_.pop_back();
  builder_.SetSource({.of = trails_.back().repetition});
}

std::string OpWriter::Describe(const Operand& operand) const {
  const ir::Op& op = graph().op(operand.op);
  const auto* name = operand.expression ? std::get_if<dsl::syntax::Name>(&operand.expression->kind) : nullptr;
  std::string text = name ? absl::StrCat("`", name->text, "`") : "this";
  absl::StrAppend(&text, " is ", op.type.ToString());
  if (name && op.line > 0) absl::StrAppend(&text, ", from line ", op.line);
  return text;
}

// An op's help names the arguments of its signature, `cast(label, i32)`; the user knows the expressions in the call.
std::string OpWriter::InTheWordsOfTheModel(ir::OpKind kind, const std::string& help,
                                           const std::vector<Operand>& operands) const {
  const ir::OpDefinition& op = ir::DefinitionOf(kind);
  for (size_t i = 0; i < operands.size() && i < op.signature.size(); ++i) {
    if (op.signature[i].kind == ir::ArgumentKind::kTensorList || operands[i].expression == nullptr) break;
    const std::string formal = absl::StrCat("(", op.signature[i].name, ",");
    if (!reporter_.IsUserPlace(operands[i].expression->span) || !absl::StrContains(help, formal)) continue;
    return absl::StrReplaceAll(help, {{formal, absl::StrCat("(", ExpressionText(*operands[i].expression), ",")}});
  }
  return help;
}

void OpWriter::Report(const ir::OpError& error, ir::OpKind kind, const std::vector<Operand>& operands, Span span) {
  Diagnostic diagnostic = Error(error.code, error.message);
  std::vector<bool> labelled(operands.size(), false);
  for (const ir::OpError::AboutInput& about : error.about) {
    const auto index = static_cast<size_t>(about.input);
    if (index >= operands.size() || operands[index].expression == nullptr) continue;
    std::string text = Describe(operands[index]);
    const ir::TensorType& type = builder_.type(operands[index].op);
    const bool repeats =
        about.text == absl::StrCat("is ", ir::ShapeText(type.shape)) || absl::StartsWith(about.text, "holds ");
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
