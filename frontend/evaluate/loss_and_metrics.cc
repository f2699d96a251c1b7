#include "frontend/evaluate/loss_and_metrics.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"
#include "frontend/attributes/attributes.h"
#include "frontend/manual/primitives.h"
#include "ir/graph/roles.h"

namespace cleave::frontend {
namespace {

constexpr char kTermWord[] = "term";
constexpr int64_t kLargestTable = 4096;  // That people read.

// The x of `all_reduce(x, mean)` and `all_reduce(x) / world`; else null.
const dsl::syntax::Expression* WhatRanksReduce(const dsl::syntax::Expression& expression) {
  if (const auto* binary = std::get_if<dsl::syntax::Binary>(&expression.kind)) return WhatRanksReduce(*binary->left);
  const auto* call = std::get_if<dsl::syntax::Call>(&expression.kind);
  const auto* callee = call ? std::get_if<dsl::syntax::Name>(&call->callee->kind) : nullptr;
  const bool reduces = callee != nullptr && FindPrimitive(callee->text) == Primitive::kAllReduce;
  return reduces && !call->arguments.empty() ? &*call->arguments[0].value : nullptr;
}

// The name of a metric in logs, taken from the outermost call of its expression.
std::string NameInLogs(const dsl::syntax::Expression& expression, const std::string& otherwise) {
  if (const auto* attributed = std::get_if<dsl::syntax::Attributed>(&expression.kind))
    return NameInLogs(*attributed->operand, otherwise);
  if (const dsl::syntax::Expression* own = WhatRanksReduce(expression)) return NameInLogs(*own, otherwise);
  if (const auto* call = std::get_if<dsl::syntax::Call>(&expression.kind)) return NameInLogs(*call->callee, otherwise);
  if (const auto* name = std::get_if<dsl::syntax::Name>(&expression.kind)) return name->text;
  return otherwise;
}

bool IsName(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

// The value of an argument of `term`, made of strings.
std::optional<std::vector<std::string>> ReadStrings(const dsl::syntax::Expression& expression, const std::string& what,
                                                    Frame& frame, const Context& context) {
  const Value value = context.EvaluateStatic(expression, frame);
  if (value.is_poison()) return std::nullopt;
  std::optional<std::vector<std::string>> strings = StringsOf(value);
  if (strings.has_value()) return strings;
  context.reporter.Report(
      Error(Code::kE0204, what).At(expression.span, absl::StrCat("this is ", DescribeType(value, context.graph()))));
  return std::nullopt;
}

// `every`, `after` and `turns` of a term.
Turns ReadTurns(const std::array<const dsl::syntax::Argument*, 3>& given, Frame& frame, const Context& context) {
  Turns turns;
  const auto read = [&](const dsl::syntax::Argument* argument, const char* what, int64_t least, int64_t& number) {
    if (argument == nullptr) return;
    const std::optional<int64_t> value = context.EvaluateInt(*argument->value, what, frame);
    if (value.has_value() && *value < least) {
      context.reporter.Report(Error(Code::kE0303, absl::StrCat(what, " must be at least ", least))
                                  .At(argument->value->span, absl::StrCat("this is ", *value)));
    }
    number = std::max(value.value_or(least), least);
  };
  read(given[0], "`every`", 1, turns.every);
  read(given[1], "`after`", 0, turns.after);
  read(given[2], "`turns`", 1, turns.turns);
  if (turns.turns > turns.every) {
    context.reporter.Report(
        Error(Code::kE0303, "a loss with more turns than steps")
            .At(given[2]->value->span, absl::StrCat(turns.turns, " turns in every ", Plural(turns.every, "step")))
            .Help("`every = 6, turns = 5`: five steps of six"));
    return {};
  }
  return turns;
}

LossTerm ReadLossTerm(const dsl::syntax::Attribute& attribute, Frame& frame, const Context& context) {
  static const auto& kTerm = *new Signature{.callee = kTermWord,
                                            .arguments = {{"name", "name: string", false},
                                                          {"weight", "weight: float = 1.0", false},
                                                          {"trains", "trains: string = \"*\"", false},
                                                          {"every", "every: int = 1", false},
                                                          {"after", "after: int = 0", false},
                                                          {"turns", "turns: int = 1", false}}};
  LossTerm term;
  const auto matched = MatchArguments(kTerm, attribute.arguments, attribute.span, context.reporter);
  if (!matched) return term;
  const auto strings = [&](const dsl::syntax::Argument* given, const char* what) {
    return given == nullptr ? std::nullopt : ReadStrings(*given->value, what, frame, context);
  };
  const dsl::syntax::Argument* const weight = (*matched)[1];
  if (const auto name = strings((*matched)[0], "the name of a loss is a string")) {
    if (name->size() == 1 && IsName(name->front())) {
      term.name = name->front();
    } else {
      context.reporter.Report(Error(Code::kE0204, "the name of a loss has letters, digits and `_`")
                                  .At((*matched)[0]->value->span, "not such a name"));
    }
  }
  if (weight != nullptr) term.weight = context.EvaluateNumber(*weight->value, "`weight`", frame);
  term.trains = strings((*matched)[2], "`trains` takes a pattern of parameters' names, or several")
                    .value_or(std::vector<std::string>());
  term.turns = ReadTurns({(*matched)[3], (*matched)[4], (*matched)[5]}, frame, context);
  return term;
}

// Whether a value is f32[]; reports anything else.
bool IsScalar(const Value& value, Span span, const std::string& what, const Context& context) {
  if (value.is_tensor() && context.ops.type(value.as_tensor()) == ir::TensorType{ir::DType::kF32, {}}) return true;
  Diagnostic error = Error(Code::kE0505, absl::StrCat(what, " is not a scalar"))
                         .At(span, absl::StrCat("this is ", DescribeType(value, context.graph()), ", not f32[]"));
  if (value.is_tensor() && context.ops.type(value.as_tensor()).rank() > 0)
    error.help.push_back("take the mean: `reduce_mean(…)`");
  context.reporter.Report(std::move(error));
  return false;
}

// Whether a value can be a metric: a number, or a table of sums over an evaluation; reports anything else.
bool IsMeasure(const Value& value, Span span, const Context& context) {
  const ir::TensorType type = value.is_tensor() ? context.ops.type(value.as_tensor()) : ir::TensorType();
  const bool is_table = value.is_tensor() && type.dtype == ir::DType::kF32 && type.rank() > 0 &&
                        !ir::MetricSourcesOf(context.graph(), value.as_tensor()).totals.empty();
  if (!is_table) return IsScalar(value, span, "a metric", context);
  if (type.rank() <= 2 && type.elements() <= kLargestTable) return true;
  context.reporter.Report(
      Error(Code::kE0505, "a metric that is too large for a table")
          .At(span, absl::StrCat("this is ", type.ToString()))
          .Note(absl::StrCat("a table has 1 or 2 dimensions and at most ", kLargestTable, " numbers")));
  return false;
}

// What is computed from totals is shown after the last batch of an evaluation: it must be the same after each order of
// batches. Reports where it is not.
bool CheckTotals(const dsl::syntax::Metric& metric, ir::OpId value, const Context& context) {
  const ir::Graph& graph = context.graph();
  const ir::MetricSources sources = ir::MetricSourcesOf(graph, value);
  if (sources.totals.empty()) return true;
  Diagnostic error = Error(Code::kE0526, "");
  if (!sources.inputs.empty()) {
    error = Error(Code::kE0526, "a metric of totals that also reads a single batch")
                .At(metric.value.span,
                    absl::StrCat("reads `", graph.op(sources.inputs[0]).name, "` with no `total` in between"))
                .Help("add up over the batches all that it reads of them: `total(reduce_sum(…))`");
  }
  for (const ir::OpId total : sources.totals) {
    if (ir::MetricSourcesOf(graph, graph.op(total).inputs[0]).totals.empty()) continue;
    error = Error(Code::kE0526, "a total of totals")
                .At(metric.value.span, absl::StrCat("`", graph.op(total).name, "` adds up what is a total already"));
  }
  if (error.message.empty()) return true;
  context.reporter.Report(std::move(error));
  return false;
}

}  // namespace

LossTerm TakeLossTerm(std::vector<dsl::syntax::Attribute>& attributes, Frame& frame, const Context& context) {
  const std::optional<dsl::syntax::Attribute> term = TakeAttribute(kTermWord, attributes, context.reporter);
  return term.has_value() ? ReadLossTerm(*term, frame, context) : LossTerm();
}

void LossAndMetrics::AddLoss(const dsl::syntax::Loss& loss, const LossTerm& term, const Value& value,
                             const Frame& frame, const Context& context) {
  const Span span = loss.value.span;
  if (frame.function != nullptr) {
    context.reporter.Report(Error(Code::kE0211, "`loss` inside a function")
                                .At(span, "the loss belongs in the model itself")
                                .Help("return the value, and write `loss` in the model"));
    return;
  }
  if (!loss_place_) loss_place_ = span;
  if (value.is_poison() || !IsScalar(value, span, "the loss", context)) return;
  for (const Loss& other : losses_) {
    if (!term.name.has_value() || other.term.name != term.name) continue;
    context.reporter.Report(Error(Code::kE0202, absl::StrCat("two losses are called `", *term.name, "`"))
                                .At(span, span == other.span ? "again in each pass of the loop" : "the second")
                                .At(other.span, "the first"));
  }
  losses_.push_back({.name = term.name.value_or(NameInLogs(loss.value, "term")),
                     .span = span,
                     .value = value.as_tensor(),
                     .term = term});
}

// In logs `loss` is the sum, and `loss.kl` the value of one without its weight.
void LossAndMetrics::AddUpLosses(const Context& context) {
  const Origin origin{.span = loss_place_.value_or(Span()), .path = "loss"};
  const auto add = [&](std::optional<ir::OpId>& sum, ir::OpId value) {
    sum = sum.has_value()
              ? context.ops.AddOp(ir::OpKind::kAdd, {{nullptr, *sum}, {nullptr, value}}, {}, origin).as_tensor()
              : value;
  };
  std::map<std::vector<std::string>, std::optional<ir::OpId>> sums;  // By what they train.
  for (const Loss& loss : losses_) {
    ir::OpId value = loss.value;
    if (losses_.size() > 1 || loss.term.name.has_value()) {
      AddNamedMetric(absl::StrCat("loss.", loss.name), value, loss.span, context);
    }
    if (loss.term.weight.has_value()) value = Weighted(loss, context);
    if (sums.count(loss.term.trains) == 0) {
      trainers_.push_back({.loss = {}, .patterns = loss.term.trains, .span = loss.span, .turns = loss.term.turns});
    }
    CheckTurns(loss, context);
    add(sums[loss.term.trains], value);
  }
  std::optional<ir::OpId>& all = context.ops.builder().mutable_graph().loss;
  for (Trainer& trainer : trainers_) {
    trainer.loss = *sums.at(trainer.patterns);
    add(all, trainer.loss);
  }
  if (trainers_.size() == 1 && trainers_[0].patterns.empty() && trainers_[0].turns == Turns()) trainers_.clear();
}

// A flag changes the weight of a loss that has a name.
ir::OpId LossAndMetrics::Weighted(const Loss& loss, const Context& context) {
  const Origin origin{.span = loss.span, .path = "loss"};
  const double weight = *loss.term.weight;
  if (!loss.term.name.has_value()) {
    return context.ops.AddOp(ir::OpKind::kScale, {{nullptr, loss.value}}, {{ir::attribute::kFactor, weight}}, origin)
        .as_tensor();
  }
  const StepValue number{.formula = ir::NamedNumber(absl::StrCat("loss.", *loss.term.name, ".weight"), weight),
                         .name = absl::StrCat(*loss.term.name, ".weight")};
  const ir::OpId factor = context.ops.AddStepScalar(number, origin);
  return context.ops.AddOp(ir::OpKind::kMul, {{nullptr, loss.value}, {nullptr, factor}}, {}, origin).as_tensor();
}

void LossAndMetrics::CheckTurns(const Loss& loss, const Context& context) const {
  for (const Trainer& trainer : trainers_) {
    if (trainer.patterns != loss.term.trains || trainer.turns == loss.term.turns) continue;
    context.reporter.Report(Error(Code::kE0504, "losses that train the same parameters in different steps")
                                .At(loss.span, "trains in other steps")
                                .At(trainer.span, "than this one")
                                .Help("give both the same `every`, `after` and `turns`"));
  }
}

void LossAndMetrics::AddNamedMetric(const std::string& wish, ir::OpId value, Span span, const Context& context) {
  std::string name = wish;
  const auto taken = [&] {
    for (const ir::Metric& other : context.graph().metrics) {
      if (other.name == name) return true;
    }
    return false;
  };
  for (int i = 1; taken(); ++i) name = absl::StrCat(wish, "_", i);
  context.ops.builder().mutable_graph().metrics.push_back({name, value});
  metrics_.push_back(span);
}

void LossAndMetrics::AddMetric(const dsl::syntax::Metric& metric, const Value& value, bool is_masked,
                               const Frame& frame, const Context& context) {
  const Span span = metric.value.span;
  if (frame.function != nullptr) {
    context.reporter.Report(Error(Code::kE0211, "`metric` inside a function")
                                .At(span, "metrics belong in the model itself")
                                .Help("return the value, and write `metric` in the model"));
    return;
  }
  if (value.is_poison() || !IsMeasure(value, span, context)) return;
  if (!CheckTotals(metric, value.as_tensor(), context)) return;
  if (!is_masked) {
    context.reporter.Report(
        Warning(Code::kW0615, "this metric counts the padding of the last test batch")
            .At(span, "leaves no sample out")
            .Note("`accuracy`, `cross_entropy`, `mse`, `mae`, `huber` and `bce_with_logits` of whole "
                  "batches, called in the `metric` itself, know which samples are real; in other metrics "
                  "`sample_mask(x)` is 0 for padding"));
  }
  AddNamedMetric(NameInLogs(metric.value, "metric"), value.as_tensor(), span, context);
}

}  // namespace cleave::frontend
