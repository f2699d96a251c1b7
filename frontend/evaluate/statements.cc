#include "frontend/evaluate/statements.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/match/match.h"
#include "base/text/text.h"
#include "frontend/evaluate/builtins.h"
#include "frontend/evaluate/expressions.h"
#include "frontend/evaluate/function_call.h"
#include "frontend/evaluate/pins/block_pins.h"
#include "frontend/evaluate/ranks/primitive_call.h"
#include "frontend/evaluate/statics/per_rank.h"
#include "frontend/evaluate/types/types.h"
#include "frontend/functions/calls.h"

namespace cleave::frontend {
namespace {

// How calls in the expression of a statement called `name` name what they make.
Naming NamingOf(const std::string& name, const dsl::syntax::Expression& expression, const Frame& frame,
                Pieces& pieces) {
  int owners = 0;
  ForEachCall(expression,
              [&](const dsl::syntax::Call& call) { owners += OwnsParameters(call, frame, pieces) ? 1 : 0; });
  // Calls in a statement without a name have only the names of their callees to be told apart by.
  return {.path = frame.PathOf(name),
          .parameters = frame.ParametersOf(name),
          .stem = JoinPath(frame.parameters, name),
          .is_named = !name.empty(),
          .ordinals = owners > 1 || (name.empty() && frame.number > 0)};
}

// Evaluates the expression of a statement; the ops of its calls are named after `name`.
Value EvaluateNamed(const std::string& name, const dsl::syntax::Expression& expression,
                    const std::vector<dsl::syntax::Attribute>& attributes, Frame& frame, Pieces& pieces) {
  Naming before = std::exchange(frame.naming, NamingOf(name, expression, frame, pieces));
  Value value = EvaluateAttributed(expression, attributes, frame, pieces);
  frame.naming = std::move(before);
  return value;
}

bool IsWanted(const dsl::syntax::Identifier& name) { return name.text != "_"; }

// What a statement is called that gives values to `names`: "a_b".
std::string JoinedName(const std::vector<dsl::syntax::Identifier>& names) {
  std::string joined;
  for (const dsl::syntax::Identifier& name : names) {
    if (IsWanted(name)) absl::StrAppend(&joined, joined.empty() ? "" : "_", name.text);
  }
  return joined;
}

// The name of `op` with the path `own` instead of `shared`, and without the number that tells it from others under
// `shared`: "b.slice" for "a_b.slice_1".
std::string NameUnder(const std::string& own, const std::string& shared, const ir::Op& op) {
  const std::string rest = op.name.substr(shared.size());
  const std::string kind = absl::StrCat(".", ir::OpKindName(op.kind));
  const size_t at = rest.rfind(kind + "_");
  const bool has_number =
      at != std::string::npos && rest.find_first_not_of("0123456789", at + kind.size() + 1) == std::string::npos;
  return own + (has_number ? rest.substr(0, at + kind.size()) : rest);
}

// Gives the ops from `first` on that compute `values` the names that they would have in a `let` of one name.
void NameResults(const std::vector<dsl::syntax::Identifier>& names, const std::vector<Value>& values, int first,
                 const Frame& frame, OpWriter& ops) {
  const std::string shared = frame.PathOf(JoinedName(names));
  std::map<ir::OpId, std::string> named;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!IsWanted(names[i]) || !values[i].is_tensor() || values[i].as_tensor().value() < first) continue;
    const ir::Op& op = ops.graph().op(values[i].as_tensor());
    const bool is_source = ir::DefinitionOf(op).op_class == ir::OpClass::kSource;
    if (is_source || !absl::StartsWith(op.name, shared + ".")) continue;
    named.try_emplace(op.id, NameUnder(frame.PathOf(names[i].text), shared, op));
  }
  ops.Rename(named);
}

