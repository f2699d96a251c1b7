// Layer normalization, Ba, Kiros and Hinton, 2016: gives each row of the last dimension mean 0 and variance 1 (divided
// by the count), then applies scale and shift.

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

// Mean and 1 / sqrt(variance + epsilon) of a row.
struct RowMoments {
  double mean = 0;
  double inverse_deviation = 0;
};

RowMoments MomentsOf(const double* row, int64_t length, double epsilon) {
  double sum = 0;
  for (int64_t c = 0; c < length; ++c) sum += row[c];
  const double mean = sum / static_cast<double>(length);
  double squares = 0;
  for (int64_t c = 0; c < length; ++c) squares += (row[c] - mean) * (row[c] - mean);
  return {.mean = mean, .inverse_deviation = 1 / std::sqrt(squares / static_cast<double>(length) + epsilon)};
}

InferResult InferLayerNorm(Types inputs, const Attributes& attributes) {
  InferResult result = InferRows(inputs, attributes);
  if (std::holds_alternative<OpError>(result)) return result;
  const Shape features = {inputs[0].shape.back()};
  const char* const names[] = {"x", "scale", "shift"};
  for (int i : {1, 2}) {
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
  return RowsRule{.inputs = {RowPart::kAll, RowPart::kLast, RowPart::kLast}, .linear = {{1, 2}}}.For(inputs[0].shape);
}

Gradients LayerNormGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  const Attributes epsilon = {{attribute::kEpsilon, op.attributes.Get(attribute::kEpsilon)}};
  const OpId dx = builder.Add(OpKind::kLayerNormGradientInput, {dy, x, op.inputs[1]}, epsilon, GradientName(op, "x"));
  const OpId dscale = builder.Add(OpKind::kLayerNormGradientScale, {dy, x}, epsilon, GradientName(op, "scale"));
  return {dx, dscale, SumToType(builder, dy, builder.type(op.inputs[2]), GradientName(op, "shift"))};
}

OpId DistributeLayerNorm(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const double epsilon = op.attributes.Get(attribute::kEpsilon);
  const OpId normalized = Normalized(builder, op.inputs[0], epsilon, op.name).values;
  const OpId scaled = builder.Add(OpKind::kMul, {normalized, op.inputs[1]}, {}, absl::StrCat(op.name, ".scaled"));
  return builder.Add(OpKind::kAdd, {scaled, op.inputs[2]}, {}, op.name);
}

void EvaluateLayerNorm(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const double epsilon = evaluation.attributes.Get(attribute::kEpsilon);
  const double* scale = evaluation.inputs[1]->values.data();
  const double* shift = evaluation.inputs[2]->values.data();
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* x = evaluation.inputs[0]->values.data() + r * rows.length;
    double* y = evaluation.output.values.data() + r * rows.length;
    const RowMoments moments = MomentsOf(x, rows.length, epsilon);
    for (int64_t c = 0; c < rows.length; ++c) {
      y[c] = (x[c] - moments.mean) * moments.inverse_deviation * scale[c] + shift[c];
    }
  }
}

OpId BatchLayerNorm(Lift& lift) {
  if (!lift.mapped(1) && !lift.mapped(2)) return lift.Main(lift.Inputs());
  // Normalizes without scale and shift, which are then applied for each element.
  const Shape row = {lift.element(0).back()};
  const OpId normal = lift.Main({lift.value(0), lift.Constant(1, row), lift.Constant(0, row)});
  const OpId scaled = lift.Step(OpKind::kMul, {normal, lift.Aligned(1, lift.rank(0))});
  return lift.Step(OpKind::kAdd, {scaled, lift.Aligned(2, lift.rank(0))});
}

// With n the normalized row, s its inverse deviation and g = dy * scale: dx = s * (g - mean(g) - n * mean(g * n)).

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
  const NormalizedRows n = Normalized(builder, op.inputs[1], op.attributes.Get(attribute::kEpsilon), op.name);
  const OpId g = add(OpKind::kMul, op.inputs[0], op.inputs[2], ".scaled");
  const OpId mean = RowMean(builder, g, absl::StrCat(op.name, ".scaled"));
  const OpId products = add(OpKind::kMul, g, n.values, ".products");
  const OpId slope = RowMean(builder, products, absl::StrCat(op.name, ".products"));
  const OpId centered = add(OpKind::kSub, g, mean, ".scaled_centered");
  const OpId along = add(OpKind::kMul, n.values, slope, ".along");
  return add(OpKind::kMul, add(OpKind::kSub, centered, along, ".across"), n.inverse_deviation, "");
}

