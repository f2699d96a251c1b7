// Layer normalization, Ba, Kiros and Hinton, 2016: gives each row of the last dimension mean 0 and variance 1 (divided
// by the count), then applies scale and shift. Where it is not `centered` the mean stays, and the mean square becomes
// 1: RMS normalization, Zhang and Sennrich, 2019.
//
// A call of either also makes the sum that it normalizes, such as that of a residual connection; one of the gradients
// also adds that of such a sum, and rounds it for the products that read it.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/need.h"
#include "ir/graph/ops/rows.h"

namespace cleave::ir {
namespace {

Norm NormOf(const Attributes& attributes) {
  return {.epsilon = attributes.Get(attribute::kEpsilon), .centered = attributes.Get(attribute::kCentered)};
}

// Mean, or 0 where it stays, and 1 / sqrt(variance + epsilon) of a row.
struct RowMoments {
  double mean = 0;
  double inverse_deviation = 0;
};

RowMoments MomentsOf(const double* row, int64_t length, const Norm& norm) {
  double sum = 0;
  for (int64_t c = 0; norm.centered && c < length; ++c) sum += row[c];
  const double mean = sum / static_cast<double>(length);
  double squares = 0;
  for (int64_t c = 0; c < length; ++c) squares += (row[c] - mean) * (row[c] - mean);
  return {.mean = mean, .inverse_deviation = 1 / std::sqrt(squares / static_cast<double>(length) + norm.epsilon)};
}

InferResult InferLayerNorm(Types inputs, const Attributes& attributes) {
  InferResult result = InferRows(inputs, attributes);
  if (std::holds_alternative<OpError>(result)) return result;
  const Shape features = {inputs[0].shape.back()};
  const char* const names[] = {"x", "scale", "shift"};
  for (int i = 1; i < static_cast<int>(inputs.size()); ++i) {
    if (auto error = CheckDType(inputs, i, DType::kF32, names[i])) return *error;
    const Shape& shape = inputs[static_cast<size_t>(i)].shape;
    if (shape == features) continue;
    return OpError{
        .code = Code::kE0411,
        .message = absl::StrCat("a ", names[i], " of ", ShapeText(shape), " for ", Plural(features[0], "feature")),
        .about = {{i, absl::StrCat("is ", ShapeText(shape), " instead of ", features[0])},
                  {0, absl::StrCat("has ", Plural(features[0], "element"), " in its last dimension")}}};
  }
  if (attributes.Get(attribute::kEpsilon) > 0) return result;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`epsilon` is ", FormatDouble(attributes.Get(attribute::kEpsilon))),
                 .notes = {"it keeps the division by the deviation finite, and must be positive"}};
}

Rule LayerNormRule(Types inputs, const TensorType&, const Attributes&) {
  RowsRule rule{.inputs = {RowPart::kAll, RowPart::kLast}, .linear = {{1}}};
  if (inputs.size() > 2) rule = {.inputs = {RowPart::kAll, RowPart::kLast, RowPart::kLast}, .linear = {{1, 2}}};
  return rule.For(inputs[0].shape);
}

Gradients LayerNormGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  const Norm norm = NormOf(op.attributes);
  const Attributes attributes = {{attribute::kEpsilon, norm.epsilon}, {attribute::kCentered, norm.centered}};
  const OpId dx =
      builder.Add(OpKind::kLayerNormGradientInput, {dy, x, op.inputs[1]}, attributes, GradientName(op, "x"));
  const OpId dscale = builder.Add(OpKind::kLayerNormGradientScale, {dy, x}, attributes, GradientName(op, "scale"));
  if (op.inputs.size() == 2) return {dx, dscale};
  return {dx, dscale, SumToType(builder, dy, builder.type(op.inputs[2]), GradientName(op, "shift"))};
}

OpId DistributeLayerNorm(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const OpId normalized = Normalized(builder, op.inputs[0], NormOf(op.attributes), op.name).values;
  if (op.inputs.size() == 2) return builder.Add(OpKind::kMul, {normalized, op.inputs[1]}, {}, op.name);
  const OpId scaled = builder.Add(OpKind::kMul, {normalized, op.inputs[1]}, {}, absl::StrCat(op.name, ".scaled"));
  return builder.Add(OpKind::kAdd, {scaled, op.inputs[2]}, {}, op.name);
}

void EvaluateLayerNorm(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const Norm norm = NormOf(evaluation.attributes);
  const double* scale = evaluation.inputs[1]->values.data();
  const double* shift = evaluation.inputs.size() > 2 ? evaluation.inputs[2]->values.data() : nullptr;
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* x = evaluation.inputs[0]->values.data() + r * rows.length;
    double* y = evaluation.output.values.data() + r * rows.length;
    const RowMoments moments = MomentsOf(x, rows.length, norm);
    for (int64_t c = 0; c < rows.length; ++c) {
      y[c] = (x[c] - moments.mean) * moments.inverse_deviation * scale[c] + (shift != nullptr ? shift[c] : 0);
    }
  }
}

