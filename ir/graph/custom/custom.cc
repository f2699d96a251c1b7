#include "ir/graph/custom/custom.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status/status_macros.h"
#include "base/text/text.h"

namespace cleave::ir {
namespace {

std::string ArgumentText(const CustomArgument& argument) {
  if (!argument.value.has_value()) return argument.name;
  std::string value;
  if (const bool* truth = std::get_if<bool>(&*argument.value)) value = *truth ? "true" : "false";
  if (const int64_t* number = std::get_if<int64_t>(&*argument.value)) value = absl::StrCat(*number);
  if (const double* number = std::get_if<double>(&*argument.value)) value = FormatDouble(*number);
  return absl::StrCat(argument.name, " = ", value);
}

absl::StatusOr<CustomArgument> ParseArgument(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, " = ");
  CustomArgument argument{.name = parts[0]};
  if (parts.size() == 1 && !argument.name.empty()) return argument;
  int64_t whole = 0;
  double real = 0;
  if (parts.size() == 2 && (parts[1] == "true" || parts[1] == "false")) {
    argument.value = parts[1] == "true";
  } else if (parts.size() == 2 && absl::SimpleAtoi(parts[1], &whole)) {
    argument.value = whole;
  } else if (parts.size() == 2 && absl::SimpleAtod(parts[1], &real)) {
    argument.value = real;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("`", text, "` is no argument of an op: `x` or `cap = 30.0`"));
  }
  return argument;
}

std::vector<std::string> Words(absl::string_view text) { return absl::StrSplit(text, ' ', absl::SkipEmpty()); }

absl::StatusOr<std::string> TextOf(const Attributes& attributes, Attribute<std::string> key) {
  if (attributes.Has(key)) return attributes.Get(key);
  return absl::InvalidArgumentError(absl::StrCat("an op of the model needs the text `", key.name, "`"));
}

}  // namespace

std::vector<std::string> CustomForm::Tensors() const {
  std::vector<std::string> tensors;
  for (const CustomArgument& argument : arguments) {
    if (!argument.value.has_value()) tensors.push_back(argument.name);
  }
  return tensors;
}

std::vector<std::vector<int>> CustomForm::LinearInputs() const {
  const std::vector<std::string> tensors = Tensors();
  std::vector<std::vector<int>> groups;
  for (const std::vector<std::string>& group : linear) {
    groups.emplace_back();
    for (const std::string& name : group) {
      groups.back().push_back(static_cast<int>(std::find(tensors.begin(), tensors.end(), name) - tensors.begin()));
    }
  }
  return groups;
}

void CustomForm::Write(Attributes& attributes) const {
  const auto append_argument = [](std::string* out, const CustomArgument& argument) {
    absl::StrAppend(out, ArgumentText(argument));
  };
  const auto append_group = [](std::string* out, const std::vector<std::string>& group) {
    absl::StrAppend(out, absl::StrJoin(group, " "));
  };
  attributes.Set(attribute::kOp, name);
  attributes.Set(attribute::kArguments, absl::StrJoin(arguments, ", ", append_argument));
  attributes.Set(attribute::kRule, rule);
  attributes.Set(attribute::kWhole, absl::StrJoin(whole, " "));
  attributes.Set(attribute::kLinear, absl::StrJoin(linear, ", ", append_group));
  attributes.Set(attribute::kBody, body);
}

absl::StatusOr<CustomForm> CustomForm::Read(const Attributes& attributes) {
  CustomForm form;
  CLEAVE_ASSIGN_OR_RETURN(form.name, TextOf(attributes, attribute::kOp));
  CLEAVE_ASSIGN_OR_RETURN(form.rule, TextOf(attributes, attribute::kRule));
  CLEAVE_ASSIGN_OR_RETURN(form.body, TextOf(attributes, attribute::kBody));
  CLEAVE_ASSIGN_OR_RETURN(const std::string whole, TextOf(attributes, attribute::kWhole));
  CLEAVE_ASSIGN_OR_RETURN(const std::string arguments, TextOf(attributes, attribute::kArguments));
  CLEAVE_ASSIGN_OR_RETURN(const std::string linear, TextOf(attributes, attribute::kLinear));
  form.whole = Words(whole);
  for (const absl::string_view text : absl::StrSplit(arguments, ", ")) {
    CLEAVE_ASSIGN_OR_RETURN(CustomArgument argument, ParseArgument(text));
    form.arguments.push_back(std::move(argument));
  }
  const std::vector<std::string> tensors = form.Tensors();
  for (const absl::string_view group : absl::StrSplit(linear, ", ", absl::SkipEmpty())) {
    form.linear.push_back(Words(group));
    for (const std::string& name : form.linear.back()) {
      if (std::find(tensors.begin(), tensors.end(), name) == tensors.end()) {
        return absl::InvalidArgumentError(absl::StrCat("`linear` names `", name, "`, which is no tensor of the op"));
      }
    }
  }
  return form;
}

std::string BackwardName(const CustomForm& form, absl::Span<const DType> dtypes, size_t input) {
  const auto reals = std::count(dtypes.begin(), dtypes.end(), DType::kF32);
  const std::string name = absl::StrCat(form.name, "_backward");
  return reals == 1 ? name : absl::StrCat(name, "_", form.Tensors()[input]);
}

}  // namespace cleave::ir
