// Places of elements by the group that each belongs to: which tokens an expert takes. An element is the number of its
// group; one that is no group's number belongs to none.

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/ranking.h"

namespace cleave::ir {
namespace {

InferResult InferGroupBy(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kI32, "x")) return *error;
  if (auto error = CheckRank(inputs, 0, 1)) return *error;
  if (auto error = CheckIndexed(inputs, inputs[0].rank() - 1)) return *error;
  const Shape sizes = {attributes.Get(attribute::kGroups), attributes.Get(attribute::kCapacity)};
  if (auto error = CheckSizes(sizes, "(groups, capacity)")) return *error;
  TensorType output{DType::kI32, inputs[0].shape};
  output.shape.pop_back();
  output.shape.insert(output.shape.end(), sizes.begin(), sizes.end());
  return output;
}

// n is whole, because every place depends on those before it: a rank looks at all elements, and finds those places that
// it holds of the groups that it holds.
Rule GroupByRule(Types inputs, const TensorType& output, const Attributes&) {
  Rule rule;
  rule.inputs = {AddDimensions(rule, inputs[0].shape)};
  rule.factors.back().name = "n";
  rule.factors.back().kind = FactorKind::kWhole;
  rule.output = rule.inputs[0];
  rule.output.back() = {AddFactor(rule, "g", output.shape[output.shape.size() - 2])};
  rule.output.push_back({AddFactor(rule, "c", output.shape.back())});
  return rule;
}

void EvaluateGroupBy(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const int64_t length = x.shape.back();
  const FactorRange& groups = evaluation.ranges[x.shape.size()];
  const FactorRange& places = evaluation.ranges[x.shape.size() + 1];
  std::vector<double>& y = evaluation.output.values;
  std::fill(y.begin(), y.end(), static_cast<double>(length));
  std::vector<int64_t> counts;
  for (size_t i = 0; i < x.values.size(); ++i) {
    if (i % static_cast<size_t>(length) == 0) counts.assign(static_cast<size_t>(groups.size), 0);
    const int64_t group = static_cast<int64_t>(x.values[i]) - groups.begin;
    if (group < 0 || group >= groups.size) continue;
    const int64_t place = counts[static_cast<size_t>(group)]++ - places.begin;
    if (place < 0 || place >= places.size) continue;
    const int64_t row = static_cast<int64_t>(i) / length;
    y[static_cast<size_t>((row * groups.size + group) * places.size + place)] = static_cast<double>(i % length);
  }
}

Attributes ResizeGroupBy(const Attributes& attributes, const Rule& resized) {
  const Shape shape = resized.OutputShape();
  Attributes result = attributes;
  result.Set(attribute::kGroups, shape[shape.size() - 2]);
  result.Set(attribute::kCapacity, shape.back());
  return result;
}

std::vector<KernelCall> GroupByCalls(const CallSite& site) {
  const int rank = site.output.rank();
  const LocalDimension groups = {kResult, rank - 2};
  const LocalDimension places = {kResult, rank - 1};
  return {{"GroupBy",
           {Pointer{0}, site.Rows(0), site.Columns(0),
            BracedList{{{FirstIndex{groups}, "first_group"},
                        {LocalSize{{groups}}, "groups"},
                        {FirstIndex{places}, "first_place"},
                        {LocalSize{{places}}, "capacity"}}},
            Pointer{kResult}}}};
}

}  // namespace

OpDefinition DefineGroupBy() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .signature = {{.name = "x"}, RequiredAttribute(attribute::kGroups), RequiredAttribute(attribute::kCapacity)},
      .summary =
          "for each group the places of its first `capacity` elements in the last dimension; n where it has fewer",
      .infer = InferGroupBy,
      .rule = GroupByRule,
      .gradient = ZeroGradients,
      .flops = FlopsPerInputElement<1>,
      .evaluate = EvaluateGroupBy,
      .resize = ResizeGroupBy,
      .batch = BatchSame,
      .calls = GroupByCalls};
}

}  // namespace cleave::ir
