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

std::optional<OpError> CheckWord(const Attributes& attributes, Attribute<std::string> key,
                                 const std::vector<std::string>& words) {
  const std::string& word = attributes.Get(key);
  if (std::find(words.begin(), words.end(), word) != words.end()) return std::nullopt;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`", key.name, "` is `", word, "`"),
                 .help = {absl::StrCat("use ", QuotedList(words, "or"))}};
}

InferResult InferSource(Types, const Attributes& attributes) {
  TensorType type;
  if (attributes.Has(attribute::kDType)) {
    type.dtype = attributes.Get(attribute::kDType);
    if (type.dtype == DType::kBf16) {
      return OpError{.code = Code::kE0409, .message = "`dtype` is `bf16`", .help = {"use `f32` or `i32`"}};
    }
  }
  type.shape = attributes.Get(attribute::kShape);
  if (auto error = CheckSizes(type.shape, "shape")) return *error;
  return type;
}

OpDefinition SourceOp(bool has_dtype, std::string summary) {
  OpDefinition definition{.op_class = OpClass::kSource,
                          .callable = false,
                          .signature = {RequiredAttribute(attribute::kShape)},
                          .summary = std::move(summary),
                          .infer = InferSource,
                          .rule = SourceRule,
                          .flops = FlopsPerElement<0>,
                          .resize = ResizeShape};
  if (has_dtype) {
    definition.signature.push_back(OptionalAttribute(attribute::kDType, DType::kF32));
  }
  return definition;
}

}  // namespace cleave
