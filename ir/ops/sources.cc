#include "ir/ops/sources.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"

namespace cleave {
namespace {

Rule SourceRule(Types, const TensorType& output, const Attributes&) {
  Rule rule;
  rule.output = AddDimensions(rule, output.shape);
  return rule;
}

}  // namespace

std::optional<OpError> CheckWord(const Attributes& attributes, const std::string& name,
                                 const std::vector<std::string>& words) {
  const std::string& word = attributes.GetString(name);
  if (std::find(words.begin(), words.end(), word) != words.end()) return std::nullopt;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`", name, "` is `", word, "`"),
                 .help = {absl::StrCat("use ", QuotedList(words, "or"))}};
}

InferResult InferSource(Types, const Attributes& attributes) {
  TensorType type;
  if (attributes.Has("dtype")) {
    if (auto error = CheckWord(attributes, "dtype", {"f32", "i32"})) return *error;
    type.dtype = *ParseDType(attributes.GetString("dtype"));
  }
  type.shape = attributes.GetInts("shape");
  if (auto error = CheckSizes(type.shape, "shape")) return *error;
  return type;
}

OpDefinition SourceOp(std::string name, bool has_dtype, std::string summary) {
  OpDefinition definition{.name = std::move(name),
                          .op_class = OpClass::kSource,
                          .callable = false,
                          .signature = {{.name = "shape", .kind = ArgumentKind::kInts}},
                          .summary = std::move(summary),
                          .infer = InferSource,
                          .rule = SourceRule,
                          .flops = FlopsPerElement<0>,
                          .resize = ResizeShape};
  if (has_dtype) {
    definition.signature.push_back(
        {.name = "dtype", .kind = ArgumentKind::kDType, .default_value = std::string("f32")});
  }
  return definition;
}

}  // namespace cleave