// The values of `names`: of one name that of the expression, of several the elements of its tuple.
std::vector<Value> EvaluateFor(const std::vector<dsl::syntax::Identifier>& names,
                               const dsl::syntax::Expression& expression,
                               const std::vector<dsl::syntax::Attribute>& attributes, Frame& frame, Pieces& pieces) {
  const int first = pieces.ops.size();
  Value value = EvaluateNamed(JoinedName(names), expression, attributes, frame, pieces);
  if (names.size() == 1) return {std::move(value)};
  if (value.is_tuple() && value.as_tuple().size() == names.size()) {
    NameResults(names, value.as_tuple(), first, frame, pieces.ops);
    return value.as_tuple();
  }
  if (!value.is_poison()) {
    const std::string kind = DescribeType(value, pieces.ops.graph());
    Diagnostic error = Error(Code::kE0204, absl::StrCat(names.size(), " names for ", kind))
                           .At(Cover(names.front().span, names.back().span), "one name for each element of a tuple")
                           .At(expression.span, absl::StrCat("this is ", kind));
    if (value.is_tuple()) error.help.push_back("`_` stands for an element that gets no name");
    pieces.reporter.Report(std::move(error));
  }
  return std::vector<Value>(names.size(), Value{Poison()});
}

// Reports names that are defined already, and names that stand twice.
bool AreFree(const std::vector<dsl::syntax::Identifier>& names, const Scope& scope, Reporter& reporter) {
  std::map<std::string, Span> seen;
  for (const dsl::syntax::Identifier& name : names) {
    if (!IsWanted(name)) continue;
    if (!IsFree(name, scope, reporter)) return false;
    const auto [first, is_new] = seen.try_emplace(name.text, name.span);
    if (is_new) continue;
    reporter.Report(Error(Code::kE0202, absl::StrCat("`", name.text, "` is defined twice"))
                        .At(name.span, "defined again here")
                        .At(first->second, "first defined here")
                        .Help("`_` stands for an element that gets no name"));
    return false;
  }
  return true;
}

// A number of the step gets the name of the `let` that it is made for.
Value Named(const std::string& name, Value value) {
  if (value.is_of_step() && value.as_of_step().name.empty()) std::get<StepValue>(value.kind).name = name;
  return value;
}

void RunLet(const dsl::syntax::Let& let, const dsl::syntax::Statement& statement, Frame& frame, Pieces& pieces) {
  const Context& context = pieces.context;
  std::vector<Value> values(let.names.size(), Value{Poison()});
  if (AreFree(let.names, frame.scope, context.reporter)) {
    values = EvaluateFor(let.names, let.value, statement.attributes, frame, pieces);
  }
  if (let.type && !values[0].is_poison() &&
      !CheckType(*let.type, values[0], let.type->span, absl::StrCat("`", let.names[0].text, "`"), frame, context)) {
    values[0] = Value{Poison()};
  }
  for (size_t i = 0; i < let.names.size(); ++i) {
    const dsl::syntax::Identifier& name = let.names[i];
    if (!IsWanted(name) || frame.scope.FindInBlock(name.text) != nullptr) continue;
    context.Saw(name.span, values[i]);
    frame.scope.Define({name.text, name.span, BindingKind::kLet, let.is_mutable, false, Named(name.text, values[i]),
                        let.type ? &*let.type : nullptr});
  }
}

