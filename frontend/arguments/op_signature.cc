// The signature of an op of the table, in the words of the language.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/match/match.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"

namespace cleave::frontend {
namespace {

// `cleave::Argument` of the op table, not the argument of a call.
using OpArgument = ::cleave::ir::Argument;

absl::string_view KindText(ir::ArgumentKind kind) {
  switch (kind) {
    case ir::ArgumentKind::kTensor:
      return "tensor";
    case ir::ArgumentKind::kOptionalTensor:
      return "optional tensor";
    case ir::ArgumentKind::kTensorList:
      return "(tensor, …)";
    case ir::ArgumentKind::kTensors:
      return "tensor, …";
    case ir::ArgumentKind::kBool:
      return "bool";
    case ir::ArgumentKind::kInt:
      return "int";
    case ir::ArgumentKind::kFloat:
      return "float";
    case ir::ArgumentKind::kInts:
      return "(int, …)";
    case ir::ArgumentKind::kFloats:
      return "(float, …)";
    case ir::ArgumentKind::kDType:
      return "element type";
    case ir::ArgumentKind::kString:
      return "string";
  }
  return "";
}

std::string DefaultText(const ir::AttributeValue& value) {
  return Match(
      value, [](bool truth) -> std::string { return truth ? "true" : "false"; },
      [](int64_t number) { return absl::StrCat(number); }, [](double number) { return FormatDouble(number); },
      [](const std::string& text) { return text; },
      [](const std::vector<int64_t>& numbers) { return absl::StrCat("(", absl::StrJoin(numbers, ", "), ")"); },
      [](const std::vector<double>& numbers) {
        return absl::StrCat(
            "(",
            absl::StrJoin(numbers, ", ",
                          [](std::string* out, double number) { absl::StrAppend(out, FormatDouble(number)); }),
            ")");
      });
}

}  // namespace

Signature SignatureOf(const ir::OpDefinition& op) {
  Signature signature{.callee = op.name()};
  for (const OpArgument& argument : op.signature) {
    if (argument.internal) continue;
    std::string text = absl::StrCat(argument.name, ": ", KindText(argument.kind),
                                    argument.takes_number  ? " or number"
                                    : argument.takes_shape ? " or (int, …)"
                                                           : "");
    if (argument.default_value) absl::StrAppend(&text, " = ", DefaultText(*argument.default_value));
    const bool required = !argument.default_value && argument.kind != ir::ArgumentKind::kOptionalTensor;
    signature.arguments.push_back({argument.name, std::move(text), required, argument.by_name, argument.former_name});
  }
  signature.has_rest = !op.signature.empty() && op.signature.back().kind == ir::ArgumentKind::kTensors;
  return signature;
}

}  // namespace cleave::frontend
