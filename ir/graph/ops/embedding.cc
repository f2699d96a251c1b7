// Rows of a table. A token without a row in the table gives zeros; the data loader reports it. So a rank that holds
// some of the rows gives these, and the sum over all ranks is the result.

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/indexing.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
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

OpId BatchEmbedding(Lift& lift) {
  if (!lift.mapped(1)) return lift.Main(lift.Inputs());
  Attributes attributes = {{attribute::kAxis, 1}};
  if (lift.mapped(0)) attributes.Set(attribute::kBatch, 1);
  return lift.Instead(OpKind::kGather, {lift.value(1), lift.value(0)}, std::move(attributes));
}

std::vector<KernelCall> EmbeddingCalls(const CallSite& site) {
  return GatherCall(site, {.x = 1, .axis = 0, .indices = 0});
}

// The gradient of embedding by its table: row r is the sum of dy over the tokens that are r. A rank computes the rows
// that it holds.

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

Rule EmbeddingGradientRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule;
  const std::vector<FactorList> tokens = AddDimensions(rule, inputs[1].shape, SummedPlaces(attributes));
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

Attributes ResizeEmbeddingGradient(const Attributes& attributes, const Rule& resized) {
  Attributes result = attributes;
  result.Set(attribute::kRows, resized.OutputShape()[0]);
  return result;
}

int64_t EmbeddingGradientChoices(Types, const Attributes& attributes, int input) {
  return input == 1 ? attributes.Get(attribute::kRows) : 0;
}

}  // namespace

OpDefinition DefineEmbedding() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .looks_up = 1,
                      .reads_16_bits = {1},
                      .signature = {{.name = "tokens"}, {.name = "table"}},
                      .summary = "for each token its row of the table",
                      .infer = InferEmbedding,
                      .rule = EmbeddingRule,
                      .gradient = EmbeddingGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateEmbedding,
                      .choices = EmbeddingChoices,
                      .batch = BatchEmbedding,
                      .calls = EmbeddingCalls};
}

OpDefinition DefineEmbeddingGradient() {
  return OpDefinition{
      .op_class = OpClass::kMovement,
      .callable = false,
      .signature = {{.name = "dy"}, {.name = "tokens"}, RequiredAttribute(attribute::kRows), ByRowsArgument()},
      .summary = "for each row of the table the sum of dy over its tokens",
      .infer = InferEmbeddingGradient,
      .rule = EmbeddingGradientRule,
      .flops = EmbeddingGradientFlops,
      .evaluate = EvaluateEmbeddingGradient,
      .resize = ResizeEmbeddingGradient,
      .choices = EmbeddingGradientChoices,
      .calls = [](const CallSite& site) { return ScatterAddCall(site, 0); }};
}

}  // namespace cleave::ir
