// Calls: what a name stands for, arguments bound to parameters, the body run in a frame of its own.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/text/text.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {
namespace {

bool IsScalarType(const syntax::Type& type) { return !type.dimensions.has_value(); }

}  // namespace

Value Evaluator::EvaluateCall(const syntax::Call& call, Span span, Frame& frame) {
  const auto* name = std::get_if<syntax::Name>(&call.callee->kind);
  if (name == nullptr) {
    const auto* inner = std::get_if<syntax::Call>(&call.callee->kind);
    const auto* inner_name = inner ? std::get_if<syntax::Name>(&inner->callee->kind) : nullptr;
    if (inner_name != nullptr && inner_name->text == "vmap") return CallVmap(*inner, call, span, frame);
    reporter_.Report(
        Error(Code::kE0204, "only a function can be called").At(call.callee->span, "this is no name of one"));
    return Value{Poison()};
  }
  const Callee callee = functions_.Find(name->text, frame.function);
  if (const auto* function = std::get_if<const Function*>(&callee)) return CallFunction(**function, call, span, frame);
  if (const auto* op = std::get_if<const OpDefinition*>(&callee);
      op != nullptr && (*op)->op_class != OpClass::kSource && (*op)->op_class != OpClass::kEffect) {
    return CallOp(**op, call, span, frame);
  }
  if (const auto* op = std::get_if<const syntax::OpDefinition*>(&callee)) {
    return CallCustomOp(custom_ops_.Get(**op), call, span, frame);
  }
  if (const auto primitive = FindPrimitive(name->text)) return CallPrimitive(*primitive, call, span, frame);
  if (name->text == "choose") return Choose(call, span, frame);
  if (name->text == "shape") return ShapeOf(call, span, frame);
  if (name->text == "stack") return Stack(call, span, frame);
  if (name->text == "split") return Split(call, span, frame);
  if (name->text == "vmap") {
    reporter_.Report(Error(Code::kE0216, "what `vmap` makes is called at once")
                         .At(span, "expected the arguments of the call behind this")
                         .Help("such as `vmap(f)(x)`"));
    return Value{Poison()};
  }

  // Whatever else is wrong in the arguments is worth knowing at once.
  for (const syntax::Argument& argument : call.arguments) Evaluate(*argument.value, frame);
  Diagnostic error = Error(Code::kE0201, absl::StrCat("unknown function or op `", name->text, "`"))
                         .At(call.callee->span, "not defined here, nor in the prelude");
  if (Binding* binding = frame.scope.Find(name->text)) {
    binding->used = true;
    error = Error(Code::kE0204, absl::StrCat("`", name->text, "` is a value, not a function"))
                .At(call.callee->span, absl::StrCat("this is ", DescribeType(binding->value, graph())));
  } else if (auto nearest = NearestName(name->text, functions_.Names())) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  }
  reporter_.Report(std::move(error));
  return Value{Poison()};
}

Value Evaluator::CallFunction(const Function& function, const syntax::Call& call, Span span, Frame& frame) {
  const std::string& name = function.name();
  Naming inner{.path = frame.naming.path};
  Signature signature = SignatureOf(*function.syntax);
  if (const OpDefinition* op = FindOp(name); op != nullptr && op->callable && function.of_prelude) {
    signature.note = absl::StrCat("the op `", SignatureOf(*op).ToString(),
                                  "` is meant only inside a function of that name: write `fn ", name, "(…)` around it");
  }
  const auto matched = MatchArguments(signature, call.arguments, span, reporter_);
  std::map<const syntax::Argument*, Value> evaluated;
  for (const syntax::Argument& argument : call.arguments) evaluated[&argument] = Evaluate(*argument.value, frame);
  if (!matched || function.broken || Exhausted(span)) return Value{Poison()};

  std::vector<Value> values;
  for (const syntax::Argument* argument : *matched) {
    values.push_back(argument == nullptr ? Value{Poison()} : evaluated[argument]);
    if (argument != nullptr && values.back().is_poison()) return Value{Poison()};
  }
  if (frame.naming.ordinals && function.owns_parameters) {
    // In the order in which the calls run: arguments before the call that takes them.
    const std::string component = absl::StrCat(name, "_", frame.naming.next_ordinal[name]++);
    inner.path = inner.path.empty() ? component : absl::StrCat(inner.path, ".", component);
  }

  EnterRegion(call, inner.path, *matched, evaluated);
  for (size_t i = 0; i < values.size(); ++i) {
    if ((*matched)[i] != nullptr) values[i] = evaluated[(*matched)[i]];
  }

  Frame callee;
  callee.function = &function;
  callee.path = inner.path;
  callee.naming = inner;
  const int first = static_cast<int>(builder_.graph().ops.size());
  if (!BindArguments(function, *matched, values, callee)) return Value{Poison()};

  reporter_.EnterCall(span, name);
  callee.scope.Push();
  PinArguments(function, callee);
  Run(function.syntax->body, callee);
  CloseBlock(callee);
  PinOpsFrom(first, callee.demands);
  Value result = callee.result.value_or(Value{Poison()});
  if (callee.failed) {
    result = Value{Poison()};
  } else if (!callee.result && function.syntax->result) {
    reporter_.Report(Error(Code::kE0211, absl::StrCat("function `", name, "` ends without `return`"))
                         .At(function.syntax->body_end, "expected `return …;` before this brace"));
  } else if (callee.result && !result.is_poison()) {
    if (!function.syntax->result) {
      reporter_.Report(
          Error(Code::kE0211, absl::StrCat("function `", name, "` returns a value but declares none"))
              .At(function.syntax->name.span, "the signature has no `->`")
              .Help(absl::StrCat("declare it: `-> ", result.is_tensor() ? DescribeType(result, graph()) : "int", "`")));
      result = Value{Poison()};
    } else if (!CheckType(*function.syntax->result, result, function.syntax->result->span,
                          absl::StrCat("the result of `", name, "`"), callee)) {
      result = Value{Poison()};
    }
  }
  reporter_.LeaveCall();
  last_operation_ = {span, name, first, static_cast<int>(builder_.graph().ops.size()), true};
  return result;
}