// `place`: the expression that gave the value.
void AssignTo(const dsl::syntax::Identifier& name, Value value, Span place, Frame& frame, const Context& context) {
  Binding* binding = frame.scope.Find(name.text);
  if (binding == nullptr) {
    Diagnostic error =
        Error(Code::kE0201, absl::StrCat("unknown name `", name.text, "`")).At(name.span, "not defined here");
    if (auto nearest = NearestName(name.text, frame.scope.Names())) {
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    } else {
      error.help.push_back(absl::StrCat("define it: `let ", name.text, " = …;`"));
    }
    context.reporter.Report(std::move(error));
    return;
  }
  if (!binding->is_mutable) {
    Diagnostic error =
        Error(Code::kE0209, absl::StrCat("`", name.text, "` cannot be assigned to"))
            .At(name.span, "assigned here")
            .At(binding->definition, binding->kind == BindingKind::kLet ? "defined without `mut`" : "defined here");
    if (binding->kind == BindingKind::kLet) error.help.push_back(absl::StrCat("`let mut ", name.text, " = …;`"));
    context.reporter.Report(std::move(error));
    return;
  }
  if (binding->type != nullptr) {
    const std::string what = absl::StrCat("`", name.text, "`");
    const bool fits = value.is_poison() ||
                      CheckType(*binding->type, value, binding->type->span, what, frame, context, /*assigned=*/place);
    if (!fits) value = Value{Poison()};
  } else if (!binding->value.is_poison() && !value.is_poison() && !SameKind(binding->value, value)) {
    context.reporter.Report(
        Error(Code::kE0204, absl::StrCat("`", name.text, "` changes its kind of value"))
            .At(place, absl::StrCat("this is ", DescribeType(value, context.graph())))
            .At(binding->definition, absl::StrCat("it was ", DescribeType(binding->value, context.graph()))));
    value = Value{Poison()};
  }
  context.Saw(name.span, value);
  binding->value = std::move(value);
}

void RunAssign(const dsl::syntax::Assign& assign, const dsl::syntax::Statement& statement, Frame& frame,
               Pieces& pieces) {
  std::vector<Value> values = EvaluateFor(assign.names, assign.value, statement.attributes, frame, pieces);
  for (size_t i = 0; i < assign.names.size(); ++i) {
    if (IsWanted(assign.names[i]))
      AssignTo(assign.names[i], std::move(values[i]), assign.value.span, frame, pieces.context);
  }
}

void RunUpdate(const dsl::syntax::Update& update, Frame& frame, Pieces& pieces) {
  const Value value = EvaluateNamed(update.name.text, update.value, {}, frame, pieces);
  pieces.updates.Run(update, value, frame, pieces.vmap.is_mapped(), pieces.context);
}

void RunFor(const dsl::syntax::For& loop, const dsl::syntax::Statement& statement, Frame& frame, Pieces& pieces) {
  const Context& context = pieces.context;
  for (const dsl::syntax::Attribute& attribute : statement.attributes) {
    if (IsBlockAttribute(attribute.name.text)) continue;
    context.reporter.Report(Error(Code::kE0305, absl::StrCat("`#[", attribute.name.text, "]` has no meaning on a loop"))
                                .At(attribute.span, "applies to no op"));
  }
  const auto bound = [&](const dsl::syntax::Expression& expression) -> std::optional<int64_t> {
    const Value value = context.demands.Settled(context.Evaluate(expression, frame));
    if (value.is_int()) return value.as_int();
    if (value.is_per_rank() && OnRank(value, 0).is_int()) {
      context.reporter.Report(ProgramDiffersBetweenRanks(
          "a loop whose passes differ between ranks", expression, value,
          FirstCommunication(loop.body, pieces.functions, frame.function), frame.scope, context.graph()));
    } else if (!value.is_poison()) {
      context.reporter.Report(Error(Code::kE0204, "the ends of a range must be ints")
                                  .At(expression.span, absl::StrCat("this is ", DescribeType(value, context.graph()))));
    }
    return std::nullopt;
  };
  // The elements of a tuple, or else the numbers of a range. A pass is called by its number in both.
  std::vector<Value> elements;
  int64_t begin = 0, end = 0;
  if (loop.end) {
    const std::optional<int64_t> first = bound(loop.begin);
    const std::optional<int64_t> last = bound(*loop.end);
    if (!first || !last) return;
    begin = *first;
    end = *last;
  } else {
    Naming before = frame.naming;
    frame.naming = NamingOf("", loop.begin, frame, pieces);
    frame.naming.path = before.path;
    Value tuple = context.demands.Settled(context.Evaluate(loop.begin, frame));
    frame.naming = std::move(before);
    if (tuple.is_poison()) return;
    if (!tuple.is_tuple()) {
      context.reporter.Report(Error(Code::kE0204, "a loop goes over a range or a tuple")
                                  .At(loop.begin.span, absl::StrCat("this is ", DescribeType(tuple, context.graph())))
                                  .Help("`for i in 0..n { … }`, or `for width in (96, 192) { … }`"));
      return;
    }
    elements = std::get<TupleValue>(std::move(tuple.kind)).elements;
    end = static_cast<int64_t>(elements.size());
  }
  for (int64_t i = begin; i < end; ++i) {
    if (pieces.budget.Exhausted(loop.begin.span)) return;
    frame.loop_indices.push_back(i);
    frame.scope.Push();
    const Value each = loop.end ? Value{i} : elements[static_cast<size_t>(i)];
    context.Saw(loop.variable.span, each);
    frame.scope.Define({loop.variable.text, loop.variable.span, BindingKind::kLoopVariable, false, true, each});
    const std::vector<BlockDemand> demands =
        ReadBlockAttributes(statement.attributes, context.IntsOf(frame), context.reporter);
    const int first = context.ops.size();
    const OpWriter::Inside pass = context.ops.EnterPass(i);
    RunStatements(loop.body, frame, pieces);
    PinPass(demands, frame.scope, pieces.pins);
    PinOpsFrom(first, frame.scope.ValuesAround(), demands, pieces.pins);
    WarnOfUnused(frame.scope.Pop(), context.reporter);
    frame.loop_indices.pop_back();
  }
}

