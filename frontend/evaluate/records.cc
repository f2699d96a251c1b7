#include "frontend/evaluate/records.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/types/parameter_types.h"

namespace cleave::frontend {
namespace {

// Nullopt where the record has no field of this name.
std::optional<size_t> NumberOf(const RecordValue& record, const std::string& name) {
  for (size_t i = 0; i < record.fields.size(); ++i) {
    if (record.type->fields[i].name.text == name) return i;
  }
  return std::nullopt;
}

// Null where the record has no field of this name.
const Value* FieldOf(const RecordValue& record, const std::string& name) {
  const std::optional<size_t> number = NumberOf(record, name);
  return number.has_value() ? &record.fields[*number] : nullptr;
}

void ReportNoField(const RecordValue& record, const dsl::syntax::Identifier& name, Reporter& reporter) {
  std::vector<std::string> names;
  for (const dsl::syntax::Parameter& field : record.type->fields) names.push_back(field.name.text);
  Diagnostic error = Error(Code::kE0218, absl::StrCat("record `", record.name(), "` has no field `", name.text, "`"))
                         .At(name.span, "no such field")
                         .At(record.type->name.span, "declared here");
  if (const auto nearest = NearestName(name.text, names)) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  } else if (!names.empty()) {
    error.notes.push_back(absl::StrCat("it has ", QuotedList(names, "and")));
  }
  reporter.Report(std::move(error));
}

}  // namespace

Value MakeRecord(const Function& maker, absl::Span<const dsl::syntax::Argument* const> matched,
                 const std::vector<Value>& values, Frame& frame, Pieces& pieces) {
  const Context& context = pieces.context;
  Frame fields;
  fields.function = &maker;
  fields.id = pieces.numbers.NewFrame();
  fields.layer = frame.layer;
  fields.trail = frame.TrailOf(frame.naming);
  fields.place = pieces.numbers.Within(frame.place, frame.statement);
  fields.statement = frame.statement;
  fields.naming = {.path = frame.naming.path, .parameters = frame.naming.parameters, .ordinals = maker.owns_parameters};
  const bool ok = BindArguments(maker, matched, values, fields, context);
  context.ops.ForgetOperation();  // That of a field is not that of the record.
  if (!ok) return Value{Poison()};
  RecordValue record{.type = maker.record, .fields = {}, .given = {}};
  for (size_t i = 0; i < maker.record->fields.size(); ++i) {
    record.fields.push_back(fields.scope.Find(maker.record->fields[i].name.text)->value);
    record.given.push_back(matched[i] != nullptr);
  }
  return Value{std::move(record)};
}

Value EvaluateField(const dsl::syntax::Field& field, Frame& frame, Pieces& pieces) {
  const Context& context = pieces.context;
  Value base = context.Evaluate(*field.base, frame);
  if (base.is_poison()) return base;
  if (base.is_record()) {
    if (const std::optional<size_t> number = NumberOf(base.as_record(), field.name.text)) {
      context.Means(field.name.span, base.as_record().type->fields[*number].name.span);
      return base.as_record().fields[*number];
    }
    ReportNoField(base.as_record(), field.name, context.reporter);
    return Value{Poison()};
  }
  const std::string& name = field.name.text;
  Diagnostic error = Error(Code::kE0204, absl::StrCat("`.", name, "` of something that is no record"))
                         .At(field.base->span, absl::StrCat("this is ", DescribeType(base, context.graph())));
  if (name == "grad") {
    error.notes.push_back("gradients can be looked at: `print(w.grad);`");
  } else if (name == "shape" || pieces.functions.Find(name, frame.function).index() != 0) {
    error.help.push_back(absl::StrCat("functions stand before what they take: `", name, "(…)`"));
  }
  context.reporter.Report(std::move(error));
  return Value{Poison()};
}

Value EvaluateWith(const dsl::syntax::With& with, Span span, Frame& frame, Pieces& pieces) {
  const Context& context = pieces.context;
  const Value base = context.Evaluate(*with.base, frame);
  if (base.is_poison()) return base;
  if (!base.is_record()) {
    context.reporter.Report(Error(Code::kE0204, "`with` makes a changed copy of a record")
                                .At(with.base->span, absl::StrCat("this is ", DescribeType(base, context.graph()))));
    return Value{Poison()};
  }
  const RecordValue& record = base.as_record();
  const Function& maker = pieces.functions.MakerOf(*record.type);
  Signature signature = SignatureOf(maker);
  for (FormalArgument& formal : signature.arguments) {
    formal.required = false;
    formal.by_name = absl::StrCat("name it: `with (", formal.name, " = …)`");
  }
  auto matched = MatchArguments(signature, with.fields, span, context.reporter);
  if (!matched || maker.broken) return Value{Poison()};
  const dsl::syntax::Argument kept{.span = with.base->span, .name = std::nullopt, .value = *with.base};
  std::vector<Value> values;
  for (size_t i = 0; i < matched->size(); ++i) {
    const dsl::syntax::Argument*& argument = (*matched)[i];
    if (argument != nullptr) {
      if (argument->name) context.Means(argument->name->span, record.type->fields[i].name.span);
      values.push_back(EvaluateArgument(record.type->fields[i], *argument->value, frame, context));
      if (values.back().is_poison()) return Value{Poison()};
      continue;
    }
    if (record.given[i]) argument = &kept;
    values.push_back(record.fields[i]);
  }
  return MakeRecord(maker, *matched, values, frame, pieces);
}

const Value* ValueAt(const dsl::syntax::Expression& expression, const Scope& scope) {
  if (const auto* name = std::get_if<dsl::syntax::Name>(&expression.kind)) {
    const Binding* const binding = scope.Find(name->text);
    return binding == nullptr ? nullptr : &binding->value;
  }
  const auto* const field = std::get_if<dsl::syntax::Field>(&expression.kind);
  const Value* const base = field == nullptr ? nullptr : ValueAt(*field->base, scope);
  return base == nullptr || !base->is_record() ? nullptr : FieldOf(base->as_record(), field->name.text);
}

}  // namespace cleave::frontend
