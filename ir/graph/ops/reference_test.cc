// The tables of ops in OPS.md and docs/language.md are written from the definitions: `bazel run //:bless`.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/match/match.h"
#include "base/text/text.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/samples.h"
#include "ir/testing/page.h"

namespace cleave::ir {
namespace {

std::string NumbersText(const std::vector<std::string>& numbers) {
  return absl::StrCat("(", absl::StrJoin(numbers, ", "), ")");
}

std::string DefaultText(const AttributeValue& value) {
  return Match(
      value, [](bool truth) -> std::string { return truth ? "true" : "false"; },
      [](int64_t number) { return absl::StrCat(number); }, [](double number) { return FormatDouble(number); },
      [](const std::string& text) { return absl::StrCat("\"", text, "\""); },
      [](const std::vector<int64_t>& numbers) {
        std::vector<std::string> texts;
        for (const int64_t number : numbers) texts.push_back(absl::StrCat(number));
        return NumbersText(texts);
      },
      [](const std::vector<double>& numbers) {
        std::vector<std::string> texts;
        for (const double number : numbers) texts.push_back(FormatDouble(number));
        return NumbersText(texts);
      });
}

// "conv2d(x, filter, stride = (1, 1), …)". With `for_models`, arguments that the compiler sets are left out.
std::string SignatureText(const OpDefinition& op, bool for_models) {
  std::vector<std::string> arguments;
  for (const Argument& argument : op.signature) {
    const bool is_optional = argument.kind == ArgumentKind::kOptionalTensor;
    const bool of_compiler = argument.internal;
    if (for_models && of_compiler) continue;
    std::string text = argument.name;
    if (argument.kind == ArgumentKind::kTensorList) text = absl::StrCat("(", text, ", …)");
    if (argument.kind == ArgumentKind::kTensors) text = absl::StrCat(text, ", …");
    if (argument.default_value) absl::StrAppend(&text, " = ", DefaultText(*argument.default_value));
    if (of_compiler || is_optional) absl::StrAppend(&text, "?");
    arguments.push_back(std::move(text));
  }
  return absl::StrCat("`", OpKindName(op.kind), "(", absl::StrJoin(arguments, ", "), ")`");
}

std::string ClassText(OpClass op_class) {
  switch (op_class) {
    case OpClass::kSource:
      return "source";
    case OpClass::kProduct:
      return "product";
    case OpClass::kElementwise:
      return "elementwise";
    case OpClass::kReduction:
      return "reduction";
    case OpClass::kMovement:
      return "movement";
  }
  return "";
}

std::string TreatmentText(Treatment treatment) {
  switch (treatment) {
    case Treatment::kFloat:
      return "f32";
    case Treatment::kFollow:
      return "follows";
    case Treatment::kProduct:
      return "product";
    case Treatment::kGradient:
      return "gradient";
    case Treatment::kRounded:
      return "rounded product";
  }
  return "";
}

// That of an op with its attributes, where it depends on them.
std::string TreatmentText(const OpDefinition& op) {
  const std::string text = TreatmentText(op.treatment);
  return op.treatment_by_attributes == nullptr ? text : absl::StrCat(text, ", or product");
}

std::string BatchText(const OpDefinition& op) { return op.batch == nullptr ? "" : "batched"; }

std::string ComputedText(const OpDefinition& op) {
  if (op.calls != nullptr) return "calls";
  if (op.is_alias) return "alias";
  if (op.rank_use == RankUse::kOthers) return "collective";
  if (op.op_class == OpClass::kProduct) return "attention";
  return op.op_class == OpClass::kSource ? "" : "loop";
}

std::string RuleText(const OpDefinition& op) {
  Random random(1);
  const std::vector<Sample> samples = SamplesOf(op.kind, random);
  return samples.empty() ? "" : absl::StrCat("`", samples.front().rule.ToString(), "`");
}

constexpr const char* kOpsHead =
    "# The ops\n"
    "\n"
    "Written from the definitions by `bazel run //:bless`. An argument with a question mark is set by the compiler "
    "only. "
    "The rule is that of one sample;\n"
    "a factor's kind is in its definition. In bf16: what becomes of the op where a model is trained in bf16 "
    "(`Treatment`). vmap: whether many elements are computed\n"
    "at once. Computed: by calls of the runtime, in a loop with its neighbours, by a collective, as a part of "
    "attention (ir/program/fuse), or not at all where it is an alias.\n"
    "\n"
    "| op | class | rule | in bf16 | vmap | computed | |\n"
    "|---|---|---|---|---|---|---|\n";

std::string OpsPage() {
  std::string page = kOpsHead;
  for (const OpDefinition* op : AllOps()) {
    absl::StrAppend(&page, "| ", SignatureText(*op, false), " | ", ClassText(op->op_class), " | ", RuleText(*op), " | ",
                    TreatmentText(*op), " | ", BatchText(*op), " | ", ComputedText(*op), " | ", op->summary, " |\n");
  }
  return page;
}

// The ops that a model can call.
std::string LanguageTable() {
  std::string table = "| | |\n|---|---|\n";
  for (const OpDefinition* op : AllOps()) {
    if (!op->callable || op->op_class == OpClass::kSource) continue;
    absl::StrAppend(&table, "| ", SignatureText(*op, true), " | ", op->summary, " |\n");
  }
  return table;
}

TEST(OpsReference, IsWrittenFromTheDefinitions) { CheckPage("ir/graph/ops/OPS.md", OpsPage()); }

TEST(OpsReference, AndSoIsTheTableOfTheLanguage) {
  CheckPartOfPage("docs/language.md", "<!-- ops, written by bazel run //:bless -->\n", "<!-- end of ops -->\n",
                  LanguageTable());
}

}  // namespace
}  // namespace cleave::ir