OpId BatchLayerNorm(Lift& lift) {
  const bool has_shift = lift.input_count() > 2;
  if (!lift.mapped(1) && (!has_shift || !lift.mapped(2))) return lift.Main(lift.Inputs());
  // Normalizes without scale and shift, which are then applied for each element.
  const OpId normal = lift.Main({lift.value(0), lift.Constant(1, {lift.element(0).back()})});
  const OpId scaled = lift.Step(OpKind::kMul, {normal, lift.Aligned(1, lift.rank(0))});
  return has_shift ? lift.Step(OpKind::kAdd, {scaled, lift.Aligned(2, lift.rank(0))}) : scaled;
}

// With n the normalized row, s its inverse deviation and g = dy * scale: dx = s * (g - mean(g) - n * mean(g * n)),
// where mean(g) is left out if the mean of x is.

InferResult InferLayerNormGradientInput(Types inputs, const Attributes& attributes) {
  if (auto error = CheckSameShape(inputs, 0, 1, "x")) return *error;
  return InferRows(inputs, attributes);
}

Rule LayerNormGradientInputRule(Types inputs, const TensorType&, const Attributes&) {
  return RowsRule{.inputs = {RowPart::kAll, RowPart::kAll, RowPart::kLast}, .linear = {{0}, {2}}}.For(inputs[0].shape);
}

OpId DistributeLayerNormGradientInput(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const auto add = [&](OpKind kind, OpId a, OpId b, const char* part) {
    return builder.Add(kind, {a, b}, {}, absl::StrCat(op.name, part));
  };
  const Norm norm = NormOf(op.attributes);
  const NormalizedRows n = Normalized(builder, op.inputs[1], norm, op.name);
  const OpId g = add(OpKind::kMul, op.inputs[0], op.inputs[2], ".scaled");
  const OpId products = add(OpKind::kMul, g, n.values, ".products");
  const OpId slope = RowMean(builder, products, absl::StrCat(op.name, ".products"));
  OpId centered = g;
  if (norm.centered) {
    const OpId mean = RowMean(builder, g, absl::StrCat(op.name, ".scaled"));
    centered = add(OpKind::kSub, g, mean, ".scaled_centered");
  }
  const OpId along = add(OpKind::kMul, n.values, slope, ".along");
  return add(OpKind::kMul, add(OpKind::kSub, centered, along, ".across"), n.inverse_deviation, "");
}

void EvaluateLayerNormGradientInput(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const Norm norm = NormOf(evaluation.attributes);
  const double* scale = evaluation.inputs[2]->values.data();
  const double length = static_cast<double>(rows.length);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* dy = evaluation.inputs[0]->values.data() + r * rows.length;
    const double* x = evaluation.inputs[1]->values.data() + r * rows.length;
    double* dx = evaluation.output.values.data() + r * rows.length;
    const RowMoments moments = MomentsOf(x, rows.length, norm);
    auto normalized = [&](int64_t c) { return (x[c] - moments.mean) * moments.inverse_deviation; };
    double sum = 0;
    double sum_normalized = 0;
    for (int64_t c = 0; c < rows.length; ++c) {
      if (norm.centered) sum += dy[c] * scale[c];
      sum_normalized += dy[c] * scale[c] * normalized(c);
    }
    for (int64_t c = 0; c < rows.length; ++c) {
      dx[c] = moments.inverse_deviation * (dy[c] * scale[c] - sum / length - normalized(c) * sum_normalized / length);
    }
  }
}

// The sum over all rows of dy times the normalized row.

InferResult InferLayerNormGradientScale(Types inputs, const Attributes& attributes) {
  if (auto error = CheckSameShape(inputs, 0, 1, "x")) return *error;
  const InferResult rows = InferRows(inputs, attributes);
  if (std::holds_alternative<OpError>(rows)) return rows;
  return TensorType{DType::kF32, {inputs[0].shape.back()}};
}

Rule LayerNormGradientScaleRule(Types inputs, const TensorType&, const Attributes&) {
  return RowsRule{.inputs = {RowPart::kAll, RowPart::kAll},
                  .output = RowPart::kLast,
                  .leading = FactorKind::kReduced,
                  .linear = {{0}}}
      .For(inputs[0].shape);
}

Flops LayerNormGradientScaleFlops(Types inputs, const TensorType&, const Attributes&) {
  return Flops(8.0 * static_cast<double>(inputs[0].elements()));
}

