#include "frontend/evaluate/types/parameter_types.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/statics/per_rank.h"
#include "frontend/evaluate/types/initializer_values.h"
#include "frontend/evaluate/types/types.h"

namespace cleave::frontend {
namespace {

bool IsScalarType(const dsl::syntax::Type& type) { return !type.dimensions.has_value(); }

std::string Quoted(const dsl::syntax::Expression& expression) {
  const auto* name = std::get_if<dsl::syntax::Name>(&expression.kind);
  return name ? absl::StrCat("`", name->text, "`") : "this";
}

bool BindShape(const dsl::syntax::Parameter& parameter, const ir::Shape& shape,
               const dsl::syntax::Expression& expression, Frame& callee, const Context& context) {
  const std::vector<dsl::syntax::Dimension>& dimensions = *parameter.type.dimensions;
  size_t rest_at = dimensions.size();
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (!dimensions[d].is_rest()) continue;
    if (rest_at != dimensions.size()) {
      context.reporter.Report(Error(Code::kE0206, "two lists of dimensions in one type")
                                  .At(dimensions[d].span, "the second")
                                  .At(dimensions[rest_at].span, "the first"));
      return false;
    }
    rest_at = d;
  }
  const bool has_rest = rest_at != dimensions.size();
  const size_t fixed = dimensions.size() - (has_rest ? 1 : 0);
  const std::string callee_name = callee.function ? callee.function->name() : "";
  const auto mismatch = [&](std::string label) {
    Diagnostic error =
        Error(Code::kE0206, absl::StrCat("argument `", parameter.name.text, "` of `", callee_name, "` is ",
                                         TypeText(parameter.type), ", not ", ir::ShapeText(shape)))
            .At(expression.span, std::move(label))
            .At(parameter.type.span, "declared here");
    context.reporter.Report(std::move(error));
    return false;
  };
  if (shape.size() < fixed || (!has_rest && shape.size() != fixed)) {
    return mismatch(absl::StrCat(Quoted(expression), " has ", shape.size(), " dimensions, not ",
                                 has_rest ? "at least " : "", fixed));
  }

  const size_t rest_size = shape.size() - fixed;
  size_t at = 0;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d].is_rest()) {
      const std::string& name = std::get<dsl::syntax::Identifier>(dimensions[d].kind).text;
      const ir::Shape rest(shape.begin() + static_cast<int64_t>(at),
                           shape.begin() + static_cast<int64_t>(at + rest_size));
      const auto [entry, inserted] = callee.rests.try_emplace(name, rest);
      if (!inserted && entry->second != rest) {
        return mismatch(absl::StrCat("`..", name, "` is ", ir::ShapeText(rest), " here, but ",
                                     ir::ShapeText(entry->second), " in an argument before"));
      }
      at += rest_size;
      continue;
    }
    const auto& size = std::get<dsl::syntax::Expression>(dimensions[d].kind);
    const int64_t actual = shape[at];
    const std::string place = absl::StrCat("dimension ", at, " of `", parameter.name.text, "`");
    ++at;
    const auto* symbol = std::get_if<dsl::syntax::Name>(&size.kind);
    Binding* binding = symbol ? callee.scope.Find(symbol->text) : nullptr;
    if (symbol != nullptr && binding == nullptr) {
      context.Saw(size.span, Value{actual});
      callee.scope.Define({symbol->text, size.span, BindingKind::kSymbol, false, true, Value{actual}});
      callee.symbol_origins[symbol->text] = place;
      continue;
    }
    const Value expected = context.Evaluate(size, callee);
    if (expected.is_poison()) return false;
    if (expected.is_per_rank() && OnRank(expected, 0).is_int()) {
      context.reporter.Report(ShapeDiffersBetweenRanks("a dimension that differs between ranks", size, expected,
                                                       callee.scope, context.graph()));
      return false;
    }
    if (!expected.is_int()) {
      context.reporter.Report(Error(Code::kE0204, "a dimension must be an int")
                                  .At(size.span, absl::StrCat("this is ", DescribeType(expected, context.graph()))));
      return false;
    }
    if (expected.as_int() == actual) continue;
    auto origin = symbol ? callee.symbol_origins.find(symbol->text) : callee.symbol_origins.end();
    std::string label = absl::StrCat(place, " is ", actual, ", not ", expected.as_int());
    if (origin != callee.symbol_origins.end())
      absl::StrAppend(&label, ", the value of `", symbol->text, "` from ", origin->second);
    return mismatch(std::move(label));
  }
  return true;
}

}  // namespace

