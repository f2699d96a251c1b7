// Types: dimensions worth numbers, symbols of a signature bound by the arguments, declared types checked.
#include "absl/strings/str_cat.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {
namespace {

// "f32[..n, k]" and the like stand for tensors, these for static values.
bool IsScalarName(const std::string& name) {
  return name == "int" || name == "float" || name == "bool" || name == "string";
}

bool HasScalarType(const std::string& name, const Value& value) {
  const Value& first = OnRank(value, 0);  // All ranks have values of one kind.
  if (name == "int") return first.is_int();
  if (name == "float") return first.is_number();
  if (name == "bool") return std::holds_alternative<bool>(first.kind);
  return std::holds_alternative<std::string>(first.kind);
}

std::string Quoted(const syntax::Expression& expression) {
  const auto* name = std::get_if<syntax::Name>(&expression.kind);
  return name ? absl::StrCat("`", name->text, "`") : "this";
}

}  // namespace

// Nothing after a mistake. `..n` stands for the list that the call has bound.
std::optional<Shape> Evaluator::EvaluateShape(const syntax::Type& type, Frame& frame) {
  Shape shape;
  bool ok = true;
  for (const syntax::Dimension& dimension : *type.dimensions) {
    if (dimension.is_rest()) {
      const std::string& name = std::get<syntax::Identifier>(dimension.kind).text;
      auto rest = frame.rests.find(name);
      if (rest == frame.rests.end()) {
        reporter_.Report(Error(Code::kE0201, absl::StrCat("unknown list of dimensions `..", name, "`"))
                             .At(dimension.span, "bound by no argument of the function"));
        ok = false;
      } else {
        shape.insert(shape.end(), rest->second.begin(), rest->second.end());
      }
      continue;
    }
    const auto& expression = std::get<syntax::Expression>(dimension.kind);
    const Value value = Evaluate(expression, frame);
    ok &= value.is_int();
    if (value.is_poison()) continue;
    if (value.is_per_rank() && OnRank(value, 0).is_int()) {
      ReportShape("a dimension that differs between ranks", expression, value, frame);
    } else if (!value.is_int()) {
      reporter_.Report(Error(Code::kE0204, "a dimension must be an int")
                           .At(dimension.span, absl::StrCat("this is ", DescribeType(value, graph()))));
    } else if (value.as_int() <= 0) {
      reporter_.Report(Error(Code::kE0207, "a dimension must be positive")
                           .At(dimension.span, absl::StrCat("this is ", value.as_int())));
      ok = false;
    } else {
      shape.push_back(value.as_int());
    }
  }
  return ok ? std::optional<Shape>(std::move(shape)) : std::nullopt;
}

std::optional<TensorType> Evaluator::EvaluateTensorType(const syntax::Type& type, Frame& frame) {
  const std::optional<DType> dtype = ElementTypeNamed(type.element.text);
  if (!dtype) {
    Diagnostic error = Error(Code::kE0201, absl::StrCat("unknown element type `", type.element.text, "`"))
                           .At(type.element.span, "expected `f32` or `i32`");
    if (ParseDType(type.element.text)) error.help.push_back("`train { precision = bf16; }` computes in bf16");
    reporter_.Report(std::move(error));
  } else if (!type.dimensions) {
    reporter_.Report(Error(Code::kE0204, "a tensor type needs its dimensions")
                         .At(type.span, "no `[…]` here")
                         .Help(absl::StrCat("a scalar is `", type.element.text, "[]`")));
    return std::nullopt;
  }
  if (!type.dimensions) return std::nullopt;
  const std::optional<Shape> shape = EvaluateShape(type, frame);
  if (!dtype || !shape) return std::nullopt;
  TensorType result{*dtype, *shape};
  if (!CheckElementCount(result, type.span)) return std::nullopt;
  return result;
}

bool Evaluator::CheckElementCount(const TensorType& type, Span span) {
  int64_t count = 1;
  for (int64_t size : type.shape) {
    if (__builtin_mul_overflow(count, size, &count) || count > kMaxElements) {
      reporter_.Report(
          Error(Code::kE0215, "a tensor with too many elements")
              .At(span, absl::StrCat(ShapeText(type.shape), " is more than 9,007,199,254,740,991 elements"))
              .Note("up to 2^53 - 1 the number of an element is exact in 64-bit integers and in doubles"));
      return false;
    }
  }
  return true;
}

// Checks an argument against the declared type, converts an int to a float where one is asked for, and binds the
// symbols of a shape.
bool Evaluator::BindParameterType(const syntax::Parameter& parameter, Value& value,
                                  const syntax::Expression& expression, Frame& callee) {
  if (value.is_poison()) return false;
  const std::string& element = parameter.type.element.text;
  const std::string of = callee.function == nullptr
                             ? absl::StrCat("argument `", parameter.name.text, "`")
                             : absl::StrCat("argument `", parameter.name.text, "` of `", callee.function->name(), "`");
  const auto mismatch = [&](std::string label) {
    Diagnostic error = Error(Code::kE0204, absl::StrCat(of, " is `", TypeText(parameter.type), "`"))
                           .At(expression.span, std::move(label))
                           .At(parameter.type.span, "declared here");
    if (callee.function != nullptr) {
      error.notes.push_back(absl::StrCat("the signature is `", SignatureOf(*callee.function->syntax).ToString(), "`"));
    }
    return error;
  };
  if (!parameter.type.dimensions && IsScalarName(element)) {
    if (!HasScalarType(element, value)) {
      reporter_.Report(mismatch(absl::StrCat("this is ", DescribeType(value, graph()))));
      return false;
    }
    if (element == "float") value = ToFloat(value);
    return true;
  }
  const std::optional<DType> dtype = ElementTypeNamed(element);
  if (!dtype || !parameter.type.dimensions) {
    // Reported as a wrong type, whatever the argument is.
    if (dtype) return EvaluateTensorType(parameter.type, callee).has_value();
    reporter_.Report(
        Error(Code::kE0201, absl::StrCat("unknown type `", element, "`"))
            .At(parameter.type.element.span, "expected `int`, `float`, `bool`, `string`, `f32[…]` or `i32[…]`"));
    return false;
  }
  if (!value.is_tensor()) {
    reporter_.Report(mismatch(absl::StrCat("this is ", DescribeType(value, graph()))));
    return false;
  }
  const TensorType& type = builder_.type(value.as_tensor());
  if (type.dtype != *dtype) {
    Diagnostic error = mismatch(DescribeOperand({&expression, value.as_tensor()}));
    if (const auto* name = std::get_if<syntax::Name>(&expression.kind)) {
      error.help.push_back(absl::StrCat("convert it: `cast(", name->text, ", ", element, ")`"));
    } else {
      error.help.push_back(absl::StrCat("convert it: `cast(…, ", element, ")`"));
    }
    reporter_.Report(std::move(error));
    return false;
  }
  return BindShape(parameter, type.shape, expression, callee);
}

