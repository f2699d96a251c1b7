#include "frontend/evaluate/custom_call.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/types/parameter_types.h"
#include "frontend/evaluate/types/types.h"
#include "ir/graph/custom/custom.h"
#include "ir/tensor/formula/formula.h"

namespace cleave::frontend {
namespace {

// `..n` in a term becomes as many names as the tensor has dimensions there: n0, n1, …, or with further underscores
// where the rule has such names already.
class RestNames {
 public:
  explicit RestNames(const ir::Formula& rule) {
    const std::vector<std::string> names = ir::NamesOf(rule);
    taken_.insert(names.begin(), names.end());
  }

  ir::Formula::Term Expand(const ir::Formula::Term& term, int rank) const {
    ir::Formula::Term expanded;
    const int rest = rank - static_cast<int>(term.size()) + 1;
    for (const ir::Formula::Dimension& dimension : term) {
      const bool is_rest = dimension.size() == 1 && dimension[0][0] == '.';
      if (!is_rest) expanded.push_back(dimension);
      for (int d = 0; is_rest && d < rest; ++d) expanded.push_back({NameOf(dimension[0].substr(2), d)});
    }
    return expanded;
  }

 private:
  std::string NameOf(const std::string& list, int d) const {
    std::string separator;
    while (taken_.count(absl::StrCat(list, separator, d)) > 0) separator += "_";
    return absl::StrCat(list, separator, d);
  }

  std::set<std::string> taken_;
};

// The whole names after the expansion.
std::vector<std::string> WholeNames(const CustomOp& op, const ir::Formula& expanded) {
  std::vector<std::string> names;
  const std::set<std::string> whole(op.whole.begin(), op.whole.end());
  for (const std::string& name : ir::NamesOf(expanded)) {
    if (whole.count(name) > 0) names.push_back(name);
  }
  return names;
}

}  // namespace

Value CustomCalls::Call(const CustomOp& op, const CallSite& site, Regions& regions, const Context& context) {
  const auto& [call, span, frame] = site;
  const auto matched = MatchArguments(SignatureOf(op.head), call.arguments, span, context.reporter);
  ArgumentValues evaluated;
  for (const dsl::syntax::Argument& argument : call.arguments)
    evaluated[&argument] = context.Evaluate(*argument.value, frame);
  if (!matched || op.broken) return Value{Poison()};
  for (const auto& [argument, value] : evaluated) {
    if (value.is_poison()) return Value{Poison()};
  }
  regions.Enter(call, frame.naming.path, *matched, evaluated);
  std::vector<Value> values;
  for (const dsl::syntax::Argument* argument : *matched) {
    values.push_back(argument == nullptr ? Value{Poison()} : evaluated[argument]);
    if (argument != nullptr && values.back().is_poison()) return Value{Poison()};
  }
  Frame callee;
  callee.function = &op.function;
  if (!BindArguments(op.function, *matched, values, callee, context)) return Value{Poison()};
  const std::optional<ir::TensorType> result = EvaluateTensorType(op.head.results.front(), callee, context);
  if (!result) return Value{Poison()};

  ir::CustomForm form{.name = op.name(), .arguments = {}, .linear = op.linear, .body = op.body->path};
  std::vector<Operand> operands;
  for (size_t i = 0; i < op.head.parameters.size(); ++i) {
    const std::string& name = op.head.parameters[i].name.text;
    const Value value = context.demands.Settled(callee.scope.Find(name)->value);
    ir::CustomArgument& argument = form.arguments.emplace_back(ir::CustomArgument{.name = name});
    if (value.is_tensor()) operands.push_back({&*(*matched)[i]->value, value.as_tensor()});
    if (value.is_int()) argument.value = value.as_int();
    if (value.is_float()) argument.value = value.as_number();
    if (const bool* truth = std::get_if<bool>(&value.kind)) argument.value = *truth;
  }
  if (op.rule) {
    const RestNames names(*op.rule);
    ir::Formula rule{.inputs = {}, .output = names.Expand(op.rule->output, result->rank())};
    for (size_t i = 0; i < operands.size(); ++i) {
      rule.inputs.push_back(names.Expand(op.rule->inputs[i], context.ops.type(operands[i].op).rank()));
    }
    form.whole = WholeNames(op, rule);
    form.rule = rule.ToString();
  }
  ir::Attributes attributes = {{ir::attribute::kDType, result->dtype}, {ir::attribute::kShape, result->shape}};
  form.Write(attributes);

  const int first = context.ops.size();
  const Value value =
      context.ops.AddOp(ir::OpKind::kCustom, operands, std::move(attributes), frame.At(span), op.name());
  if (value.is_tensor()) calls_[value.as_tensor()] = {&op, span};
  context.ops.EndOperation(span, op.name(), first);
  return value;
}

void CustomCalls::MoveToBatched(const ir::Vectorized& batched) {
  std::map<ir::OpId, CustomCall> moved;
  for (const auto& [id, call] : calls_) {
    const auto now = batched.find(id);
    if (now == batched.end()) moved[id] = call;
    if (now == batched.end()) continue;
    for (ir::OpId main : now->second.main) moved[main] = call;
  }
  calls_ = std::move(moved);
}

}  // namespace cleave::frontend