bool BindParameterType(const dsl::syntax::Parameter& parameter, Value& value, const dsl::syntax::Expression& expression,
                       Frame& callee, const Context& context) {
  if (value.is_poison()) return false;
  const std::string& element = parameter.type.element.text;
  const absl::string_view what =
      callee.function != nullptr && callee.function->record != nullptr ? "field" : "argument";
  const std::string of = absl::StrCat(what, " `", parameter.name.text, "`",
                                      callee.function ? absl::StrCat(" of `", callee.function->name(), "`") : "");
  const auto mismatch = [&](std::string label) {
    Diagnostic error = Error(Code::kE0204, absl::StrCat(of, " is `", TypeText(parameter.type), "`"))
                           .At(expression.span, std::move(label))
                           .At(parameter.type.span, "declared here");
    if (callee.function != nullptr) {
      const Signature signature = SignatureOf(*callee.function);
      error.notes.push_back(absl::StrCat("the signature is `", signature.ToString(), "`"));
      if (!signature.note.empty()) error.notes.push_back(signature.note);
    }
    return error;
  };
  if (!parameter.type.dimensions && IsScalarName(element)) {
    if (!HasScalarType(element, value)) {
      context.reporter.Report(mismatch(absl::StrCat("this is ", DescribeType(value, context.graph()))));
      return false;
    }
    if (element == "float") value = ToFloat(value);
    return true;
  }
  if (const Function* const record = RecordNamed(parameter.type, callee, context)) {
    if (value.is_record() && value.as_record().type == record->record) return true;
    context.reporter.Report(mismatch(absl::StrCat("this is ", DescribeType(value, context.graph()))));
    return false;
  }
  const std::optional<ir::DType> dtype = ElementTypeNamed(element);
  if (!dtype || !parameter.type.dimensions) {
    // It is reported as a wrong type, whatever the argument is.
    if (dtype) return EvaluateTensorType(parameter.type, callee, context).has_value();
    Diagnostic error = Error(Code::kE0201, absl::StrCat("unknown type `", element, "`"))
                           .At(parameter.type.element.span,
                               "expected `int`, `float`, `bool`, `string`, `tuple`, `initializer`, "
                               "`layer`, a record, `f32[…]` or `i32[…]`");
    if (const auto nearest = NearestName(element, context.functions.RecordNames(callee.function)))
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    context.reporter.Report(std::move(error));
    return false;
  }
  if (!value.is_tensor()) {
    context.reporter.Report(mismatch(absl::StrCat("this is ", DescribeType(value, context.graph()))));
    return false;
  }
  const ir::TensorType& type = context.ops.type(value.as_tensor());
  if (type.dtype != *dtype) {
    Diagnostic error = mismatch(context.ops.Describe({&expression, value.as_tensor()}));
    if (const auto* name = std::get_if<dsl::syntax::Name>(&expression.kind)) {
      error.help.push_back(absl::StrCat("convert it: `cast(", name->text, ", ", element, ")`"));
    } else {
      error.help.push_back(absl::StrCat("convert it: `cast(…, ", element, ")`"));
    }
    context.reporter.Report(std::move(error));
    return false;
  }
  return BindShape(parameter, type.shape, expression, callee, context);
}

Signature SignatureOf(const Function& function) {
  const std::string& name = function.name();
  Signature signature = SignatureOf(*function.syntax);
  if (function.record != nullptr) signature.what = "field";
  if (const ir::OpDefinition* op = ir::FindOp(name); op != nullptr && op->callable && function.of_prelude) {
    signature.note = absl::StrCat("the op `", SignatureOf(*op).ToString(), "` is called as `", name, "_op(…)`");
  }
  return signature;
}

Value EvaluateArgument(const dsl::syntax::Parameter& parameter, const dsl::syntax::Expression& expression, Frame& frame,
                       const Context& context) {
  const bool is_initializer = !parameter.type.dimensions && parameter.type.element.text == kInitializerType;
  return is_initializer ? EvaluateInitializer(expression, frame, context) : context.Evaluate(expression, frame);
}

bool BindArguments(const Function& function, absl::Span<const dsl::syntax::Argument* const> matched,
                   const std::vector<Value>& values, Frame& callee, const Context& context) {
  const std::vector<dsl::syntax::Parameter>& parameters = function.syntax->parameters;
  std::vector<bool> bound(parameters.size(), false);
  bool ok = true;
  const auto bind = [&](size_t i, Value value, const dsl::syntax::Expression& expression) {
    bound[i] = true;
    ok &= BindParameterType(parameters[i], value, expression, callee, context);
    if (ok) context.Saw(parameters[i].name.span, value);
    callee.scope.Define({parameters[i].name.text, parameters[i].name.span, BindingKind::kArgument, false, true,
                         ok ? std::move(value) : Value{Poison()}});
  };
  const auto bind_default = [&](size_t i) {
    const dsl::syntax::Expression& value = *parameters[i].default_value;
    bind(i, EvaluateArgument(parameters[i], value, callee, context), value);
  };
  // Numbers are bound first, so that a shape can name one; a default that a shape names comes before that shape.
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (matched[i] != nullptr && IsScalarType(parameters[i].type)) bind(i, values[i], *matched[i]->value);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (matched[i] == nullptr || IsScalarType(parameters[i].type)) continue;
    for (const dsl::syntax::Dimension& dimension : *parameters[i].type.dimensions) {
      const auto* expression = std::get_if<dsl::syntax::Expression>(&dimension.kind);
      const auto* symbol = expression ? std::get_if<dsl::syntax::Name>(&expression->kind) : nullptr;
      for (size_t j = 0; symbol != nullptr && j < parameters.size(); ++j) {
        if (parameters[j].name.text == symbol->text && !bound[j] && IsScalarType(parameters[j].type)) bind_default(j);
      }
    }
    bind(i, values[i], *matched[i]->value);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!bound[i]) bind_default(i);
  }
  return ok;
}

}  // namespace cleave::frontend