// Whether the condition of a branch holds; nullopt after a mistake.
std::optional<bool> Holds(const dsl::syntax::If& choice, const dsl::syntax::Expression& condition, Frame& frame,
                          Pieces& pieces) {
  const Context& context = pieces.context;
  const Value value = context.demands.Settled(context.Evaluate(condition, frame));
  if (const bool* truth = std::get_if<bool>(&value.kind)) return *truth;
  if (value.is_poison()) return std::nullopt;
  const std::string kind = DescribeType(value, context.graph());
  if (value.is_per_rank() && std::holds_alternative<bool>(OnRank(value, 0).kind)) {
    std::optional<CommunicatingCall> call;
    for (const dsl::syntax::Branch& branch : choice.branches) {
      if (!call) call = FirstCommunication(branch.body, pieces.functions, frame.function);
    }
    context.reporter.Report(ProgramDiffersBetweenRanks("an `if` whose condition differs between ranks", condition,
                                                       value, call, frame.scope, context.graph()));
  } else if (value.is_tensor() || value.is_of_step()) {
    context.reporter.Report(Error(Code::kE0204, "the condition of `if` must be known when the model is compiled")
                                .At(condition.span, absl::StrCat("this is ", kind))
                                .Help("a choice while the program runs: `where(condition, a, b)`"));
  } else {
    context.reporter.Report(
        Error(Code::kE0204, "the condition of `if` must be a bool").At(condition.span, absl::StrCat("this is ", kind)));
  }
  return std::nullopt;
}

void RunIf(const dsl::syntax::If& choice, Frame& frame, Pieces& pieces) {
  bool is_open = true;  // No branch has been taken, and there was no mistake.
  for (const dsl::syntax::Branch& branch : choice.branches) {
    std::optional<bool> holds = false;
    if (is_open) holds = branch.condition ? Holds(choice, *branch.condition, frame, pieces) : true;
    if (holds == false) {
      if (branch.condition) MarkUsed(*branch.condition, frame.scope);
      MarkUsed(branch.body, frame.scope);
      continue;
    }
    is_open = false;
    if (!holds.has_value()) continue;
    frame.scope.Push();
    const OpWriter::Inside inside = pieces.context.ops.EnterPart(static_cast<size_t>(&branch - choice.branches.data()));
    RunStatements(branch.body, frame, pieces);
    WarnOfUnused(frame.scope.Pop(), pieces.reporter);
  }
}