OpId DistributeLayerNormGradientScale(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const OpId normalized = Normalized(builder, op.inputs[1], NormOf(op.attributes), op.name).values;
  const OpId products = builder.Add(OpKind::kMul, {op.inputs[0], normalized}, {}, absl::StrCat(op.name, ".products"));
  return SumToType(builder, products, op.type, op.name);
}

void EvaluateLayerNormGradientScale(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const Norm norm = NormOf(evaluation.attributes);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* dy = evaluation.inputs[0]->values.data() + r * rows.length;
    const double* x = evaluation.inputs[1]->values.data() + r * rows.length;
    const RowMoments moments = MomentsOf(x, rows.length, norm);
    for (int64_t c = 0; c < rows.length; ++c) {
      evaluation.output.values[static_cast<size_t>(c)] += dy[c] * (x[c] - moments.mean) * moments.inverse_deviation;
    }
  }
}

// The call of the norm. It may make its input as a sum, of which either term may have been cast to f32.

bool IsCastToF32(const CallSite&, const CallSite& cast) { return Is16Bit(cast.type(0).dtype); }
bool IsCastTo16Bits(const CallSite&, const CallSite& cast) { return Is16Bit(cast.output.dtype); }

// Whether nothing is repeated or rounded by the sum.
bool IsPlainSum(const CallSite&, const CallSite& sum) {
  return sum.output.dtype == DType::kF32 && sum.type(0) == sum.output && sum.type(1) == sum.output;
}

constexpr int kFirstTerm = 3, kSecondTerm = 4, kFirstSource = 5, kSecondSource = 6;  // Tensors of the call.

std::vector<Companion> NormCompanions() {
  return {
      {.kind = OpKind::kAdd,
       .inputs = {kFirstTerm, kSecondTerm},
       .fits = IsPlainSum,
       .gives = 0,
       .overwrites = {kFirstTerm, kSecondTerm}},
      {.kind = OpKind::kCast, .inputs = {kFirstSource}, .fits = IsCastToF32, .gives = kFirstTerm, .hides = kFirstTerm},
      {.kind = OpKind::kCast,
       .inputs = {kSecondSource},
       .fits = IsCastToF32,
       .gives = kSecondTerm,
       .hides = kSecondTerm}};
}

std::vector<KernelCall> NormCall(const CallSite& site) {
  const Norm norm = NormOf(site.attributes);
  return {{"LayerNorm",
           {FirstPointer{{kFirstSource, kFirstTerm, 0}}, FirstPointer{{kSecondSource, kSecondTerm}}, Pointer{1},
            site.inputs.size() > 2 ? CallArgument(Pointer{2}) : CallArgument(NoTensor()), site.Rows(0), site.Columns(0),
            BracedList{{{FloatNumber{norm.epsilon}}, {norm.centered}}}, Pointer{ResultOf(0)}, Pointer{kResult}}}};
}

// One call computes all gradients, or some of them. It may add the gradient by the input to another one of the same
// value, and round what it gives.

constexpr int kScale = 2, kOther = 3;  // Tensors of the call.

bool IsSameNorm(const CallSite& op, const CallSite& companion) {
  return op.attributes.Get(attribute::kEpsilon) == companion.attributes.Get(attribute::kEpsilon) &&
         op.attributes.Get(attribute::kCentered) == companion.attributes.Get(attribute::kCentered);
}

// Whether it is the gradient by the shift.
bool SumsOverRows(const CallSite& op, const CallSite& companion) {
  std::vector<int> leading;
  for (int d = 0; d + 1 < op.type(0).rank(); ++d) leading.push_back(d);
  return !leading.empty() && AxesOf(companion.attributes, op.type(0).rank()) == leading &&
         companion.output == op.output;
}

// What follows the companions `before`, which stands for the gradient by the input, `dx`, in the call.
std::vector<Companion> WithSums(std::vector<Companion> before, int dx) {
  const int sum = ResultOf(static_cast<int>(before.size()));
  before.push_back(
      {.kind = OpKind::kAdd, .inputs = {kOther, dx}, .fits = IsPlainSum, .hides = dx, .overwrites = {0, kOther}});
  for (const int rounded : {dx, sum}) {
    before.push_back({.kind = OpKind::kCast, .inputs = {rounded}, .fits = IsCastTo16Bits});
  }
  return before;
}

