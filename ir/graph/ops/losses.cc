#include "ir/graph/ops/losses.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"

namespace cleave::ir {

std::optional<OpError> CheckClassification(Types inputs) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "logits")) return error;
  if (auto error = CheckRank(inputs, 0, 2)) return error;
  const Shape& logits = inputs[0].shape;
  const TensorType& label = inputs[1];
  const Shape expected(logits.begin(), logits.end() - 1);
  if (label.dtype != DType::kI32) {
    return OpError{.code = Code::kE0407,
                   .message = absl::StrCat("labels are ", DTypeName(label.dtype), ", classes are numbered by i32"),
                   .about = {{1, absl::StrCat("holds ", DTypeName(label.dtype))}},
                   .help = {"cast(label, i32)"}};
  }
  if (label.shape == expected) return std::nullopt;
  OpError error{.code = Code::kE0407,
                .message = absl::StrCat("logits ", ShapeText(logits), " need labels ", ShapeText(expected), ", found ",
                                        ShapeText(label.shape)),
                .about = {{1, absl::StrCat("is ", ShapeText(label.shape))},
                          {0, absl::StrCat("has ", logits.back(), " in its last dimension, the classes")}}};
  if (CountUpToLimit(label.shape) == CountUpToLimit(expected)) {
    error.help.push_back(absl::StrCat("reshape(label, ", ShapeTupleText(expected), ")"));
  }
  return error;
}

InferResult InferClassification(Types inputs, const Attributes&) {
  if (auto error = CheckClassification(inputs)) return *error;
  if (auto error = CheckMask(inputs, 2)) return *error;
  return TensorType{DType::kF32, {}};
}

int64_t LabelChoices(Types inputs, const Attributes&, int input) { return input == 1 ? inputs[0].shape.back() : 0; }

Rule ClassificationRule(Types inputs, const TensorType&, const Attributes&) {
  RowsRule rule{
      .inputs = {RowPart::kAll, RowPart::kLeading}, .output = RowPart::kNone, .leading = FactorKind::kReduced};
  if (inputs.size() > 2) rule.inputs.push_back(RowPart::kFirst);
  return rule.For(inputs[0].shape);
}

std::optional<OpError> CheckRegression(Types inputs, const std::string& first) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, first)) return error;
  // Reports both mistakes at once: i32[256] against f32[256, 1] needs the cast and the reshape.
  std::optional<OpError> shapes = CheckSameShape(inputs, 0, 1, "target");
  std::optional<OpError> dtype = CheckDType(inputs, 1, DType::kF32, "target");
  if (!shapes.has_value()) return dtype;
  if (dtype.has_value() && !shapes->help.empty()) {
    shapes->help = {absl::StrCat("reshape(cast(target, f32), ", ShapeTupleText(inputs[0].shape), ")")};
  }
  return shapes;
}

InferResult InferRegression(Types inputs, const Attributes&) {
  if (auto error = CheckRegression(inputs)) return *error;
  if (auto error = CheckMask(inputs, 2)) return *error;
  return TensorType{DType::kF32, {}};
}

Rule RegressionRule(Types inputs, const TensorType&, const Attributes&) {
  Rule rule;
  const std::vector<FactorList> dimensions = AddDimensions(rule, inputs[0].shape, FactorKind::kReduced);
  rule.inputs = {dimensions, dimensions};
  if (inputs.size() > 2) rule.inputs.push_back({dimensions[0]});
  return rule;
}

namespace {

InferResult InferRegressionGradient(Types inputs, const Attributes&) {
  if (auto error = CheckRegression(inputs)) return *error;
  if (auto error = CheckSameShape({inputs[2], TensorType{}}, 0, 1, "dloss")) return *error;
  return inputs[0];
}

// In practice only dloss is a partial sum, so the rule is linear in dloss only.
Rule RegressionGradientRule(Types inputs, const TensorType& output, const Attributes&) {
  return BroadcastRule(inputs, output, {{2}});
}

}  // namespace

OpDefinition RegressionGradientOp(ScalarFunction function, std::string summary) {
  OpDefinition definition = ElementwiseOp(
      std::move(function), {{.name = "prediction"}, {.name = "target"}, {.name = "dloss"}}, std::move(summary),
      [](const Attributes&, int64_t elements) { return std::vector<double>{static_cast<double>(elements)}; });
  definition.callable = false;
  definition.infer = InferRegressionGradient;
  definition.rule = RegressionGradientRule;
  definition.gradient = nullptr;
  return definition;
}

OpId LossParts::Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes) const {
  return builder_.Add(kind, std::move(inputs), std::move(attributes), absl::StrCat(prefix_, ".", OpKindName(kind)));
}

OpId LossParts::Constant(double value) const {
  return Add(OpKind::kConstant, {},
             {{attribute::kDType, DType::kF32}, {attribute::kShape, Shape{}}, {attribute::kValue, value}});
}