void RunReturn(const dsl::syntax::Return& result, const dsl::syntax::Statement& statement, Frame& frame,
               Pieces& pieces) {
  const Context& context = pieces.context;
  Value value = EvaluateNamed("", result.value, statement.attributes, frame, pieces);
  if (frame.function == nullptr) {
    context.reporter.Report(
        Error(Code::kE0211, "`return` outside a function").At(result.value.span, "a model has a `loss` instead"));
  } else if (!frame.loop_indices.empty()) {
    context.reporter.Report(Error(Code::kE0211, "`return` inside a loop")
                                .At(result.value.span, "would end the first pass")
                                .Help("assign to a `let mut` in the loop and return it after the loop"));
    value = Value{Poison()};
  }
  frame.result = std::move(value);
}

void RunLook(ir::LookKind kind, const dsl::syntax::Expression& expression,
             const std::optional<dsl::syntax::Identifier>& part, Span span, Frame& frame, Pieces& pieces) {
  const Context& context = pieces.context;
  const absl::string_view word = kind == ir::LookKind::kAssertFinite ? "assert_finite" : "print";
  if (const auto* path = std::get_if<dsl::syntax::StringLiteral>(&expression.kind)) {
    return context.ops.AddLookByName(kind, absl::StrCat(path->value, part ? "." : "", part ? part->text : ""),
                                     expression.span);
  }
  const auto* name = std::get_if<dsl::syntax::Name>(&expression.kind);
  const Value value = EvaluateNamed(name ? name->text : "", expression, {}, frame, pieces);
  if (value.is_poison()) return;
  if (!value.is_tensor()) {
    context.reporter.Report(Error(Code::kE0204, absl::StrCat("`", word, "` takes a tensor"))
                                .At(expression.span, absl::StrCat("this is ", DescribeType(value, context.graph()),
                                                                  ", ", ValueText(value, context.graph()))));
    return;
  }
  context.ops.AddLook(kind, value.as_tensor(), part ? part->text : "", frame.At(span).span);
}

void RunLoss(const dsl::syntax::Loss& loss, const dsl::syntax::Statement& statement, Frame& frame, Pieces& pieces) {
  std::vector<dsl::syntax::Attribute> attributes = statement.attributes;
  const LossTerm term = TakeLossTerm(attributes, frame, pieces.context);
  const Value value = EvaluateNamed("loss", loss.value, attributes, frame, pieces);
  pieces.loss_and_metrics.AddLoss(loss, term, value, frame, pieces.context);
}

void RunMetric(const dsl::syntax::Metric& metric, const dsl::syntax::Statement& statement, Frame& frame,
               Pieces& pieces) {
  pieces.mask.BeginMetric();
  const Value value = EvaluateNamed("metric", metric.value, statement.attributes, frame, pieces);
  const bool is_masked = pieces.mask.EndMetric();
  pieces.loss_and_metrics.AddMetric(metric, value, is_masked, frame, pieces.context);
}

