#include "frontend/custom_ops/definition.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"
#include "frontend/custom_ops/body.h"

namespace cleave::frontend {
namespace {

const std::vector<std::string>& SettingNames() {
  static const auto* const names = new std::vector<std::string>{"rule", "whole", "linear", "cpu", "cuda"};
  return *names;
}

bool IsTensorType(const dsl::syntax::Type& type) {
  return type.dimensions.has_value() && (type.element.text == "f32" || type.element.text == "i32");
}

bool IsNumberType(const dsl::syntax::Type& type) {
  const std::string& element = type.element.text;
  return !type.dimensions.has_value() && (element == "int" || element == "float" || element == "bool");
}

// "..n k": the names of a type's dimensions where they are names, for help that can be pasted.
std::string TermFor(const dsl::syntax::Type& type) {
  std::string text;
  for (size_t d = 0; d < type.dimensions->size(); ++d) {
    const dsl::syntax::Dimension& dimension = (*type.dimensions)[d];
    absl::StrAppend(&text, d > 0 ? " " : "");
    if (const auto* rest = std::get_if<dsl::syntax::Identifier>(&dimension.kind)) {
      absl::StrAppend(&text, "..", rest->text);
      continue;
    }
    const auto* name = std::get_if<dsl::syntax::Name>(&std::get<dsl::syntax::Expression>(dimension.kind).kind);
    absl::StrAppend(&text, name ? name->text : absl::StrCat("d", d));
  }
  return text.empty() ? "()" : text;
}

}  // namespace

void Definition::Read() {
  op_.head = dsl::syntax::Function{.name = op_.syntax->name,
                                   .parameters = op_.syntax->parameters,
                                   .results = {},
                                   .body = {},
                                   .body_begin = op_.syntax->body_begin,
                                   .body_end = op_.syntax->body_begin};
  if (op_.syntax->result) op_.head.results = {*op_.syntax->result};
  op_.function = Function{.syntax = &op_.head};
  CheckSignature();
  const auto settings = CollectSettings();
  if (!op_.broken && settings.count("rule") > 0) ReadRule(*settings.at("rule"));
  if (settings.count("whole") > 0) ReadWhole(*settings.at("whole"));
  if (settings.count("linear") > 0) ReadLinear(*settings.at("linear"));
  ReadBody(settings);
  op_.function.broken = op_.broken;
}

void Definition::Report(Diagnostic diagnostic) {
  op_.broken = true;
  reporter_.Report(std::move(diagnostic));
}

void Definition::CheckSignature() {
  std::map<std::string, Span> seen;
  bool has_tensor = false;
  for (const dsl::syntax::Parameter& parameter : op_.syntax->parameters) {
    const auto [first, is_new] = seen.try_emplace(parameter.name.text, parameter.name.span);
    if (!is_new) {
      Report(Error(Code::kE0202, absl::StrCat("`", parameter.name.text, "` is defined twice"))
                 .At(parameter.name.span, "defined again here")
                 .At(first->second, "first defined here"));
    }
    has_tensor |= IsTensorType(parameter.type);
    if (IsTensorType(parameter.type) || IsNumberType(parameter.type)) continue;
    Report(Error(Code::kE0204, "an argument of an op is `f32[…]`, `i32[…]`, `int`, `float` or `bool`")
               .At(parameter.type.span, absl::StrCat("`", parameter.name.text, "` is ", TypeText(parameter.type))));
  }
  if (!has_tensor && !op_.broken) {
    Report(Error(Code::kE0204, absl::StrCat("op `", op_.name(), "` takes no tensor"))
               .At(op_.syntax->name.span, "an op without tensors is no work for the ranks"));
  }
  if (!op_.syntax->result) {
    Report(Error(Code::kE0204, absl::StrCat("op `", op_.name(), "` has no result"))
               .At(op_.syntax->name.span, "its signature has no `->`")
               .Help("declare it: `-> f32[n, k]`"));
  } else if (!IsTensorType(*op_.syntax->result)) {
    Report(Error(Code::kE0204, "the result of an op is a tensor, `f32[…]` or `i32[…]`")
               .At(op_.syntax->result->span, absl::StrCat("this is ", TypeText(*op_.syntax->result))));
  }
}

std::map<std::string, const dsl::syntax::Setting*> Definition::CollectSettings() {
  std::map<std::string, const dsl::syntax::Setting*> settings;
  for (const dsl::syntax::Setting& setting : op_.syntax->settings) {
    const std::string& name = setting.name.text;
    if (std::find(SettingNames().begin(), SettingNames().end(), name) == SettingNames().end()) {
      Diagnostic error = Error(Code::kE0507, absl::StrCat("an op has no setting `", name, "`"))
                             .At(setting.name.span, absl::StrCat("expected ", QuotedList(SettingNames(), "or")));
      if (auto nearest = NearestName(name, SettingNames())) {
        error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
      }
      Report(std::move(error));
      continue;
    }
    const auto [first, is_new] = settings.try_emplace(name, &setting);
    if (is_new) continue;
    Report(Error(Code::kE0202, absl::StrCat("`", name, "` is set twice"))
               .At(setting.name.span, "set again here")
               .At(first->second->name.span, "first set here"));
  }
  return settings;
}

std::optional<std::string> Definition::TextOf(const dsl::syntax::Setting& setting) {
  if (const auto* text = std::get_if<dsl::syntax::StringLiteral>(&setting.value.kind)) return text->value;
  Report(Error(Code::kE0508, absl::StrCat("`", setting.name.text, "` is a text"))
             .At(setting.value.span, "expected a string in quotes"));
  return std::nullopt;
}

void Definition::ReadRule(const dsl::syntax::Setting& setting) {
  const std::optional<std::string> text = TextOf(setting);
  if (!text) return;
  const Span place = setting.value.span;
  absl::StatusOr<ir::Formula> formula = ir::ParseFormula(*text);
  if (!formula.ok()) {
    return Report(Error(Code::kE0520, std::string(formula.status().message()))
                      .At(place, "expected a term per tensor, then `->` and the result: `n k, k -> n k`"));
  }
  std::vector<const dsl::syntax::Parameter*> tensors;
  for (const dsl::syntax::Parameter& parameter : op_.syntax->parameters) {
    if (IsTensor(parameter)) tensors.push_back(&parameter);
  }
  if (formula->inputs.size() != tensors.size()) {
    return Report(
        Error(Code::kE0520, absl::StrCat("a rule with ", Plural(static_cast<int64_t>(formula->inputs.size()), "term"),
                                         " before `->` for ", Plural(static_cast<int64_t>(tensors.size()), "tensor")))
            .At(place, "one term per tensor of the signature")
            .At(op_.syntax->name.span, "defined here"));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string what = absl::StrCat("`", tensors[i]->name.text, "`");
    if (!TermFits(formula->inputs[i], tensors[i]->type, what, place)) return;
  }
  if (!TermFits(formula->output, *op_.syntax->result, "the result", place)) return;
  op_.rule = *std::move(formula);
}

bool Definition::TermFits(const ir::Formula::Term& term, const dsl::syntax::Type& type, const std::string& what,
                          Span rule) {
  const std::vector<dsl::syntax::Dimension>& dimensions = *type.dimensions;
  std::set<std::string> names;
  const auto mismatch = [&](std::string message) {
    Report(Error(Code::kE0520, std::move(message))
               .At(rule, "in this rule")
               .At(type.span, absl::StrCat(what, " is ", TypeText(type)))
               .Help(absl::StrCat("its term may be `", TermFor(type), "`")));
    return false;
  };
  if (term.size() != dimensions.size()) {
    return mismatch(absl::StrCat("the rule names ", Plural(static_cast<int64_t>(term.size()), "dimension"), " of ",
                                 what, ", the signature ", dimensions.size()));
  }
  for (size_t d = 0; d < term.size(); ++d) {
    const auto* rest = std::get_if<dsl::syntax::Identifier>(&dimensions[d].kind);
    const bool named_rest = term[d].size() == 1 && term[d][0][0] == '.';
    if (named_rest != (rest != nullptr) || (rest != nullptr && term[d][0] != absl::StrCat("..", rest->text))) {
      return mismatch(absl::StrCat("dimension ", d, " of ", what, " is `", rest ? ".." : "", rest ? rest->text : "one",
                                   "`, but not in the rule"));
    }
    for (const std::string& name : term[d]) {
      if (names.insert(name).second) continue;
      return mismatch(absl::StrCat("`", name, "` is given twice in the term of ", what));
    }
  }
  return true;
}

std::optional<std::vector<std::string>> Definition::NamesIn(const dsl::syntax::Expression& expression,
                                                            const std::string& example) {
  std::vector<std::string> names;
  const auto* tuple = std::get_if<dsl::syntax::Tuple>(&expression.kind);
  bool ok = tuple != nullptr;
  for (size_t i = 0; ok && i < tuple->elements.size(); ++i) {
    const auto* name = std::get_if<dsl::syntax::Name>(&tuple->elements[i].value->kind);
    ok = name != nullptr && !tuple->elements[i].name;
    if (ok) names.push_back(name->text);
  }
  if (ok) return names;
  Report(
      Error(Code::kE0508, "expected names in parentheses").At(expression.span, absl::StrCat("write `", example, "`")));
  return std::nullopt;
}

void Definition::ReadWhole(const dsl::syntax::Setting& setting) {
  const auto names = NamesIn(setting.value, "whole = (k);");
  if (!names || op_.broken) return;
  const std::vector<std::string> known = op_.rule ? ir::NamesOf(*op_.rule) : std::vector<std::string>();
  for (const std::string& name : *names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Report(Error(Code::kE0520, absl::StrCat("`whole` names `", name, "`, which is not in the rule"))
                      .At(setting.value.span, op_.rule ? absl::StrCat("the rule is `", op_.rule->ToString(), "`")
                                                       : "without a rule everything is whole"));
  }
  op_.whole = *names;
}

// `(x, y)`: linear in x and in y; `((x, y), z)`: linear in x and y together, and in z.
void Definition::ReadLinear(const dsl::syntax::Setting& setting) {
  const auto* tuple = std::get_if<dsl::syntax::Tuple>(&setting.value.kind);
  std::set<std::string> seen;
  std::vector<dsl::syntax::Expression> lone;  // A single name is a group of one tensor.
  const auto wrong = [&](std::string message, Span place, std::string label) {
    Report(Error(Code::kE0520, std::move(message)).At(place, std::move(label)));
  };
  if (tuple == nullptr) return wrong("`linear` is a list of tensors", setting.value.span, "write `linear = (x);`");
  for (const dsl::syntax::Argument& element : tuple->elements) {
    std::optional<std::vector<std::string>> group;
    if (const auto* name = std::get_if<dsl::syntax::Name>(&element.value->kind)) {
      group = std::vector<std::string>{name->text};
    } else {
      group = NamesIn(*element.value, "linear = ((x, y), z);");
    }
    if (!group) return;
    for (const std::string& name : *group) {
      const bool is_tensor = std::any_of(
          op_.syntax->parameters.begin(), op_.syntax->parameters.end(),
          [&](const dsl::syntax::Parameter& parameter) { return IsTensor(parameter) && parameter.name.text == name; });
      if (!is_tensor) return wrong(absl::StrCat("`linear` names `", name, "`"), element.span, "no tensor of the op");
      if (!seen.insert(name).second) {
        return wrong(absl::StrCat("`linear` names `", name, "` twice"), element.span, "each tensor is in one group");
      }
    }
    if (group->empty()) return wrong("an empty group in `linear`", element.span, "no tensor here");
    op_.linear.push_back(*std::move(group));
  }
}

void Definition::ReadBody(const std::map<std::string, const dsl::syntax::Setting*>& settings) {
  const std::string other_target = target_ == "cpu" ? "cuda" : "cpu";
  const auto other = settings.find(other_target);
  if (other != settings.end()) TextOf(*other->second);
  const auto ours = settings.find(target_);
  if (ours == settings.end()) {
    Diagnostic error = Error(Code::kE0521, absl::StrCat("op `", op_.name(), "` has no body for the target ", target_))
                           .At(op_.syntax->name.span, absl::StrCat("no `", target_, "` here"));
    if (other != settings.end()) error.labels.push_back({other->second->span, "for another target"});
    if (!op_.broken) {
      error.help.push_back(absl::StrCat("add `", target_, " = \"", op_.name(), target_ == "cpu" ? ".h" : ".cuh",
                                        "\";`, a file with `", ForwardDeclaration(op_), "`"));
    }
    return Report(std::move(error));
  }
  op_.body_place = ours->second->value.span;
  const std::optional<std::string> path = TextOf(*ours->second);
  if (!path) return;
  op_.body = LoadBody(folder_, *path, op_.body_place, "the C++ body of the op", files_, reporter_);
  op_.broken |= op_.body == nullptr;
  if (op_.broken || DefinesFunction(op_.body->text, op_.name())) return;
  Report(Error(Code::kE0521, absl::StrCat("`", *path, "` has no function `", op_.name(), "`"))
             .At(op_.body_place, "the C++ body of the op")
             .Help(absl::StrCat("define `", ForwardDeclaration(op_), "` there")));
}

}  // namespace cleave::frontend
