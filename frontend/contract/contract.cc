// Reading guide: ReadContract takes each expectation for a bound or a layout; ReadBound and ReadLayout say what is
// wrong with one that is neither.
#include "frontend/contract/contract.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "dsl/syntax/print.h"
#include "frontend/arguments/arguments.h"

namespace cleave::frontend {
namespace {

namespace syntax = dsl::syntax;

constexpr FigureName kFigures[] = {
    {"all_reduce", Unit::kCount},
    {"all_gather", Unit::kCount},
    {"reduce_scatter", Unit::kCount},
    {"all_to_all", Unit::kCount},
    {"broadcast", Unit::kCount},
    {"permute", Unit::kCount},
    {"neighbor_exchange", Unit::kCount},
    {"send_recv", Unit::kCount},
    {"neighbor_exchange_v2", Unit::kCount},
    {kAllCollectives, Unit::kCount},
    {kSent, Unit::kBytes},
    {kMemory, Unit::kBytes},
    {kStep, Unit::kSeconds},
};

constexpr char kLayout[] = "layout";
constexpr char kForms[] = "an expectation is `all_gather <= 2;` or `layout(h1.weight) = (tp, _);`";

std::string Example(const FigureName& figure) {
  switch (figure.unit) {
    case Unit::kCount:
      return absl::StrCat(figure.name, " <= 2");
    case Unit::kBytes:
      return absl::StrCat(figure.name, " <= 64MiB");
    case Unit::kSeconds:
      return absl::StrCat(figure.name, " <= 20ms");
  }
  return "";
}

bool IsComparison(syntax::BinaryOperator op) {
  switch (op) {
    case syntax::BinaryOperator::kLess:
    case syntax::BinaryOperator::kLessEqual:
    case syntax::BinaryOperator::kEqual:
    case syntax::BinaryOperator::kGreaterEqual:
    case syntax::BinaryOperator::kGreater:
      return true;
    default:
      return false;
  }
}

const syntax::Name* NameIn(const syntax::Expression& expression) { return std::get_if<syntax::Name>(&expression.kind); }

bool IsCallOfLayout(const syntax::Expression& expression) {
  const auto* call = std::get_if<syntax::Call>(&expression.kind);
  const syntax::Name* callee = call == nullptr ? nullptr : NameIn(*call->callee);
  return callee != nullptr && callee->text == kLayout;
}

// `h1.weight` as a name of the plan, or a string with one; nullopt for anything else.
std::optional<std::string> PathOf(const syntax::Expression& expression) {
  if (const auto* text = std::get_if<syntax::StringLiteral>(&expression.kind)) return text->value;
  if (const syntax::Name* name = NameIn(expression)) return name->text;
  const auto* field = std::get_if<syntax::Field>(&expression.kind);
  if (field == nullptr) return std::nullopt;
  const std::optional<std::string> base = PathOf(*field->base);
  return base.has_value() ? std::optional(absl::StrCat(*base, ".", field->name.text)) : std::nullopt;
}

class Reader {
 public:
  explicit Reader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void Read(const syntax::Expectation& expectation) {
    if (IsCallOfLayout(expectation.what)) return ReadLayout(expectation);
    const auto* binary = std::get_if<syntax::Binary>(&expectation.what.kind);
    if (binary != nullptr && IsCallOfLayout(*binary->left)) {
      return Report(Error(Code::kE0803, "a layout is given with `=`")
                        .At(binary->operator_span, "expected `=`")
                        .Help("`layout(h1.weight) = (tp, _);`"));
    }
    ReadBound(expectation, binary);
  }

  Contract Take() && { return std::move(contract_); }

 private:
  void Report(Diagnostic error) { diagnostics_.Add(std::move(error)); }

  void ReadBound(const syntax::Expectation& expectation, const syntax::Binary* binary) {
    if (expectation.value.has_value()) return ReportAssigned(expectation);
    if (binary == nullptr || !IsComparison(binary->op)) {
      Diagnostic error = Error(Code::kE0803, "an expectation compares a figure of the plan with a number")
                             .At(binary == nullptr ? expectation.what.span : binary->operator_span,
                                 "not one of `<=`, `<`, `==`, `>=`, `>`");
      const syntax::Name* const name = NameIn(expectation.what);
      const FigureName* const figure = name == nullptr ? nullptr : Find(name->text);
      error.help.push_back(figure != nullptr ? absl::StrCat("`", Example(*figure), ";`") : kForms);
      return Report(std::move(error));
    }
    const syntax::Name* const name = NameIn(*binary->left);
    if (name == nullptr) {
      return Report(Error(Code::kE0803, "a figure of the plan stands before the sign")
                        .At(binary->left->span, "not the name of one")
                        .Help(kForms));
    }
    const FigureName* const figure = Find(name->text);
    if (figure == nullptr) return ReportUnknown(*name, binary->left->span);
    const std::optional<double> limit = LimitOf(*figure, *binary->right);
    if (!limit.has_value()) return;
    contract_.bounds.push_back({.span = expectation.what.span,
                                .text = ExpressionText(expectation.what),
                                .figure = figure->name,
                                .unit = figure->unit,
                                .comparison = binary->op,
                                .limit = *limit});
  }

  // `memory = 8GiB;`
  void ReportAssigned(const syntax::Expectation& expectation) {
    const syntax::Name* const name = NameIn(expectation.what);
    Diagnostic error =
        Error(Code::kE0803, "only a layout is given with `=`").At(expectation.what.span, "not `layout(…)`");
    if (name != nullptr && Find(name->text) != nullptr) {
      error.help.push_back(absl::StrCat("`", name->text, " <= ", ExpressionText(*expectation.value), ";`"));
    } else {
      error.help.push_back(kForms);
    }
    Report(std::move(error));
  }

