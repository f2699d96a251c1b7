// Reductions over axes.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/need.h"
#include "ir/graph/ops/ranking.h"

namespace cleave::ir {
namespace {

InferResult InferReducing(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  auto axes = NormalizeAxes(attributes.Get(attribute::kAxes), inputs[0].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  const std::vector<int> reduced = AxesOf(attributes, inputs[0].rank());
  TensorType output{DType::kF32, {}};
  for (int d = 0; d < inputs[0].rank(); ++d) {
    if (!std::binary_search(reduced.begin(), reduced.end(), d)) {
      output.shape.push_back(inputs[0].shape[static_cast<size_t>(d)]);
    } else if (attributes.Get(attribute::kKeepDims)) {
      output.shape.push_back(1);
    }
  }
  return output;
}

Flops ReducingFlops(Types inputs, const TensorType&, const Attributes&) {
  return Flops(static_cast<double>(inputs[0].elements()));
}

OpId BatchReducing(Lift& lift) {
  if (lift.rank(0) == 0) return lift.value(0);  // The reduction of one number is that number.
  Attributes attributes = lift.op().attributes;
  std::vector<int64_t> axes = lift.op().attributes.Get(attribute::kAxes);
  for (int64_t& axis : axes) axis = ShiftedAxis(axis);
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(lift.rank(0)));
    std::iota(axes.begin(), axes.end(), 1);
  }
  attributes.Set(attribute::kAxes, axes);
  return lift.Main(lift.Inputs(), attributes);
}

// Whether it takes an image in blocks of channels: the channels stay, and no place does.
bool TakesBlocks(const std::vector<int64_t>& axes, int64_t rank) {
  const auto has = [&](int64_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  for (int64_t d = 2; d < rank; ++d) {
    if (!has(d)) return false;
  }
  return rank > 2 && !has(1);
}

// An image in blocks is given as it lies, with the channels of a block as its last dimension.
Need ReducingNeed(Types inputs, const TensorType& output, const Attributes& attributes) {
  const Shape& shape = inputs[0].shape;
  const int axes = static_cast<int>(attributes.Get(attribute::kAxes).size());
  const int rank = axes == 0                              ? inputs[0].rank()
                   : attributes.Get(attribute::kKeepDims) ? output.rank()
                                                          : output.rank() + axes;
  std::vector<bool> reduced(shape.size());
  for (const int axis : AxesOf(attributes, rank)) reduced[static_cast<size_t>(axis)] = true;
  return ReductionNeed(shape, reduced);
}

// A definition with signature (x, axes = (), keep_dims = false), inference, flops, batched form and workspace; no axes
// mean all. Rule, gradient, evaluation and calls must still be set.
OpDefinition ReducingOp(std::string summary) {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .reads_16_bits = {0},
                      .signature = {{.name = "x"},
                                    OptionalAttribute(attribute::kAxes, {}),
                                    OptionalAttribute(attribute::kKeepDims, false)},
                      .summary = std::move(summary),
                      .infer = InferReducing,
                      .flops = ReducingFlops,
                      .batch = BatchReducing,
                      .need = ReducingNeed};
}

// Factor d<n> per dimension of the input: parallel where it is kept, else reduced by `reduction`.
Rule ReducingRule(Types inputs, const Attributes& attributes, Reduction reduction, LinearGroups linear) {
  const std::vector<int> reduced = AxesOf(attributes, inputs[0].rank());
  Rule rule;
  rule.inputs = {AddDimensions(rule, inputs[0].shape)};
  for (size_t d = 0; d < rule.factors.size(); ++d) {
    if (!std::binary_search(reduced.begin(), reduced.end(), static_cast<int>(d))) {
      rule.output.push_back(rule.inputs[0][d]);
      continue;
    }
    rule.factors[d].kind = FactorKind::kReduced;
    rule.factors[d].reduction = reduction;
    if (attributes.Get(attribute::kKeepDims)) rule.output.push_back({});
  }
  rule.linear = std::move(linear);
  return rule;
}

// For every element of the local input the index of the element of the output that it is reduced into.
std::vector<int64_t> ReducedIndex(const Evaluation& evaluation) {
  Shape kept = evaluation.inputs[0]->shape;
  for (int axis : AxesOf(evaluation.attributes, static_cast<int>(kept.size()))) kept[static_cast<size_t>(axis)] = 1;
  return BroadcastIndex(evaluation.inputs[0]->shape, kept);
}

// The number of elements of the whole input that each element of the output is made from.
double ReducedCount(const Evaluation& evaluation) {
  double count = 1;
  for (int axis : AxesOf(evaluation.attributes, static_cast<int>(evaluation.inputs[0]->shape.size()))) {
    count *= static_cast<double>(evaluation.ranges[static_cast<size_t>(axis)].global);
  }
  return count;
}

// Gradient of a maximum or minimum over axes: where several elements have the extreme value, they share it evenly. The
// extreme is computed again, from the copy of x that it is compared with: one that the forward pass has added up in
// another order may differ from all elements of this copy in the last bits.
Gradients ExtremeGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  Shape kept = builder.type(x).shape;
  const std::vector<int> axes = AxesOf(op.attributes, static_cast<int>(kept.size()));
  for (int axis : axes) kept[static_cast<size_t>(axis)] = 1;
  const std::string name = GradientName(op, "x");
  auto with_kept_dims = [&](OpId value) {
    return builder.type(value).shape == kept
               ? value
               : builder.Add(OpKind::kReshape, {value}, {{attribute::kShape, kept}}, name);
  };
  const Attributes over_axes = {{attribute::kAxes, std::vector<int64_t>(axes.begin(), axes.end())},
                                {attribute::kKeepDims, true}};
  const OpId extreme = builder.Add(op.kind, {x}, over_axes, name);
  const OpId is_extreme = builder.Add(OpKind::kEqual, {x, extreme}, {}, name);
  const OpId count = builder.Add(OpKind::kReduceSum, {is_extreme}, over_axes, name);
  const OpId share = builder.Add(OpKind::kDiv, {with_kept_dims(dy), count}, {}, name);
  return {builder.Add(OpKind::kMul, {is_extreme, share}, {}, name)};
}

