#include "frontend/evaluate/loss_and_metrics.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/manual/primitives.h"

namespace cleave::frontend {
namespace {

// The x of `all_reduce(x, mean)` and `all_reduce(x) / world`; else null.
const dsl::syntax::Expression* WhatRanksReduce(const dsl::syntax::Expression& expression) {
  if (const auto* binary = std::get_if<dsl::syntax::Binary>(&expression.kind)) return WhatRanksReduce(*binary->left);
  const auto* call = std::get_if<dsl::syntax::Call>(&expression.kind);
  const auto* callee = call ? std::get_if<dsl::syntax::Name>(&call->callee->kind) : nullptr;
  const bool reduces = callee != nullptr && FindPrimitive(callee->text) == Primitive::kAllReduce;
  return reduces && !call->arguments.empty() ? &*call->arguments[0].value : nullptr;
}

// The name of a metric in logs, taken from the outermost call of its expression.
std::string MetricName(const dsl::syntax::Expression& expression) {
  if (const auto* attributed = std::get_if<dsl::syntax::Attributed>(&expression.kind))
    return MetricName(*attributed->operand);
  if (const dsl::syntax::Expression* own = WhatRanksReduce(expression)) return MetricName(*own);
  if (const auto* call = std::get_if<dsl::syntax::Call>(&expression.kind)) return MetricName(*call->callee);
  if (const auto* name = std::get_if<dsl::syntax::Name>(&expression.kind)) return name->text;
  return "metric";
}

}  // namespace

void LossAndMetrics::SetLoss(const dsl::syntax::Loss& loss, const Value& value, const Frame& frame,
                             const Context& context) {
  if (frame.function != nullptr) {
    context.reporter.Report(Error(Code::kE0211, "`loss` inside a function")
                                .At(loss.value.span, "the loss belongs in the model itself")
                                .Help("return the value, and write `loss` in the model"));
    return;
  }
  if (loss_place_) {
    context.reporter.Report(
        Error(Code::kE0504, "two losses")
            .At(loss.value.span, *loss_place_ == loss.value.span ? "again in each pass of the loop" : "the second")
            .At(*loss_place_, "the first")
            .Help("add them: `loss a + b;`"));
    return;
  }
  loss_place_ = loss.value.span;
  if (value.is_poison()) return;
  if (!value.is_tensor() || context.ops.type(value.as_tensor()) != ir::TensorType{ir::DType::kF32, {}}) {
    Diagnostic error =
        Error(Code::kE0505, "the loss is not a scalar")
            .At(loss.value.span, absl::StrCat("this is ", DescribeType(value, context.graph()), ", not f32[]"));
    if (value.is_tensor() && context.ops.type(value.as_tensor()).rank() > 0)
      error.help.push_back("take the mean: `reduce_mean(…)`");
    context.reporter.Report(std::move(error));
    return;
  }
  context.ops.builder().mutable_graph().loss = value.as_tensor();
  loss_ = loss.value.span;
}

void LossAndMetrics::AddMetric(const dsl::syntax::Metric& metric, const Value& value, bool is_masked,
                               const Frame& frame, const Context& context) {
  if (frame.function != nullptr) {
    context.reporter.Report(Error(Code::kE0211, "`metric` inside a function")
                                .At(metric.value.span, "metrics belong in the model itself")
                                .Help("return the value, and write `metric` in the model"));
    return;
  }
  if (value.is_poison()) return;
  if (!value.is_tensor() || context.ops.type(value.as_tensor()) != ir::TensorType{ir::DType::kF32, {}}) {
    Diagnostic error =
        Error(Code::kE0505, "a metric is not a scalar")
            .At(metric.value.span, absl::StrCat("this is ", DescribeType(value, context.graph()), ", not f32[]"));
    if (value.is_tensor() && context.ops.type(value.as_tensor()).rank() > 0)
      error.help.push_back("take the mean: `reduce_mean(…)`");
    context.reporter.Report(std::move(error));
    return;
  }
  if (!is_masked) {
    context.reporter.Report(
        Warning(Code::kW0615, "this metric counts the padding of the last test batch")
            .At(metric.value.span, "leaves no sample out")
            .Note("`accuracy`, `cross_entropy`, `mse`, `mae`, `huber` and `bce_with_logits` of whole "
                  "batches, called in the `metric` itself, know which samples are real"));
  }
  const std::string wish = MetricName(metric.value);
  std::string name = wish;
  const auto taken = [&] {
    for (const ir::Metric& other : context.graph().metrics) {
      if (other.name == name) return true;
    }
    return false;
  };
  for (int i = 1; taken(); ++i) name = absl::StrCat(wish, "_", i);
  context.ops.builder().mutable_graph().metrics.push_back({name, value.as_tensor()});
  metrics_.push_back(metric.value.span);
}

}  // namespace cleave::frontend