void RunStatement(const dsl::syntax::Statement& statement, Frame& frame, Pieces& pieces) {
  const Context& context = pieces.context;
  frame.statement = &statement;
  frame.number = pieces.numbers.NumberOf(frame.place, &statement);
  const Span span = statement.span;
  const bool takes_attributes = std::holds_alternative<dsl::syntax::Let>(statement.kind) ||
                                std::holds_alternative<dsl::syntax::Assign>(statement.kind) ||
                                std::holds_alternative<dsl::syntax::Param>(statement.kind) ||
                                std::holds_alternative<dsl::syntax::Input>(statement.kind) ||
                                std::holds_alternative<dsl::syntax::Return>(statement.kind) ||
                                std::holds_alternative<dsl::syntax::Loss>(statement.kind) ||
                                std::holds_alternative<dsl::syntax::Metric>(statement.kind) ||
                                std::holds_alternative<dsl::syntax::For>(statement.kind);
  if (!takes_attributes) {
    for (const dsl::syntax::Attribute& attribute : statement.attributes) {
      context.reporter.Report(Error(Code::kE0305, absl::StrCat("`#[", attribute.name.text, "]` has no meaning here"))
                                  .At(attribute.span, "applies to no op"));
    }
  }
  Match(
      statement.kind,
      [&](const dsl::syntax::Input& input) { pieces.sources.RunInput(input, statement, frame, pieces.pins, context); },
      [&](const dsl::syntax::Param& param) {
        if (pieces.optimizing.has_value())
          return pieces.sources.RunSlot(param, statement, frame, *pieces.optimizing, context);
        pieces.sources.RunParam(param, statement, frame, pieces.model, pieces.numbers, pieces.pins, context);
      },
      [&](const dsl::syntax::Let& let) { RunLet(let, statement, frame, pieces); },
      [&](const dsl::syntax::Assign& assign) { RunAssign(assign, statement, frame, pieces); },
      [&](const dsl::syntax::Update& update) { RunUpdate(update, frame, pieces); },
      [&](const dsl::syntax::For& loop) { RunFor(loop, statement, frame, pieces); },
      [&](const dsl::syntax::If& choice) { RunIf(choice, frame, pieces); },
      [&](const dsl::syntax::Loss& loss) { RunLoss(loss, statement, frame, pieces); },
      [&](const dsl::syntax::Metric& metric) { RunMetric(metric, statement, frame, pieces); },
      [&](const dsl::syntax::Return& result) { RunReturn(result, statement, frame, pieces); },
      [&](const dsl::syntax::Print& print) {
        RunLook(print.is_local ? ir::LookKind::kPrintLocal : ir::LookKind::kPrint, print.value, print.part, span, frame,
                pieces);
      },
      [&](const dsl::syntax::AssertFinite& check) {
        RunLook(ir::LookKind::kAssertFinite, check.value, check.part, span, frame, pieces);
      },
      [&](const dsl::syntax::Evaluate& evaluate) {
        if (const auto* call = std::get_if<dsl::syntax::Call>(&evaluate.value.kind)) {
          const auto* name = std::get_if<dsl::syntax::Name>(&call->callee->kind);
          if (name != nullptr && name->text == "send" && context.graph().is_manual() &&
              pieces.functions.Find("send", frame.function).index() == 0) {
            RunSend({*call, evaluate.value.span, frame}, pieces.vmap.is_mapped(), pieces.messages, context);
            return;
          }
          if (name != nullptr && name->text == "assert" &&
              pieces.functions.Find("assert", frame.function).index() == 0) {
            Assert({*call, evaluate.value.span, frame}, pieces.model, context);
            return;
          }
        }
        const Value value = EvaluateNamed("", evaluate.value, {}, frame, pieces);
        if (value.is_poison()) return;
        context.reporter.Report(
            Error(Code::kE0211, "a value that is not used")
                .At(evaluate.value.span, absl::StrCat("this is ", DescribeType(value, context.graph())))
                .Help("give it a name: `let y = …;`"));
      });
}

}  // namespace

void RunStatements(const std::vector<dsl::syntax::Statement>& body, Frame& frame, Pieces& pieces) {
  for (size_t i = 0; i < body.size(); ++i) {
    const dsl::syntax::Statement& statement = body[i];
    if (pieces.budget.is_exhausted() || frame.failed) return;
    if (frame.result) {
      // Behind an `if` that has returned it may run under another condition.
      if (i == 0 || !std::holds_alternative<dsl::syntax::Return>(body[i - 1].kind)) {
        return MarkUsed(absl::MakeSpan(body).subspan(i), frame.scope);
      }
      pieces.reporter.Report(Error(Code::kE0211, "a statement after `return`").At(statement.span, "never runs"));
      return;
    }
    const OpWriter::Inside inside = pieces.context.ops.EnterPart(i);
    RunStatement(statement, frame, pieces);
  }
}

}  // namespace cleave::frontend