// function(x, shape, axes, more…, result)
std::vector<KernelCall> ReducingCall(const CallSite& site, std::string function,
                                     const std::vector<CallArgument>& more = {}) {
  const int64_t rank = site.type(0).rank();
  std::vector<int64_t> axes = site.attributes.Get(attribute::kAxes);
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::vector<CallArgument> arguments = {Pointer{0}, LocalSizes{0}, NumberList(axes)};
  if (TakesBlocks(axes, rank)) arguments[1] = StoredSizes{0};
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.push_back(Pointer{kResult});
  return {{std::move(function), std::move(arguments)}};
}

Rule ReduceSumRule(Types inputs, const TensorType&, const Attributes& attributes) {
  return ReducingRule(inputs, attributes, Reduction::kSum, {{0}});
}

Gradients ReduceSumGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const Shape shape = builder.type(op.inputs[0]).shape;
  const std::vector<int> axes = AxesOf(op.attributes, static_cast<int>(shape.size()));
  return {RepeatAlong(builder, dy, shape, axes, GradientName(op, "x"))};
}

constexpr int kSquared = 1;  // A tensor of the call.

bool AreAllAddedUp(const CallSite& sum, const CallSite& square) {
  const int rank = sum.type(0).rank();
  return static_cast<int>(AxesOf(sum.attributes, rank).size()) == rank && square.type(0).dtype == DType::kF32;
}

std::vector<KernelCall> ReduceSumCalls(const CallSite& site) {
  if (!site.Has(0)) return ReducingCall(site, "ReduceSum");
  return {{"SumOfSquares", {Pointer{kSquared}, site.Elements(0), Pointer{kResult}}}};
}

void EvaluateReduceSum(const Evaluation& evaluation) {
  const std::vector<int64_t> index = ReducedIndex(evaluation);
  for (size_t i = 0; i < index.size(); ++i) {
    evaluation.output.values[static_cast<size_t>(index[i])] += evaluation.inputs[0]->values[i];
  }
}

// Each rank divides its sum by the count of the whole, so that the parts along a cut axis add up to the mean.

Rule ReduceMeanRule(Types inputs, const TensorType&, const Attributes& attributes) {
  return ReducingRule(inputs, attributes, Reduction::kSum, {{0}});
}

Gradients ReduceMeanGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const Shape shape = builder.type(op.inputs[0]).shape;
  const std::vector<int> axes = AxesOf(op.attributes, static_cast<int>(shape.size()));
  double count = 1;
  for (int axis : axes) count *= static_cast<double>(shape[static_cast<size_t>(axis)]);
  const OpId share = builder.Add(OpKind::kScale, {dy}, {{attribute::kFactor, 1 / count}}, GradientName(op, "x"));
  return {RepeatAlong(builder, share, shape, axes, GradientName(op, "x"))};
}

void EvaluateReduceMean(const Evaluation& evaluation) {
  const std::vector<int64_t> index = ReducedIndex(evaluation);
  const double count = ReducedCount(evaluation);
  for (size_t i = 0; i < index.size(); ++i) {
    evaluation.output.values[static_cast<size_t>(index[i])] += evaluation.inputs[0]->values[i] / count;
  }
}

std::vector<KernelCall> ReduceMeanCalls(const CallSite& site) {
  int64_t count = 1;
  for (const int axis : AxesOf(site.attributes, site.type(0).rank())) {
    count *= site.type(0).shape[static_cast<size_t>(axis)];
  }
  return ReducingCall(site, "ReduceMean", {count});
}

Rule ReduceMaxRule(Types inputs, const TensorType&, const Attributes& attributes) {
  return ReducingRule(inputs, attributes, Reduction::kMax, {});
}

void EvaluateReduceMax(const Evaluation& evaluation) {
  std::vector<double>& output = evaluation.output.values;
  std::fill(output.begin(), output.end(), -std::numeric_limits<double>::infinity());
  const std::vector<int64_t> index = ReducedIndex(evaluation);
  for (size_t i = 0; i < index.size(); ++i) {
    double& most = output[static_cast<size_t>(index[i])];
    if (RanksBefore(evaluation.inputs[0]->values[i], most)) most = evaluation.inputs[0]->values[i];
  }
}

