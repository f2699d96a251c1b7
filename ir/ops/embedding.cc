// Rows of a table. A token that is no row of the table gives zeros; the data loader reports it. So a rank that holds
// some of the rows gives these, and the sum over all ranks is the whole.

#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/indexing.h"

namespace cleave {
namespace {

InferResult InferEmbedding(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kI32, "tokens")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kF32, "table")) return *error;
  const Shape& table = inputs[1].shape;
  if (table.size() != 2) {
    return OpError{.code = Code::kE0408,
                   .message = absl::StrCat("a table has 2 dimensions, rows and width, found ", table.size()),
                   .about = {{1, absl::StrCat("is ", ShapeText(table))}}};
  }
  TensorType output{DType::kF32, inputs[0].shape};
  output.shape.push_back(table[1]);
  return output;
}

Rule EmbeddingRule(Types inputs, const TensorType&, const Attributes&) {
  Rule rule;
  rule.output = AddDimensions(rule, inputs[0].shape);
  const int row = AddFactor(rule, "v", inputs[1].shape[0], FactorKind::kReduced);
  const int width = AddFactor(rule, "e", inputs[1].shape[1]);
  rule.inputs = {rule.output, {{row}, {width}}};
  rule.output.push_back({width});
  rule.linear = {{1}};
  return rule;
}

Gradients EmbeddingGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const int64_t rows = builder.type(op.inputs[1]).shape[0];
  return {std::nullopt, builder.Add(OpKind::kEmbeddingGradient, {dy, op.inputs[0]}, {{attribute::kRows, rows}},
                                    GradientName(op, "table"))};
}

void EvaluateEmbedding(const Evaluation& evaluation) {
  const Tensor& tokens = *evaluation.inputs[0];
  const Tensor& table = *evaluation.inputs[1];
  GatherRows(table, tokens,
             {.count = ElementCount(tokens.shape),
              .rows = table.shape[0],
              .inner = table.shape[1],
              .first_row = evaluation.ranges[tokens.shape.size()].begin},
             evaluation.output);
}

int64_t EmbeddingChoices(Types inputs, const Attributes&, int input) { return input == 0 ? inputs[1].shape[0] : 0; }

}  // namespace

OpDefinition DefineEmbedding() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .signature = {{.name = "tokens"}, {.name = "table"}},
                      .summary = "for each token its row of the table",
                      .infer = InferEmbedding,
                      .rule = EmbeddingRule,
                      .gradient = EmbeddingGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateEmbedding,
                      .choices = EmbeddingChoices};
}

}  // namespace cleave
