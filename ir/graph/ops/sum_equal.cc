// The rows of a table's gradient, in the place of the gradient itself: one row for each number that is looked up, at
// the first place that has the number. ir/graph/row_updates makes both ops; both look at all numbers of a batch.

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/indexing.h"

namespace cleave::ir {
namespace {

// An error unless input `index` is i32[count].
std::optional<OpError> CheckNumbers(Types inputs, int index, const std::string& name) {
  if (auto error = CheckDType(inputs, index, DType::kI32, name)) return error;
  const Shape& shape = inputs[static_cast<size_t>(index)].shape;
  if (shape.size() == 1) return std::nullopt;
  return OpError{.code = Code::kE0408,
                 .message = absl::StrCat("`", name, "` is a list of numbers, found ", ShapeText(shape))};
}

InferResult InferDistinct(Types inputs, const Attributes& attributes) {
  if (auto error = CheckNumbers(inputs, 0, "indices")) return *error;
  if (auto error = CheckSizes({attributes.Get(attribute::kRows)}, "rows")) return *error;
  return inputs[0];
}

Rule DistinctRule(Types inputs, const TensorType&, const Attributes&) {
  Rule rule;
  rule.output = AddIndexDimensions(rule, inputs[0].shape, FactorKind::kWhole);
  rule.inputs = {rule.output};
  return rule;
}

// A kernel looks at 32 places at once.
double OperationsOfSearch(int64_t count) { return static_cast<double>(count) * static_cast<double>(count) / 32; }

Flops DistinctFlops(Types, const TensorType& output, const Attributes&) {
  return Flops(OperationsOfSearch(output.elements()));
}

void EvaluateDistinct(const Evaluation& evaluation) {
  const auto rows = static_cast<double>(evaluation.attributes.Get(attribute::kRows));
  std::set<double> seen;
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    const double index = evaluation.inputs[0]->values[i];
    const bool is_first = index >= 0 && index < rows && seen.insert(index).second;
    evaluation.output.values[i] = is_first ? index : -1;
  }
}

InferResult InferSumEqual(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckRank(inputs, 0, 1)) return *error;
  if (auto error = CheckNumbers(inputs, 1, "indices")) return *error;
  if (auto error = CheckNumbers(inputs, 2, "places")) return *error;
  const int64_t count = inputs[0].shape[0];
  if (inputs[1].shape[0] != count || inputs[2].shape[0] != count) {
    return OpError{.code = Code::kE0411,
                   .message = absl::StrCat("x ", ShapeText(inputs[0].shape), " by indices ", ShapeText(inputs[1].shape),
                                           " and places ", ShapeText(inputs[2].shape))};
  }
  return inputs[0];
}

Rule SumEqualRule(Types inputs, const TensorType&, const Attributes&) {
  Rule rule;
  rule.output = AddIndexDimensions(rule, {inputs[0].shape[0]}, FactorKind::kWhole);
  for (size_t d = 1; d < inputs[0].shape.size(); ++d) {
    rule.output.push_back({AddFactor(rule, absl::StrCat("d", d), inputs[0].shape[d])});
  }
  const std::vector<FactorList> numbers = {rule.output.front()};
  rule.inputs = {rule.output, numbers, numbers};
  rule.linear = {{0}};
  return rule;
}

Flops SumEqualFlops(Types inputs, const TensorType& output, const Attributes&) {
  return Flops(static_cast<double>(output.elements()) + OperationsOfSearch(inputs[1].elements()));
}

void EvaluateSumEqual(const Evaluation& evaluation) {
  const std::vector<double>& indices = evaluation.inputs[1]->values;
  const std::vector<double>& places = evaluation.inputs[2]->values;
  std::vector<double>& y = evaluation.output.values;
  const size_t inner = indices.empty() ? 0 : y.size() / indices.size();
  std::map<double, size_t> place_of;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (places[i] >= 0) place_of.emplace(places[i], i);
    const auto found = place_of.find(indices[i]);
    if (found == place_of.end()) continue;
    for (size_t j = 0; j < inner; ++j) y[found->second * inner + j] += evaluation.inputs[0]->values[i * inner + j];
  }
}

}  // namespace

OpDefinition DefineDistinct() {
  return OpDefinition{
      .op_class = OpClass::kMovement,
      .callable = false,
      .signature = {{.name = "indices"}, RequiredAttribute(attribute::kRows)},
      .summary = "each number from 0 to `rows` - 1 at the first place that has it, -1 at all others",
      .infer = InferDistinct,
      .rule = DistinctRule,
      .flops = DistinctFlops,
      .evaluate = EvaluateDistinct,
      .calls = [](const CallSite& site) -> std::vector<KernelCall> {
        return {{"Distinct", {Pointer{0}, site.Elements(0), site.attributes.Get(attribute::kRows), Pointer{kResult}}}};
      }};
}

OpDefinition DefineSumEqual() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .callable = false,
                      .signature = {{.name = "x"}, {.name = "indices"}, {.name = "places"}},
                      .summary = "for each of `places`, the distinct indices, the sum of the rows of x with that index",
                      .infer = InferSumEqual,
                      .rule = SumEqualRule,
                      .flops = SumEqualFlops,
                      .evaluate = EvaluateSumEqual,
                      .calls = [](const CallSite& site) -> std::vector<KernelCall> {
                        return {{"SumEqual",
                                 {Pointer{0}, Pointer{1}, Pointer{2}, site.Elements(1),
                                  site.Elements(0, 1, site.type(0).rank()), Pointer{kResult}}}};
                      }};
}

}  // namespace cleave::ir
