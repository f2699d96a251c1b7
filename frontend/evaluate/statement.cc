// Statements: names bound, loops unrolled, paths for what their calls make.
#include "absl/strings/str_cat.h"
#include "base/match/match.h"
#include "base/text/text.h"
#include "frontend/evaluate/evaluator.h"
#include "frontend/functions/calls.h"

namespace cleave::frontend {
std::string Frame::PathOf(const std::string& name) const {
  std::string result = path;
  if (!name.empty()) absl::StrAppend(&result, result.empty() ? "" : ".", name);
  for (int64_t index : loop_indices) absl::StrAppend(&result, result.empty() ? "" : ".", index);
  return result;
}

void Evaluator::Run(const std::vector<syntax::Statement>& body, Frame& frame) {
  for (const syntax::Statement& statement : body) {
    if (exhausted_ || frame.failed) return;
    if (frame.result) {
      reporter_.Report(Error(Code::kE0211, "a statement after `return`").At(statement.span, "never runs"));
      return;
    }
    RunStatement(statement, frame);
  }
}

void Evaluator::RunStatement(const syntax::Statement& statement, Frame& frame) {
  const Span span = statement.span;
  const bool takes_attributes =
      std::holds_alternative<syntax::Let>(statement.kind) || std::holds_alternative<syntax::Assign>(statement.kind) ||
      std::holds_alternative<syntax::Param>(statement.kind) || std::holds_alternative<syntax::Input>(statement.kind) ||
      std::holds_alternative<syntax::Return>(statement.kind) || std::holds_alternative<syntax::Loss>(statement.kind) ||
      std::holds_alternative<syntax::Metric>(statement.kind) || std::holds_alternative<syntax::For>(statement.kind);
  if (!takes_attributes) {
    for (const syntax::Attribute& attribute : statement.attributes) {
      reporter_.Report(Error(Code::kE0305, absl::StrCat("`#[", attribute.name.text, "]` means nothing here"))
                           .At(attribute.span, "stands on no op"));
    }
  }
  Match(
      statement.kind, [&](const syntax::Input& input) { RunInput(input, statement, frame); },
      [&](const syntax::Param& param) { RunParam(param, statement, frame); },
      [&](const syntax::Let& let) { RunLet(let, statement, frame); },
      [&](const syntax::Assign& assign) { RunAssign(assign, statement, frame); },
      [&](const syntax::For& loop) { RunFor(loop, statement, frame); },
      [&](const syntax::Loss& loss) { RunLoss(loss, statement, frame); },
      [&](const syntax::Metric& metric) { RunMetric(metric, statement, frame); },
      [&](const syntax::Return& result) { RunReturn(result, statement, frame); },
      [&](const syntax::Print& print) {
        RunEffect(OpKind::kPrint, print.value, {{attribute::kLocal, print.is_local}}, span, frame);
      },
      [&](const syntax::AssertFinite& check) { RunEffect(OpKind::kAssertFinite, check.value, {}, span, frame); },
      [&](const syntax::Evaluate& evaluate) {
        if (const auto* call = std::get_if<syntax::Call>(&evaluate.value.kind)) {
          const auto* name = std::get_if<syntax::Name>(&call->callee->kind);
          if (name != nullptr && name->text == "send" && graph().is_manual() &&
              functions_.Find("send", frame.function).index() == 0) {
            Send(*call, evaluate.value.span, frame);
            return;
          }
          if (name != nullptr && name->text == "assert" && functions_.Find("assert", frame.function).index() == 0) {
            Assert(*call, evaluate.value.span, frame);
            return;
          }
        }
        const Value value = EvaluateNamed("", evaluate.value, {}, frame);
        if (value.is_poison()) return;
        reporter_.Report(Error(Code::kE0211, "a value that nothing takes")
                             .At(evaluate.value.span, absl::StrCat("this is ", DescribeType(value, graph())))
                             .Help("give it a name: `let y = …;`"));
      });
}

// Evaluates the expression of a statement; what its calls make is named after `name`.
Value Evaluator::EvaluateNamed(const std::string& name, const syntax::Expression& expression,
                               const std::vector<syntax::Attribute>& attributes, Frame& frame) {
  int owners = 0;
  ForEachCall(expression, [&](const std::string& callee, Span) {
    owners += functions_.OwnsParameters(callee, frame.function) ? 1 : 0;
  });
  Naming before = std::move(frame.naming);
  frame.naming = Naming{.path = frame.PathOf(name), .ordinals = owners > 1};
  Value value = EvaluateAttributed(expression, attributes, frame);
  frame.naming = std::move(before);
  return value;
}

bool Evaluator::IsFree(const syntax::Identifier& name, const Frame& frame) {
  const Binding* other = frame.scope.FindInBlock(name.text);
  if (other == nullptr) return true;
  Diagnostic error = Error(Code::kE0202, absl::StrCat("`", name.text, "` is defined twice"))
                         .At(name.span, "defined again here")
                         .At(other->definition, "first defined here");
  if (other->kind == BindingKind::kLet) {
    error.help.push_back(
        absl::StrCat("to change a value: `let mut ", name.text, " = …;`, then `", name.text, " = …;`"));
  }
  reporter_.Report(std::move(error));
  return false;
}

void Evaluator::RunLet(const syntax::Let& let, const syntax::Statement& statement, Frame& frame) {
  if (!IsFree(let.name, frame)) return;
  Value value = EvaluateNamed(let.name.text, let.value, statement.attributes, frame);
  if (let.type && !value.is_poison() &&
      !CheckType(*let.type, value, let.type->span, absl::StrCat("`", let.name.text, "`"), frame)) {
    value = Value{Poison()};
  }
  frame.scope.Define({let.name.text, let.name.span, BindingKind::kLet, let.is_mutable, false, std::move(value)});
}

void Evaluator::RunAssign(const syntax::Assign& assign, const syntax::Statement& statement, Frame& frame) {
  Value value = EvaluateNamed(assign.name.text, assign.value, statement.attributes, frame);
  Binding* binding = frame.scope.Find(assign.name.text);
  if (binding == nullptr) {
    Diagnostic error = Error(Code::kE0201, absl::StrCat("unknown name `", assign.name.text, "`"))
                           .At(assign.name.span, "not defined here");
    if (auto nearest = NearestName(assign.name.text, frame.scope.Names())) {
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    } else {
      error.help.push_back(absl::StrCat("define it: `let ", assign.name.text, " = …;`"));
    }
    reporter_.Report(std::move(error));
    return;
  }
  if (!binding->is_mutable) {
    Diagnostic error =
        Error(Code::kE0209, absl::StrCat("`", assign.name.text, "` cannot be assigned to"))
            .At(assign.name.span, "assigned here")
            .At(binding->definition, binding->kind == BindingKind::kLet ? "defined without `mut`" : "defined here");
    if (binding->kind == BindingKind::kLet) error.help.push_back(absl::StrCat("`let mut ", assign.name.text, " = …;`"));
    reporter_.Report(std::move(error));
    return;
  }
  const bool same_kind = binding->value.is_poison() || value.is_poison() || SameKind(binding->value, value);
  if (!same_kind) {
    reporter_.Report(Error(Code::kE0204, absl::StrCat("`", assign.name.text, "` changes its kind of value"))
                         .At(assign.value.span, absl::StrCat("this is ", DescribeType(value, graph())))
                         .At(binding->definition, absl::StrCat("it was ", DescribeType(binding->value, graph()))));
    value = Value{Poison()};
  }
  binding->value = std::move(value);
}

void Evaluator::RunFor(const syntax::For& loop, const syntax::Statement& statement, Frame& frame) {
  for (const syntax::Attribute& attribute : statement.attributes) {
    if (IsBlockAttribute(attribute.name.text)) continue;
    reporter_.Report(Error(Code::kE0305, absl::StrCat("`#[", attribute.name.text, "]` means nothing on a loop"))
                         .At(attribute.span, "stands on no op"));
  }
  const auto bound = [&](const syntax::Expression& expression) -> std::optional<int64_t> {
    const Value value = Evaluate(expression, frame);
    if (value.is_int()) return value.as_int();
    if (value.is_per_rank() && OnRank(value, 0).is_int()) {
      ReportDiffering("a loop whose passes differ between ranks", expression, value,
                      FirstCommunication(loop.body, functions_, frame.function), frame);
    } else if (!value.is_poison()) {
      reporter_.Report(Error(Code::kE0204, "the ends of a range must be ints")
                           .At(expression.span, absl::StrCat("this is ", DescribeType(value, graph()))));
    }
    return std::nullopt;
  };
  const std::optional<int64_t> begin = bound(loop.begin);
  const std::optional<int64_t> end = bound(loop.end);
  if (!begin || !end) return;
  for (int64_t i = *begin; i < *end; ++i) {
    if (Exhausted(loop.begin.span)) return;
    frame.loop_indices.push_back(i);
    frame.scope.Push();
    frame.scope.Define({loop.variable.text, loop.variable.span, BindingKind::kLoopVariable, false, true, Value{i}});
    const std::vector<BlockDemand> demands = ReadBlockAttributes(statement.attributes, frame);
    const int first = static_cast<int>(graph().ops.size());
    Run(loop.body, frame);
    PinPass(demands, frame);
    PinOpsFrom(first, demands);
    CloseBlock(frame);
    frame.loop_indices.pop_back();
  }
}

void Evaluator::RunReturn(const syntax::Return& result, const syntax::Statement& statement, Frame& frame) {
  Value value = EvaluateNamed("", result.value, statement.attributes, frame);
  if (frame.function == nullptr) {
    reporter_.Report(
        Error(Code::kE0211, "`return` outside a function").At(result.value.span, "a model has a `loss` instead"));
  } else if (!frame.loop_indices.empty()) {
    reporter_.Report(Error(Code::kE0211, "`return` inside a loop")
                         .At(result.value.span, "would end the first pass")
                         .Help("assign to a `let mut` in the loop and return it after the loop"));
    value = Value{Poison()};
  }
  frame.result = std::move(value);
}

void Evaluator::RunEffect(OpKind kind, const syntax::Expression& expression, Attributes attributes, Span span,
                          Frame& frame) {
  const auto* name = std::get_if<syntax::Name>(&expression.kind);
  const Value value = EvaluateNamed(name ? name->text : "", expression, {}, frame);
  if (value.is_poison()) return;
  if (!value.is_tensor()) {
    reporter_.Report(Error(Code::kE0204, absl::StrCat("`", OpKindName(kind), "` takes a tensor"))
                         .At(expression.span,
                             absl::StrCat("this is ", DescribeType(value, graph()), ", ", ValueText(value, graph()))));
    return;
  }
  Naming before = std::move(frame.naming);
  frame.naming = Naming{.path = frame.PathOf(name ? name->text : "")};
  AddOp(kind, {{&expression, value.as_tensor()}}, std::move(attributes), span, frame);
  frame.naming = std::move(before);
}

void Evaluator::CloseBlock(Frame& frame) {
  for (const Binding& binding : frame.scope.Pop()) {
    if (binding.used || binding.name[0] == '_' || binding.value.is_poison()) continue;
    if (binding.kind == BindingKind::kLet) {
      reporter_.Report(Warning(Code::kW0611, absl::StrCat("`", binding.name, "` is never used"))
                           .At(binding.definition, "defined here")
                           .Help(absl::StrCat("if that is meant, call it `_", binding.name, "`")));
    } else if (binding.kind == BindingKind::kInput) {
      reporter_.Report(Warning(Code::kW0612, absl::StrCat("input `", binding.name, "` is never used"))
                           .At(binding.definition, "defined here"));
    } else if (binding.kind == BindingKind::kParameter) {
      reporter_.Report(Warning(Code::kW0613, absl::StrCat("parameter `", binding.name, "` is never used"))
                           .At(binding.definition, "defined here"));
    }
  }
}

}  // namespace cleave::frontend