bool Evaluator::BindShape(const syntax::Parameter& parameter, const Shape& shape, const syntax::Expression& expression,
                          Frame& callee) {
  const std::vector<syntax::Dimension>& dimensions = *parameter.type.dimensions;
  size_t rest_at = dimensions.size();
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (!dimensions[d].is_rest()) continue;
    if (rest_at != dimensions.size()) {
      reporter_.Report(Error(Code::kE0206, "two lists of dimensions in one type")
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
    Diagnostic error = Error(Code::kE0206, absl::StrCat("argument `", parameter.name.text, "` of `", callee_name,
                                                        "` is ", TypeText(parameter.type), ", not ", ShapeText(shape)))
                           .At(expression.span, std::move(label))
                           .At(parameter.type.span, "declared here");
    reporter_.Report(std::move(error));
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
      const std::string& name = std::get<syntax::Identifier>(dimensions[d].kind).text;
      const Shape rest(shape.begin() + static_cast<int64_t>(at), shape.begin() + static_cast<int64_t>(at + rest_size));
      const auto [entry, inserted] = callee.rests.try_emplace(name, rest);
      if (!inserted && entry->second != rest) {
        return mismatch(absl::StrCat("`..", name, "` is ", ShapeText(rest), " here, but ", ShapeText(entry->second),
                                     " in an argument before"));
      }
      at += rest_size;
      continue;
    }
    const auto& size = std::get<syntax::Expression>(dimensions[d].kind);
    const int64_t actual = shape[at];
    const std::string place = absl::StrCat("dimension ", at, " of `", parameter.name.text, "`");
    ++at;
    const auto* symbol = std::get_if<syntax::Name>(&size.kind);
    Binding* binding = symbol ? callee.scope.Find(symbol->text) : nullptr;
    if (symbol != nullptr && binding == nullptr) {
      callee.scope.Define({symbol->text, size.span, BindingKind::kSymbol, false, true, Value{actual}});
      callee.symbol_origins[symbol->text] = place;
      continue;
    }
    const Value expected = Evaluate(size, callee);
    if (expected.is_poison()) return false;
    if (expected.is_per_rank() && OnRank(expected, 0).is_int()) {
      ReportShape("a dimension that differs between ranks", size, expected, callee);
      return false;
    }
    if (!expected.is_int()) {
      reporter_.Report(Error(Code::kE0204, "a dimension must be an int")
                           .At(size.span, absl::StrCat("this is ", DescribeType(expected, graph()))));
      return false;
    }
    if (expected.as_int() == actual) continue;
    auto origin = symbol ? callee.symbol_origins.find(symbol->text) : callee.symbol_origins.end();
    std::string label = absl::StrCat(place, " is ", actual, ", not ", expected.as_int());
    if (origin != callee.symbol_origins.end())
      absl::StrAppend(&label, ", which `", symbol->text, "` is by ", origin->second);
    return mismatch(std::move(label));
  }
  return true;
}

// Whether `value` has the declared type; the declaration may use every name of `frame`. An int becomes a float where
// one is declared.
bool Evaluator::CheckType(const syntax::Type& type, Value& value, Span place, const std::string& what, Frame& frame) {
  const std::string& element = type.element.text;
  if (!type.dimensions && IsScalarName(element)) {
    if (HasScalarType(element, value)) {
      if (element == "float") value = ToFloat(value);
      return true;
    }
    reporter_.Report(Error(Code::kE0204, absl::StrCat(what, " is declared `", element, "`"))
                         .At(place, absl::StrCat("the value is ", DescribeType(value, graph()))));
    return false;
  }
  const std::optional<TensorType> declared = EvaluateTensorType(type, frame);
  if (!declared) return false;
  if (value.is_tensor() && builder_.type(value.as_tensor()) == *declared) return true;
  Diagnostic error = Error(value.is_tensor() ? Code::kE0206 : Code::kE0204,
                           absl::StrCat(what, " is ", DescribeType(value, graph()), ", not ", declared->ToString()))
                         .At(place, absl::StrCat("declared `", TypeText(type), "`"));
  if (value.is_tensor() && builder_.type(value.as_tensor()).dtype != declared->dtype) {
    error.help.push_back(absl::StrCat("convert it: `cast(…, ", DTypeName(declared->dtype), ")`"));
  }
  reporter_.Report(std::move(error));
  return false;
}

}  // namespace cleave::frontend
