#include "frontend/evaluate/types/types.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/statics/per_rank.h"

namespace cleave::frontend {
namespace {

// Nullopt after a mistake. `..n` stands for the list that the call has bound.
std::optional<ir::Shape> EvaluateShape(const dsl::syntax::Type& type, Frame& frame, const Context& context) {
  ir::Shape shape;
  bool ok = true;
  for (const dsl::syntax::Dimension& dimension : *type.dimensions) {
    if (dimension.is_rest()) {
      const std::string& name = std::get<dsl::syntax::Identifier>(dimension.kind).text;
      auto rest = frame.rests.find(name);
      if (rest == frame.rests.end()) {
        context.reporter.Report(Error(Code::kE0201, absl::StrCat("unknown list of dimensions `..", name, "`"))
                                    .At(dimension.span, "no argument of the function defines it"));
        ok = false;
      } else {
        shape.insert(shape.end(), rest->second.begin(), rest->second.end());
      }
      continue;
    }
    const auto& expression = std::get<dsl::syntax::Expression>(dimension.kind);
    const Value value = context.demands.Settled(context.Evaluate(expression, frame));
    ok &= value.is_int();
    if (value.is_poison()) continue;
    if (value.is_per_rank() && OnRank(value, 0).is_int()) {
      context.reporter.Report(ShapeDiffersBetweenRanks("a dimension that differs between ranks", expression, value,
                                                       frame.scope, context.graph()));
    } else if (!value.is_int()) {
      context.reporter.Report(Error(Code::kE0204, "a dimension must be an int")
                                  .At(dimension.span, absl::StrCat("this is ", DescribeType(value, context.graph()))));
    } else if (value.as_int() <= 0) {
      context.reporter.Report(Error(Code::kE0207, "a dimension must be positive")
                                  .At(dimension.span, absl::StrCat("this is ", value.as_int())));
      ok = false;
    } else {
      shape.push_back(value.as_int());
    }
  }
  return ok ? std::optional<ir::Shape>(std::move(shape)) : std::nullopt;
}

}  // namespace

const Function* RecordNamed(const dsl::syntax::Type& type, const Frame& frame, const Context& context) {
  return type.dimensions ? nullptr : context.functions.FindRecord(type.element.text, frame.function);
}

bool HasScalarType(const std::string& name, const Value& value) {
  const Value& first = OnRank(value, 0);  // All ranks have values of one kind.
  if (name == "int") return first.is_int() || (first.is_of_step() && first.as_of_step().is_whole);
  if (name == "float") return first.is_number() || (first.is_of_step() && !first.as_of_step().is_condition);
  if (name == "bool") {
    return std::holds_alternative<bool>(first.kind) || (first.is_of_step() && first.as_of_step().is_condition);
  }
  if (name == kTupleType) return first.is_tuple() && !HasTensor(first);
  if (name == kInitializerType) return first.is_initializer();
  if (name == kLayerType) return first.is_function();
  return std::holds_alternative<std::string>(first.kind);
}

std::optional<ir::TensorType> EvaluateTensorType(const dsl::syntax::Type& type, Frame& frame, const Context& context) {
  const std::optional<ir::DType> dtype = ElementTypeNamed(type.element.text);
  if (!dtype) {
    Diagnostic error = Error(Code::kE0201, absl::StrCat("unknown element type `", type.element.text, "`"))
                           .At(type.element.span, "expected `f32` or `i32`");
    if (ir::ParseDType(type.element.text)) {
      const std::string& name = type.element.text;
      error.help.push_back(absl::StrCat("`train { precision = ", name, "; }` computes in ", name));
    }
    const std::vector<std::string> integers = {"bool", "i8", "u8", "i16", "u16", "u32", "i64"};
    if (std::find(integers.begin(), integers.end(), type.element.text) != integers.end()) {
      error.help.push_back("`i32`: files of other integers are read as i32, and bools as 0 and 1");
    }
    context.reporter.Report(std::move(error));
  } else if (!type.dimensions) {
    context.reporter.Report(Error(Code::kE0204, "a tensor type needs its dimensions")
                                .At(type.span, "no `[…]` here")
                                .Help(absl::StrCat("a scalar is `", type.element.text, "[]`")));
    return std::nullopt;
  }
  if (!type.dimensions) return std::nullopt;
  const std::optional<ir::Shape> shape = EvaluateShape(type, frame, context);
  if (!dtype || !shape) return std::nullopt;
  ir::TensorType result{*dtype, *shape};
  if (!CheckElementCount(result, type.span, context.reporter)) return std::nullopt;
  return result;
}

bool CheckElementCount(const ir::TensorType& type, Span span, Reporter& reporter) {
  int64_t count = 1;
  for (int64_t size : type.shape) {
    if (__builtin_mul_overflow(count, size, &count) || count > ir::kMaxElements) {
      reporter.Report(
          Error(Code::kE0215, "a tensor with too many elements")
              .At(span, absl::StrCat(ir::ShapeText(type.shape), " is more than 9,007,199,254,740,991 elements"))
              .Note("up to 2^53 - 1 the number of an element is exact in 64-bit integers and in doubles"));
      return false;
    }
  }
  return true;
}

bool CheckType(const dsl::syntax::Type& type, Value& value, Span place, const std::string& what, Frame& frame,
               const Context& context, std::optional<Span> assigned) {
  const std::string& element = type.element.text;
  if (!type.dimensions && IsScalarName(element)) {
    if (HasScalarType(element, value)) {
      if (element == "float") value = ToFloat(value);
      return true;
    }
    context.reporter.Report(
        Error(Code::kE0204, absl::StrCat(what, " is declared `", element, "`"))
            .At(assigned.value_or(place), absl::StrCat("the value is ", DescribeType(value, context.graph()))));
    return false;
  }
  if (const Function* const record = RecordNamed(type, frame, context)) {
    if (value.is_record() && value.as_record().type == record->record) return true;
    context.reporter.Report(
        Error(Code::kE0204, absl::StrCat(what, " is declared `", element, "`"))
            .At(assigned.value_or(place), absl::StrCat("the value is ", DescribeType(value, context.graph()))));
    return false;
  }
  const std::optional<ir::TensorType> declared = EvaluateTensorType(type, frame, context);
  if (!declared) return false;
  if (value.is_tensor() && context.ops.type(value.as_tensor()) == *declared) return true;
  Diagnostic error =
      Error(value.is_tensor() ? Code::kE0206 : Code::kE0204,
            absl::StrCat(what, " is ", DescribeType(value, context.graph()), ", not ", declared->ToString()))
          .At(place, absl::StrCat("declared `", TypeText(type), "`"));
  if (assigned.has_value()) {
    std::move(error).At(*assigned, absl::StrCat("this is ", DescribeType(value, context.graph())));
  }
  if (value.is_tensor() && context.ops.type(value.as_tensor()).dtype != declared->dtype) {
    error.help.push_back(absl::StrCat("convert it: `cast(…, ", ir::DTypeName(declared->dtype), ")`"));
  }
  context.reporter.Report(std::move(error));
  return false;
}

}  // namespace cleave::frontend
