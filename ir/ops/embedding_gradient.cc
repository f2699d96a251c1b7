// The gradient of embedding by its table: row r is the sum of dy over the tokens r. A rank makes the rows that it
// holds.

#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/indexing.h"

namespace cleave {
namespace {

InferResult InferEmbeddingGradient(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "dy")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kI32, "tokens")) return *error;
  if (auto error = CheckRank(inputs, 0, 1)) return *error;
  if (auto error = CheckSizes({attributes.Get(attribute::kRows)}, "rows")) return *error;
  const Shape& dy = inputs[0].shape;
  if (Shape(dy.begin(), dy.end() - 1) != inputs[1].shape) {
    return OpError{.code = Code::kE0411,
                   .message = absl::StrCat("gradient ", ShapeText(dy), " of tokens ", ShapeText(inputs[1].shape))};
  }
  return TensorType{DType::kF32, {attributes.Get(attribute::kRows), dy.back()}};
}

Rule EmbeddingGradientRule(Types inputs, const TensorType& output, const Attributes&) {
  Rule rule;
  const std::vector<FactorList> tokens = AddDimensions(rule, inputs[1].shape, FactorKind::kReduced);
  const int row = AddFactor(rule, "v", output.shape[0]);
  const int width = AddFactor(rule, "e", output.shape[1]);
  std::vector<FactorList> dy = tokens;
  dy.push_back({width});
  rule.inputs = {std::move(dy), tokens};
  rule.output = {{row}, {width}};
  rule.linear = {{0}};
  return rule;
}

Flops EmbeddingGradientFlops(Types inputs, const TensorType&, const Attributes&) {
  return Flops(static_cast<double>(inputs[0].elements()));
}

void EvaluateEmbeddingGradient(const Evaluation& evaluation) {
  const Tensor& tokens = *evaluation.inputs[1];
  const Shape& table = evaluation.output.shape;
  ScatterAddRows(*evaluation.inputs[0], tokens,
                 {.count = ElementCount(tokens.shape),
                  .rows = table[0],
                  .inner = table[1],
                  .first_row = evaluation.ranges[tokens.shape.size()].begin},
                 evaluation.output);
}

Attributes ResizeEmbeddingGradient(const Attributes& attributes, const Rule& rule,
                                   absl::Span<const int64_t> factor_sizes) {
  Attributes resized = attributes;
  resized.Set(attribute::kRows, SizesOf(rule.output, factor_sizes)[0]);
  return resized;
}

int64_t EmbeddingGradientChoices(Types, const Attributes& attributes, int input) {
  return input == 1 ? attributes.Get(attribute::kRows) : 0;
}

}  // namespace

OpDefinition DefineEmbeddingGradient() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .callable = false,
                      .signature = {{.name = "dy"}, {.name = "tokens"}, RequiredAttribute(attribute::kRows)},
                      .summary = "for each row of the table the sum of dy over its tokens",
                      .infer = InferEmbeddingGradient,
                      .rule = EmbeddingGradientRule,
                      .flops = EmbeddingGradientFlops,
                      .evaluate = EvaluateEmbeddingGradient,
                      .resize = ResizeEmbeddingGradient,
                      .choices = EmbeddingGradientChoices};
}

}  // namespace cleave
