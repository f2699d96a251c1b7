// The model itself: its body, its loss, its metrics.
#include "absl/strings/str_cat.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {
namespace {

// The x of `all_reduce(x, mean)` and `all_reduce(x) / world`; else null.
const syntax::Expression* WhatRanksReduce(const syntax::Expression& expression) {
  if (const auto* binary = std::get_if<syntax::Binary>(&expression.kind)) return WhatRanksReduce(*binary->left);
  const auto* call = std::get_if<syntax::Call>(&expression.kind);
  const auto* callee = call ? std::get_if<syntax::Name>(&call->callee->kind) : nullptr;
  const bool reduces = callee != nullptr && FindPrimitive(callee->text) == Primitive::kAllReduce;
  return reduces && !call->arguments.empty() ? &*call->arguments[0].value : nullptr;
}

// What a metric is called in logs: by the outermost call of its expression.
std::string MetricName(const syntax::Expression& expression) {
  if (const auto* attributed = std::get_if<syntax::Attributed>(&expression.kind))
    return MetricName(*attributed->operand);
  if (const syntax::Expression* own = WhatRanksReduce(expression)) return MetricName(*own);
  if (const auto* call = std::get_if<syntax::Call>(&expression.kind)) return MetricName(*call->callee);
  if (const auto* name = std::get_if<syntax::Name>(&expression.kind)) return name->text;
  return "metric";
}

}  // namespace

void Evaluator::RunModel(const syntax::Model& model) {
  Frame frame;
  frame.scope = arguments_.scope;
  frame.scope.Push();
  Run(model.body, frame);
  CloseBlock(frame);
  if (!reporter_.has_errors()) ReportUnreceived();
  if (!loss_ && !exhausted_) {
    reporter_.Report(Error(Code::kE0503, absl::StrCat("model `", model.name.text, "` has no loss"))
                         .At(model.name.span, "nothing to train")
                         .Help("add one: `loss cross_entropy(logits, label);`"));
  }
}

void Evaluator::RunLoss(const syntax::Loss& loss, const syntax::Statement& statement, Frame& frame) {
  const Value value = EvaluateNamed("loss", loss.value, statement.attributes, frame);
  if (frame.function != nullptr) {
    reporter_.Report(Error(Code::kE0211, "`loss` inside a function")
                         .At(loss.value.span, "the loss stands in the model itself")
                         .Help("return the value, and write `loss` in the model"));
    return;
  }
  if (loss_) {
    reporter_.Report(
        Error(Code::kE0504, "two losses")
            .At(loss.value.span, *loss_ == loss.value.span ? "again in each pass of the loop" : "the second")
            .At(*loss_, "the first")
            .Help("add them: `loss a + b;`"));
    return;
  }
  loss_ = loss.value.span;
  if (value.is_poison()) return;
  if (!value.is_tensor() || builder_.type(value.as_tensor()) != TensorType{DType::kF32, {}}) {
    Diagnostic error = Error(Code::kE0505, "the loss is not a scalar")
                           .At(loss.value.span, absl::StrCat("this is ", DescribeType(value, graph()), ", not f32[]"));
    if (value.is_tensor() && builder_.type(value.as_tensor()).rank() > 0)
      error.help.push_back("take the mean: `reduce_mean(…)`");
    reporter_.Report(std::move(error));
    return;
  }
  builder_.mutable_graph().loss = value.as_tensor();
  expansion_.loss = loss.value.span;
}

void Evaluator::RunMetric(const syntax::Metric& metric, const syntax::Statement& statement, Frame& frame) {
  in_metric_ = true;
  masked_ = false;
  const Value value = EvaluateNamed("metric", metric.value, statement.attributes, frame);
  in_metric_ = false;
  if (frame.function != nullptr) {
    reporter_.Report(Error(Code::kE0211, "`metric` inside a function")
                         .At(metric.value.span, "metrics stand in the model itself")
                         .Help("return the value, and write `metric` in the model"));
    return;
  }
  if (value.is_poison()) return;
  if (!value.is_tensor() || builder_.type(value.as_tensor()) != TensorType{DType::kF32, {}}) {
    Diagnostic error =
        Error(Code::kE0505, "a metric is not a scalar")
            .At(metric.value.span, absl::StrCat("this is ", DescribeType(value, graph()), ", not f32[]"));
    if (value.is_tensor() && builder_.type(value.as_tensor()).rank() > 0)
      error.help.push_back("take the mean: `reduce_mean(…)`");
    reporter_.Report(std::move(error));
    return;
  }
  if (!masked_) {
    reporter_.Report(
        Warning(Code::kW0615, "this metric counts the padding of the last test batch")
            .At(metric.value.span, "leaves no sample out")
            .Note("`accuracy`, `cross_entropy`, `mse` and `mae` of whole batches, called in the `metric` itself, "
                  "know which samples are real"));
  }
  const std::string wish = MetricName(metric.value);
  std::string name = wish;
  const auto taken = [&] {
    for (const Metric& other : graph().metrics) {
      if (other.name == name) return true;
    }
    return false;
  };
  for (int i = 1; taken(); ++i) name = absl::StrCat(wish, "_", i);
  builder_.mutable_graph().metrics.push_back({name, value.as_tensor()});
  expansion_.metrics.push_back(metric.value.span);
}

Expansion Evaluator::Finish() && {
  expansion_.graph = std::move(builder_).Build();
  return std::move(expansion_);
}

}  // namespace cleave::frontend