OpId BatchLoss(Lift& lift, LossTerms terms) {
  const LossParts parts(lift.builder(), lift.op(), {lift.value(0), lift.value(1)}, lift.op().name);
  OpId all = terms(parts);
  const int rank = static_cast<int>(lift.shape(all).size()) - (lift.mapped(0) || lift.mapped(1) ? 1 : 0);
  if (lift.input_count() > 2) {
    // One number for each sample: the first of the `rank` dimensions.
    Shape shape = lift.shape(lift.value(2));
    shape.resize(shape.size() + static_cast<size_t>(rank) - 1, 1);
    all = lift.Step(OpKind::kMul, {all, lift.Reshape(lift.value(2), shape)});
  }
  return lift.ElementMean(all, rank);
}

void AddMaskGradient(GraphBuilder& builder, const Op& op, OpId dy, LossTerms terms, Gradients& gradients) {
  if (op.inputs.size() < 3) return;
  const LossParts parts(builder, op, {op.inputs[0], op.inputs[1]}, GradientName(op, kSampleWeight));
  OpId sums = terms(parts);
  const size_t rank = parts.shape(sums).size();
  double count = 1;
  for (const int64_t size : parts.shape(sums)) count *= static_cast<double>(size);
  if (rank > 1) {
    std::vector<int64_t> axes(rank - 1);
    std::iota(axes.begin(), axes.end(), 1);
    sums = parts.Add(OpKind::kReduceSum, {sums}, {{attribute::kAxes, axes}});
  }
  const OpId share = parts.Add(OpKind::kScale, {dy}, {{attribute::kFactor, 1 / count}});
  gradients.push_back(builder.Add(OpKind::kMul, {sums, share}, {}, GradientName(op, kSampleWeight)));
}

Gradients RegressionGradients(GraphBuilder& builder, const Op& op, OpId dy, OpKind kind, LossTerms terms) {
  const std::string name = GradientName(op, "prediction");
  const OpId plain = builder.Add(kind, {op.inputs[0], op.inputs[1], dy}, {}, name);
  const OpId by_prediction = ApplyMask(builder, op, plain, name);
  const OpId by_target = builder.Add(OpKind::kNeg, {by_prediction}, {}, GradientName(op, "target"));
  Gradients gradients = {by_prediction, by_target};
  AddMaskGradient(builder, op, dy, terms, gradients);
  return gradients;
}

OpId ShareOfMean(GraphBuilder& builder, const Op& op, OpId dy, const std::string& name) {
  const double count = static_cast<double>(builder.type(op.inputs[0]).elements());
  return builder.Add(OpKind::kScale, {dy}, {{attribute::kFactor, 1 / count}}, name);
}

OpId ApplyMask(GraphBuilder& builder, const Op& op, OpId gradient, const std::string& name) {
  if (op.inputs.size() < 3) return gradient;
  Shape shape(builder.type(gradient).shape.size(), 1);
  shape[0] = builder.type(gradient).shape[0];
  const OpId mask = builder.Add(OpKind::kReshape, {op.inputs[2]}, {{attribute::kShape, shape}}, name);
  return builder.Add(OpKind::kMul, {gradient, mask}, {}, name);
}

double GlobalCount(const Evaluation& evaluation, size_t factors) {
  double count = 1;
  for (size_t i = 0; i < factors; ++i) count *= static_cast<double>(evaluation.ranges[i].global);
  return count;
}

double MaskAt(const Evaluation& evaluation, const Shape& shape, int64_t element, size_t mask) {
  if (evaluation.inputs.size() <= mask) return 1;
  const int64_t per_sample = ElementCount(shape) / shape[0];
  return evaluation.inputs[mask]->values[static_cast<size_t>(element / per_sample)];
}

std::vector<Argument> LossSignature(std::string first, std::string second) {
  return {
      {.name = std::move(first)},
      {.name = std::move(second)},
      {.name = kSampleWeight,
       .kind = ArgumentKind::kOptionalTensor,
       .by_name = "`sample_weight = w`, f32[batch], multiplies what each sample adds to the sum, which is divided by "
                  "the number of all samples; divided by `reduce_mean(w)` it is the mean over those that are kept",
       .former_name = "mask"}};
}

CallArgument MaskArgument(const CallSite& site, int input) {
  if (static_cast<int>(site.inputs.size()) <= input) return BracedList{};
  return BracedList{{{Pointer{input}}, {site.Elements(1, 1, site.type(1).rank())}}};
}

std::vector<KernelCall> LossCall(const CallSite& site, std::string function, std::vector<CallArgument> sizes) {
  std::vector<CallArgument> arguments = {Pointer{0}, Pointer{1}};
  arguments.insert(arguments.end(), sizes.begin(), sizes.end());
  arguments.insert(arguments.end(), {site.type(1).elements(), MaskArgument(site, 2), Pointer{kResult}});
  return {{std::move(function), std::move(arguments)}};
}

}  // namespace cleave::ir