bool Evaluator::BindArguments(const Function& function, absl::Span<const syntax::Argument* const> matched,
                              const std::vector<Value>& values, Frame& callee) {
  const std::vector<syntax::Parameter>& parameters = function.syntax->parameters;
  std::vector<bool> bound(parameters.size(), false);
  bool ok = true;
  const auto bind = [&](size_t i, Value value, const syntax::Expression& expression) {
    bound[i] = true;
    ok &= BindParameterType(parameters[i], value, expression, callee);
    callee.scope.Define({parameters[i].name.text, parameters[i].name.span, BindingKind::kArgument, false, true,
                         ok ? std::move(value) : Value{Poison()}});
  };
  const auto bind_default = [&](size_t i) {
    bind(i, Evaluate(*parameters[i].default_value, callee), *parameters[i].default_value);
  };
  // Numbers first, so that a shape can name one; a default that a shape names comes before that shape.
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (matched[i] != nullptr && IsScalarType(parameters[i].type)) bind(i, values[i], *matched[i]->value);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (matched[i] == nullptr || IsScalarType(parameters[i].type)) continue;
    for (const syntax::Dimension& dimension : *parameters[i].type.dimensions) {
      const auto* expression = std::get_if<syntax::Expression>(&dimension.kind);
      const auto* symbol = expression ? std::get_if<syntax::Name>(&expression->kind) : nullptr;
      for (size_t j = 0; symbol != nullptr && j < parameters.size(); ++j) {
        if (parameters[j].name.text == symbol->text && !bound[j] && IsScalarType(parameters[j].type)) bind_default(j);
      }
    }
    bind(i, values[i], *matched[i]->value);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!bound[i]) bind_default(i);
  }
  return ok;
}

// `assert(width % heads == 0, "{heads} heads do not divide the width {width}")`
void Evaluator::Assert(const syntax::Call& call, Span span, Frame& frame) {
  static const Signature kSignature{
      .callee = "assert", .arguments = {{"condition", "condition: bool", true}, {"message", "message: string", true}}};
  const auto matched = MatchArguments(kSignature, call.arguments, span, reporter_);
  if (!matched) return;
  const Value condition = Evaluate(*(*matched)[0]->value, frame);
  const Value message = Evaluate(*(*matched)[1]->value, frame);
  if (condition.is_poison() || message.is_poison()) return;
  if (!std::holds_alternative<bool>(OnRank(condition, 0).kind) || !std::holds_alternative<std::string>(message.kind)) {
    reporter_.Report(Error(Code::kE0204, "`assert` takes a bool and a string")
                         .At(span, absl::StrCat("these are ", DescribeType(condition, graph()), " and ",
                                                DescribeType(message, graph()))));
    return;
  }
  int64_t rank = 0;  // The first on which it does not hold.
  const int64_t ranks = condition.is_per_rank() ? world() : 1;
  while (rank < ranks && std::get<bool>(OnRank(condition, rank).kind)) ++rank;
  if (rank == ranks) return;
  std::string text = std::get<std::string>(message.kind);
  std::vector<std::string> names = frame.scope.Names();
  if (graph().is_manual()) names.insert(names.end(), {"world", "rank"});
  for (const std::string& name : names) {
    const std::string placeholder = absl::StrCat("{", name, "}");
    if (!absl::StrContains(text, placeholder)) continue;
    const Binding* binding = frame.scope.Find(name);
    const Value value = binding != nullptr ? binding->value : *RankName(name, span);
    text = absl::StrReplaceAll(text, {{placeholder, ValueText(OnRank(value, rank), graph())}});
  }
  Diagnostic error = Error(Code::kE0212, std::move(text))
                         .At(span, reporter_.IsUserPlace(span) ? "asserted here" : "asserted by this call");
  if (condition.is_per_rank()) error.notes.push_back(absl::StrCat("on rank ", rank));
  reporter_.Report(std::move(error));
  frame.failed = frame.function != nullptr;
}

}  // namespace cleave::frontend