// The largest of a NaN is NaN.
void EvaluateReduceMaxAbs(const Evaluation& evaluation) {
  const std::vector<int64_t> index = ReducedIndex(evaluation);
  for (size_t i = 0; i < index.size(); ++i) {
    double& most = evaluation.output.values[static_cast<size_t>(index[i])];
    const double magnitude = std::abs(evaluation.inputs[0]->values[i]);
    if (RanksBefore(magnitude, most)) most = magnitude;
  }
}

// Its call may make the unit alone of it, of one type of 8 bits or the other: where a rank has one number, of all
// elements or of those of a micro-batch, [runs, …] to [runs, 1, …] (ir/transforms/distribute/units.h).

constexpr DType kUnitTypes[] = {DType::kF8E4M3, DType::kF8E5M2};  // By companion.

template <int kType>
bool IsUnitOfOneNumber(const CallSite& largest, const CallSite& unit) {
  const size_t rank = largest.type(0).shape.size();
  const std::vector<int> axes = AxesOf(largest.attributes, static_cast<int>(rank));
  const bool of_runs = largest.attributes.Get(attribute::kKeepDims) && axes.size() + 1 == rank && axes.front() == 1;
  return (axes.size() == rank || of_runs) && unit.attributes.Get(attribute::kDType) == kUnitTypes[kType];
}

std::vector<KernelCall> ReduceMaxAbsCalls(const CallSite& site) {
  for (const int type : {0, 1}) {
    if (!site.Has(type)) continue;
    return {
        {"UnitOf", {Pointer{0}, site.Elements(0), FloatNumber{LargestOf(kUnitTypes[type])}, Pointer{ResultOf(type)}}}};
  }
  return ReducingCall(site, "ReduceMaxAbs");
}

Rule ReduceMinRule(Types inputs, const TensorType&, const Attributes& attributes) {
  return ReducingRule(inputs, attributes, Reduction::kMin, {});
}

void EvaluateReduceMin(const Evaluation& evaluation) {
  std::vector<double>& output = evaluation.output.values;
  std::fill(output.begin(), output.end(), std::numeric_limits<double>::infinity());
  const std::vector<int64_t> index = ReducedIndex(evaluation);
  for (size_t i = 0; i < index.size(); ++i) {
    double& least = output[static_cast<size_t>(index[i])];
    if (RanksBefore(-evaluation.inputs[0]->values[i], -least)) least = evaluation.inputs[0]->values[i];
  }
}

}  // namespace

OpDefinition DefineReduceSum() {
  OpDefinition definition = ReducingOp("sum over axes, over all of them where none are given");
  definition.rule = ReduceSumRule;
  definition.gradient = ReduceSumGradients;
  definition.evaluate = EvaluateReduceSum;
  definition.calls = ReduceSumCalls;
  // The squares that it adds up, each of them once.
  definition.companions = {
      {.kind = OpKind::kSquare, .inputs = {kSquared}, .fits = AreAllAddedUp, .gives = 0, .hides = 0}};
  return definition;
}

OpDefinition DefineReduceMean() {
  OpDefinition definition = ReducingOp("mean over axes, over all of them where none are given");
  definition.rule = ReduceMeanRule;
  definition.gradient = ReduceMeanGradients;
  definition.evaluate = EvaluateReduceMean;
  definition.calls = ReduceMeanCalls;
  return definition;
}

OpDefinition DefineReduceMax() {
  OpDefinition definition = ReducingOp("maximum over axes, over all of them where none are given");
  definition.rule = ReduceMaxRule;
  definition.gradient = ExtremeGradients;
  definition.evaluate = EvaluateReduceMax;
  definition.calls = [](const CallSite& site) { return ReducingCall(site, "ReduceMax"); };
  return definition;
}

OpDefinition DefineReduceMaxAbs() {
  OpDefinition definition =
      ReducingOp("largest magnitude over axes, over all of them where none are given; 0 of nothing");
  definition.callable = false;
  definition.rule = ReduceMaxRule;
  definition.evaluate = EvaluateReduceMaxAbs;
  definition.calls = ReduceMaxAbsCalls;
  definition.companions = {
      {.kind = OpKind::kF8Unit, .inputs = {kResult}, .fits = IsUnitOfOneNumber<0>, .hides = kResult},
      {.kind = OpKind::kF8Unit, .inputs = {kResult}, .fits = IsUnitOfOneNumber<1>, .hides = kResult}};
  return definition;
}

OpDefinition DefineReduceMin() {
  OpDefinition definition = ReducingOp("minimum over axes, over all of them where none are given");
  definition.rule = ReduceMinRule;
  definition.gradient = ExtremeGradients;
  definition.evaluate = EvaluateReduceMin;
  definition.calls = [](const CallSite& site) { return ReducingCall(site, "ReduceMin"); };
  return definition;
}

}  // namespace cleave::ir