  static const FigureName* Find(const std::string& name) {
    const auto* found = std::find_if(std::begin(kFigures), std::end(kFigures),
                                     [&](const FigureName& figure) { return name == figure.name; });
    return found == std::end(kFigures) ? nullptr : found;
  }

  void ReportUnknown(const syntax::Name& name, Span span) {
    std::vector<std::string> known;
    for (const FigureName& figure : kFigures) known.push_back(figure.name);
    Diagnostic error =
        Error(Code::kE0803, absl::StrCat("a plan has no figure `", name.text, "`")).At(span, "not known");
    if (const auto nearest = NearestName(name.text, known)) {
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    } else {
      error.help.push_back(absl::StrCat("there are ", QuotedList(known, "and")));
    }
    Report(std::move(error));
  }

  // With the figure's unit; 0 is the same in all.
  std::optional<double> LimitOf(const FigureName& figure, const syntax::Expression& value) {
    const auto* integer = std::get_if<syntax::IntegerLiteral>(&value.kind);
    if (integer != nullptr && (figure.unit == Unit::kCount || integer->value == 0)) {
      return static_cast<double>(integer->value);
    }
    const auto* size = std::get_if<syntax::SizeLiteral>(&value.kind);
    if (size != nullptr && figure.unit == Unit::kBytes) return static_cast<double>(size->bytes);
    const auto* time = std::get_if<syntax::TimeLiteral>(&value.kind);
    if (time != nullptr && figure.unit == Unit::kSeconds) return time->seconds;
    const char* const wanted = figure.unit == Unit::kCount   ? "a whole number"
                               : figure.unit == Unit::kBytes ? "a size, such as `64MiB`"
                                                             : "a time, such as `20ms`";
    Report(Error(Code::kE0803, absl::StrCat("`", figure.name, "` is compared with ", wanted))
               .At(value.span, "this is none")
               .Help(absl::StrCat("`", Example(figure), ";`")));
    return std::nullopt;
  }

  void ReadLayout(const syntax::Expectation& expectation) {
    const auto& call = std::get<syntax::Call>(expectation.what.kind);
    const bool has_one = call.arguments.size() == 1 && !call.arguments.front().name.has_value();
    const std::optional<std::string> name = has_one ? PathOf(*call.arguments.front().value) : std::nullopt;
    if (!name.has_value()) {
      return Report(
          Error(Code::kE0803, "`layout` takes the name of one tensor")
              .At(has_one ? call.arguments.front().span : expectation.what.span, "not a name")
              .Help("`layout(h1.weight)`, or as a string `layout(\"x.0.attn.weight\")`, `layout(\"*.weight\")`"));
    }
    if (!expectation.value.has_value()) {
      return Report(Error(Code::kE0803, absl::StrCat("the layout of `", *name, "` is missing"))
                        .At(expectation.what.span, "expected `= (…)` behind it")
                        .Help(absl::StrCat("`", ExpressionText(expectation.what), " = (tp, _);`")));
    }
    ExpectedLayout layout{.span = expectation.span,
                          .name = *name,
                          .name_span = call.arguments.front().span,
                          .layout = ExpressionText(*expectation.value),
                          .layout_span = expectation.value->span,
                          .dimensions = {}};
    const auto* dimensions = std::get_if<syntax::Tuple>(&expectation.value->kind);
    bool is_right = dimensions != nullptr;
    for (size_t i = 0; is_right && i < dimensions->elements.size(); ++i) {
      const syntax::Argument& element = dimensions->elements[i];
      is_right = !element.name.has_value() && AddDimension(*element.value, layout);
    }
    if (is_right) {
      contract_.layouts.push_back(std::move(layout));
    } else {
      Report(Error(Code::kE0803, "a layout has for each dimension `_`, a mesh axis, or several in parentheses")
                 .At(layout.layout_span, "not a layout")
                 .Help("`(tp, _)`, `((dp, tp), _)`"));
    }
  }

  // Whether `value` says how a dimension is cut.
  static bool AddDimension(const syntax::Expression& value, ExpectedLayout& layout) {
    std::vector<ir::Placed<std::string>>& axes = layout.dimensions.emplace_back();
    if (std::holds_alternative<syntax::Wildcard>(value.kind)) return true;
    if (const auto* several = std::get_if<syntax::Tuple>(&value.kind)) {
      return std::all_of(several->elements.begin(), several->elements.end(), [&](const syntax::Argument& element) {
        return !element.name.has_value() && AddAxis(*element.value, axes);
      });
    }
    return AddAxis(value, axes);
  }

  // Prime parts of a named axis have a dot: `dp.0`.
  static bool AddAxis(const syntax::Expression& value, std::vector<ir::Placed<std::string>>& axes) {
    const std::optional<std::string> name = PathOf(value);
    if (name.has_value()) axes.push_back({*name, value.span});
    return name.has_value();
  }

  Diagnostics& diagnostics_;
  Contract contract_;
};

}  // namespace

absl::Span<const FigureName> Figures() { return kFigures; }

Contract ReadContract(const syntax::Expect& expect, Diagnostics& diagnostics) {
  Reader reader(diagnostics);
  for (const syntax::Expectation& expectation : expect.expectations) reader.Read(expectation);
  return std::move(reader).Take();
}

}  // namespace cleave::frontend