void EvaluateLayerNormGradientInput(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const double epsilon = evaluation.attributes.Get(attribute::kEpsilon);
  const double* scale = evaluation.inputs[2]->values.data();
  const double length = static_cast<double>(rows.length);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* dy = evaluation.inputs[0]->values.data() + r * rows.length;
    const double* x = evaluation.inputs[1]->values.data() + r * rows.length;
    double* dx = evaluation.output.values.data() + r * rows.length;
    const RowMoments moments = MomentsOf(x, rows.length, epsilon);
    auto normalized = [&](int64_t c) { return (x[c] - moments.mean) * moments.inverse_deviation; };
    double sum = 0;
    double sum_normalized = 0;
    for (int64_t c = 0; c < rows.length; ++c) {
      sum += dy[c] * scale[c];
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
  const OpId normalized = Normalized(builder, op.inputs[1], op.attributes.Get(attribute::kEpsilon), op.name).values;
  const OpId products = builder.Add(OpKind::kMul, {op.inputs[0], normalized}, {}, absl::StrCat(op.name, ".products"));
  return SumToType(builder, products, op.type, op.name);
}

void EvaluateLayerNormGradientScale(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const double epsilon = evaluation.attributes.Get(attribute::kEpsilon);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* dy = evaluation.inputs[0]->values.data() + r * rows.length;
    const double* x = evaluation.inputs[1]->values.data() + r * rows.length;
    const RowMoments moments = MomentsOf(x, rows.length, epsilon);
    for (int64_t c = 0; c < rows.length; ++c) {
      evaluation.output.values[static_cast<size_t>(c)] += dy[c] * (x[c] - moments.mean) * moments.inverse_deviation;
    }
  }
}

// One call computes all three gradients, or some of them.

constexpr int kScale = 2;  // Which tensor of the call it is.

struct GradientPlaces {
  CallArgument dx;
  CallArgument dscale;
  CallArgument dshift;
};

std::vector<KernelCall> GradientCall(const CallSite& site, const GradientPlaces& results) {
  return {{"LayerNormGradient",
           {Pointer{0}, Pointer{1}, Pointer{kScale}, site.Rows(0), site.Columns(0),
            FloatNumber{site.attributes.Get(attribute::kEpsilon)}, results.dx, results.dscale, results.dshift}}};
}

bool HasSameEpsilon(const CallSite& op, const CallSite& companion) {
  return op.attributes.Get(attribute::kEpsilon) == companion.attributes.Get(attribute::kEpsilon);
}

// Whether it is the gradient by the shift.
bool SumsOverRows(const CallSite& op, const CallSite& companion) {
  std::vector<int> leading;
  for (int d = 0; d + 1 < op.type(0).rank(); ++d) leading.push_back(d);
  return !leading.empty() && AxesOf(companion.attributes, op.type(0).rank()) == leading &&
         companion.output == op.output;
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

}  // namespace

OpDefinition DefineLayerNorm() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .reads_16_bits = {0},
      .gives_16_bits = true,
      .signature = {{.name = "x"}, {.name = "scale"}, {.name = "shift"}, OptionalAttribute(attribute::kEpsilon, 1e-5)},
      .summary = "rows of the last dimension with mean 0 and variance 1, times scale plus shift",
      .infer = InferLayerNorm,
      .rule = LayerNormRule,
      .gradient = LayerNormGradients,
      .flops = FlopsPerElement<8>,
      .distribute = DistributeLayerNorm,
      .evaluate = EvaluateLayerNorm,
      .batch = BatchLayerNorm,
      .calls = [](const CallSite& site) {
        return RowsCall(site, "LayerNorm", {FloatNumber{site.attributes.Get(attribute::kEpsilon)}});
      }};
}

OpDefinition DefineLayerNormGradientInput() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .overwrites = 0,
      .callable = false,
      .reads_16_bits = {0, 1},
      .gives_16_bits = true,
      .signature = {{.name = "dy"}, {.name = "x"}, {.name = "scale"}, RequiredAttribute(attribute::kEpsilon)},
      .summary = "gradient of layer_norm by its input",
      .infer = InferLayerNormGradientInput,
      .rule = LayerNormGradientInputRule,
      .flops = FlopsPerElement<16>,
      .distribute = DistributeLayerNormGradientInput,
      .evaluate = EvaluateLayerNormGradientInput,
      .calls = [](const CallSite& site) {
        return GradientCall(site, {.dx = Pointer{kResult}, .dscale = NoTensor(), .dshift = NoTensor()});
      }};
}

OpDefinition DefineLayerNormGradientScale() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .callable = false,
      .reads_16_bits = {0, 1},
      .signature = {{.name = "dy"}, {.name = "x"}, RequiredAttribute(attribute::kEpsilon)},
      .summary = "gradient of layer_norm by its scale",
      .infer = InferLayerNormGradientScale,
      .rule = LayerNormGradientScaleRule,
      .flops = LayerNormGradientScaleFlops,
      .distribute = DistributeLayerNormGradientScale,
      .evaluate = EvaluateLayerNormGradientScale,
      .calls =
          [](const CallSite& site) {
            return GradientCall(
                site, {.dx = Pointer{ResultOf(0)}, .dscale = Pointer{kResult}, .dshift = Pointer{ResultOf(1)}});
          },
      // The gradients by the input, whose call reads the scale, too, and by the shift.
      .companions = {{.kind = OpKind::kLayerNormGradientInput, .inputs = {0, 1, kScale}, .fits = HasSameEpsilon},
                     {.kind = OpKind::kReduceSum, .inputs = {0}, .fits = SumsOverRows}},
      .need = LayerNormGradientScaleNeed};
}

}  // namespace cleave::ir
