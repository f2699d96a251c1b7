#include "ir/testing/random_graph.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/testing/op_forms.h"
#include "ir/testing/value_maker.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

// Larger tensors would only take more time.
constexpr int64_t kLargestTensor = 250;

bool IsSmall(const OpForm& form) {
  return std::all_of(form.types.begin(), form.types.end(),
                     [](const TensorType& type) { return ElementCount(type.shape) <= kLargestTensor; });
}

// If a path to a parameter went through such an op, that would be an error, so its value goes into metrics.
bool HasGradient(const OpDefinition& op) { return op.gradient != nullptr; }

// Samples keep these inputs away from 0 by their signed domain; values that flow do not.
bool IsSingularAtZero(const OpForm& form, size_t input) { return form.op->kind == OpKind::kDiv && input == 1; }

class RandomGraphMaker {
 public:
  RandomGraphMaker(Random& random, const RandomGraphOptions& options)
      : random_(random), options_(options), values_(random) {}

  Graph Make() && {
    values_.Parameter({RandomInt(random_, 2, options_.largest_size), RandomInt(random_, 1, options_.largest_size)});
    for (int i = 0; i < options_.ops; ++i) AddOp();
    AddLoss();
    AddMetrics();
    return std::move(values_.builder()).Build();
  }

 private:
  void AddOp() {
    const OpForm& form = values_.OneOf(values_.OneOf(OpForms()));
    if (!HasGradient(*form.op) && form.output.dtype == DType::kF32) {
      for_metrics_.push_back(&form);
      return;
    }
    Use(form);
  }

  // Adds the op in sizes that fit an existing value, or random ones.
  std::optional<OpId> Use(const OpForm& form) {
    std::vector<OpId> chosen(form.types.size());
    std::vector<bool> is_chosen(form.types.size(), false);
    std::vector<int64_t> sizes = RandomSizes(form, options_.largest_size, random_);
    for (size_t input = 0; input < form.types.size(); ++input) {
      if (form.fills[input] != Fill::kSigned && form.fills[input] != Fill::kDistinct) continue;
      if (IsSingularAtZero(form, input)) continue;
      const OpId value = Recent();
      std::optional<std::vector<int64_t>> fitting = SizesThatFit(form, input, values_.type(value).shape, sizes);
      if (!fitting.has_value()) continue;
      sizes = *std::move(fitting);
      chosen[input] = value;
      is_chosen[input] = true;
      break;
    }
    OpForm resized = Resized(form, sizes);
    if (!IsSmall(resized)) return std::nullopt;
    for (size_t input = 0; input < resized.types.size(); ++input) {
      if (!is_chosen[input]) chosen[input] = InputOf(resized, input);
    }
    const std::optional<OpId> made = values_.TryAdd(form.op->kind, chosen, resized.attributes);
    if (!made.has_value()) return std::nullopt;
    return values_.Tamed(*made);
  }

  OpId Recent() {
    const std::vector<OpId> reals = values_.OfType(DType::kF32);
    return values_.Chance(0.6) ? reals[reals.size() - 1 - random_() % std::min<size_t>(3, reals.size())]
                               : values_.OneOf(reals);
  }

  OpId InputOf(const OpForm& form, size_t input) {
    const TensorType& type = form.types[input];
    if (IsSingularAtZero(form, input)) return values_.Real(type.shape, Fill::kPositive);
    if (type.dtype == DType::kF32) return values_.Real(type.shape, form.fills[input]);
    // Integers that ops compute may be negative or large, so only a cast takes any of them.
    for (OpId value : values_.OfType(DType::kI32)) {
      if (form.op->kind == OpKind::kCast && values_.type(value) == type) return value;
    }
    return values_.Labels(type.shape);
  }

  // Makes the loss from every value that nothing has read.
  void AddLoss() {
    Graph& graph = values_.builder().mutable_graph();
    std::vector<OpId> leaves;
    const IdVector<OpId, std::vector<OpId>> users = Users(graph);
    for (const Op& op : graph.ops) {
      if (users[op.id].empty() && op.type.dtype == DType::kF32 && op.phase == Phase::kForward) leaves.push_back(op.id);
    }
    std::shuffle(leaves.begin(), leaves.end(), random_);
    OpId loss = Scalar(
        graph.ops.begin()->id);  // The first parameter, because a loss that depends on no parameter has no gradient.
    for (OpId leaf : leaves) loss = values_.Add(OpKind::kAdd, {loss, Scalar(leaf)});
    graph.loss = loss;
  }

  OpId Scalar(OpId value) {
    const Shape shape = values_.type(value).shape;
    const bool has_classes = shape.size() > 1 && shape.back() > 1;
    if (has_classes && values_.Chance(0.2)) {
      const OpId labels = values_.Labels(Shape(shape.begin(), shape.end() - 1));
      return values_.Add(OpKind::kCrossEntropy, {values_.Add(OpKind::kTanh, {value}), labels});
    }
    if (values_.Chance(0.2)) {
      return values_.Add(values_.Chance(0.5) ? OpKind::kMse : OpKind::kMae,
                         {value, values_.Real(shape, Fill::kSigned)});
    }
    return values_.Add(values_.Chance(0.5) ? OpKind::kReduceMean : OpKind::kReduceSum,
                       {values_.Add(OpKind::kTanh, {value})});
  }

  void AddMetrics() {
    values_.SetPhase(Phase::kMetric);
    if (values_.Chance(0.3)) for_metrics_.push_back(&values_.OneOf(values_.OneOf(OpForms())));
    for (const OpForm* form : for_metrics_) {
      const std::optional<OpId> made = Use(*form);
      if (!made.has_value() || values_.type(*made).dtype != DType::kF32) continue;
      const OpId value = values_.type(*made).shape.empty() ? *made : values_.Add(OpKind::kReduceMean, {*made});
      std::vector<Metric>& metrics = values_.builder().mutable_graph().metrics;
      metrics.push_back({.name = absl::StrCat("metric_", metrics.size()), .value = value});
    }
    values_.SetPhase(Phase::kForward);
  }

  Random& random_;
  const RandomGraphOptions options_;
  ValueMaker values_;
  std::vector<const OpForm*> for_metrics_;
};

}  // namespace

Graph RandomForwardGraph(Random& random, const RandomGraphOptions& options) {
  Graph graph = RandomGraphMaker(random, options).Make();
  graph.model = "Random";
  graph.file = "random.model";
  graph.hash = "xxh3:0";
  return graph;
}

TestOptimizer RandomOptimizer(Random& random) {
  using Kind = TestOptimizer::Kind;
  constexpr Kind kKinds[] = {Kind::kSgd, Kind::kMomentum, Kind::kAdam};
  const std::string schedules[] = {"0.1", "mul(0.1, minimum(1.0, div(step, 5.0)))", "div(0.1, sqrt(step))"};
  // Of Adam's epsilon: otherwise a step by the sign of a gradient near zero would depend on rounding.
  TestOptimizer optimizer{.kind = kKinds[random() % 3], .schedule = schedules[random() % 3], .epsilon = 0.1};
  if (random() % 2 == 0) optimizer.weight_decay = 0.01;
  return optimizer;
}

Graph RandomTrainingGraph(Random& random, const RandomGraphOptions& options) {
  Graph forward = RandomForwardGraph(random, options);
  absl::StatusOr<Graph> graph = Differentiate(std::move(forward), RandomOptimizer(random));
  CLEAVE_CHECK(graph.ok()) << graph.status();
  return *std::move(graph);
}

}  // namespace cleave::ir