// `sum`: the number of the companion that WithSums adds first.
std::vector<KernelCall> GradientCall(const CallSite& site, int dx, int sum, const CallArgument& dscale,
                                     const CallArgument& dshift) {
  const Norm norm = NormOf(site.attributes);
  return {{"LayerNormGradient",
           {Pointer{0}, Pointer{1}, Pointer{kScale}, Pointer{kOther}, site.Rows(0), site.Columns(0),
            BracedList{{{FloatNumber{norm.epsilon}}, {norm.centered}}}, FirstPointer{{ResultOf(sum), dx}},
            FirstPointer{{ResultOf(sum + 2), ResultOf(sum + 1)}}, dscale, dshift}}};
}

// Two sums for each part of the rows: PartsOfRows of runtime/kernels/row_parts.h.
Need LayerNormGradientScaleNeed(Types inputs, const TensorType&, const Attributes&) {
  constexpr int64_t kLeastRows = 4, kMostSums = int64_t{1} << 18;
  if (inputs[0].elements() == 0) return {};
  const int64_t columns = inputs[0].shape.back();
  const int64_t rows = inputs[0].elements() / columns;
  const int64_t most = std::max<int64_t>(columns <= 1024 ? 512 : 256, kMostSums / columns);
  const int64_t size = std::max(kLeastRows, (rows + most - 1) / most);
  return {.temporary = ElementSize(DType::kF32) * (2 * ((rows + size - 1) / size) * columns)};
}

// By which ops of both norms tell them apart.
Argument IsCentered(bool centered) {
  Argument argument = OptionalAttribute(attribute::kCentered, centered);
  argument.internal = true;
  return argument;
}

OpDefinition NormOp(std::vector<Argument> signature, std::string summary) {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .reads_16_bits = {0},
                      .gives_16_bits = true,
                      .signature = std::move(signature),
                      .summary = std::move(summary),
                      .infer = InferLayerNorm,
                      .rule = LayerNormRule,
                      .gradient = LayerNormGradients,
                      .flops = FlopsPerElement<8>,
                      .distribute = DistributeLayerNorm,
                      .evaluate = EvaluateLayerNorm,
                      .batch = BatchLayerNorm,
                      .calls = NormCall,
                      .companions = NormCompanions()};
}

}  // namespace

OpDefinition DefineLayerNorm() {
  return NormOp({{.name = "x"},
                 {.name = "scale"},
                 {.name = "shift", .kind = ArgumentKind::kOptionalTensor},
                 OptionalAttribute(attribute::kEpsilon, 1e-5),
                 IsCentered(true)},
                "rows of the last dimension with mean 0 and variance 1, times scale plus shift");
}

OpDefinition DefineRmsNorm() {
  return NormOp({{.name = "x"}, {.name = "scale"}, OptionalAttribute(attribute::kEpsilon, 1e-5), IsCentered(false)},
                "rows of the last dimension with mean square 1, times scale");
}

OpDefinition DefineLayerNormGradientInput() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .overwrites = 0,
      .callable = false,
      .reads_16_bits = {0, 1},
      .gives_16_bits = true,
      .signature =
          {{.name = "dy"}, {.name = "x"}, {.name = "scale"}, RequiredAttribute(attribute::kEpsilon), IsCentered(true)},
      .summary = "gradient of layer_norm by its input",
      .infer = InferLayerNormGradientInput,
      .rule = LayerNormGradientInputRule,
      .flops = FlopsPerElement<16>,
      .distribute = DistributeLayerNormGradientInput,
      .evaluate = EvaluateLayerNormGradientInput,
      .calls = [](const CallSite& site) { return GradientCall(site, kResult, 0, NoTensor(), NoTensor()); },
      .companions = WithSums({}, kResult)};
}

OpDefinition DefineLayerNormGradientScale() {
  // The gradients by the input, whose call reads the scale, too, and by the shift.
  const std::vector<Companion> gradients = {
      {.kind = OpKind::kLayerNormGradientInput, .inputs = {0, 1, kScale}, .fits = IsSameNorm},
      {.kind = OpKind::kReduceSum, .inputs = {0}, .fits = SumsOverRows}};
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .callable = false,
      .reads_16_bits = {0, 1},
      .signature = {{.name = "dy"}, {.name = "x"}, RequiredAttribute(attribute::kEpsilon), IsCentered(true)},
      .summary = "gradient of layer_norm by its scale",
      .infer = InferLayerNormGradientScale,
      .rule = LayerNormGradientScaleRule,
      .flops = LayerNormGradientScaleFlops,
      .distribute = DistributeLayerNormGradientScale,
      .evaluate = EvaluateLayerNormGradientScale,
      .calls =
          [](const CallSite& site) {
            return GradientCall(site, ResultOf(0), 2, Pointer{kResult}, Pointer{ResultOf(1)});
          },
      .companions = WithSums(gradients, ResultOf(0)),
      .need = LayerNormGradientScaleNeed};
}

}  // namespace cleave::ir
