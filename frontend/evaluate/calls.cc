#include "frontend/evaluate/calls.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/builtins.h"
#include "frontend/evaluate/function_call.h"
#include "frontend/evaluate/op_call.h"
#include "frontend/evaluate/ranks/primitive_call.h"
#include "frontend/evaluate/tensors/filled.h"
#include "frontend/evaluate/tensors/tuples.h"

namespace cleave::frontend {
namespace {

struct FormerName {
  const char* name;
  const char* now;
};

constexpr FormerName kFormerNames[] = {
    {"cross_entropy_ignoring", "`cross_entropy(logits, label, ignore = -100)`"},
    {"masked_cross_entropy", "the mean over what a mask keeps: `cross_entropy(logits, label, keep = mask)`"},
};

// What is written now for a function that had another name; empty where there was none.
std::string NowWritten(const std::string& name) {
  for (const FormerName& former : kFormerNames) {
    if (name == former.name) return former.now;
  }
  return "";
}

// Nullopt for a callee that is none of the functions and ops.
std::optional<Value> CallKnown(const Callee& callee, const CallSite& site, Pieces& pieces) {
  if (const auto* function = std::get_if<const Function*>(&callee)) return CallFunction(**function, site, pieces);
  if (const auto* op = std::get_if<const ir::OpDefinition*>(&callee);
      op != nullptr && (*op)->op_class != ir::OpClass::kSource) {
    if (const Function* form = pieces.functions.FormOf(**op, site.call)) return CallFunction(*form, site, pieces);
    return CallOp(**op, site, pieces);
  }
  if (const auto* op = std::get_if<const dsl::syntax::OpDefinition*>(&callee)) {
    return pieces.custom_calls.Call(pieces.custom_ops.Get(**op), site, pieces.regions, pieces.context);
  }
  return std::nullopt;
}

// REQUIRES: value.is_function().
Value CallValue(const FunctionValue& value, const CallSite& site, Pieces& pieces) {
  if (!value.is_layer) return CallKnown(pieces.layers.callee(value), site, pieces).value_or(Value{Poison()});
  Layer& layer = pieces.layers.layer(value);
  return CallFunction(*layer.function, site, pieces, &layer);
}

}  // namespace

Value EvaluateLayer(const dsl::syntax::Layer& layer, Span span, Frame& frame, Pieces& pieces) {
  const auto& call = std::get<dsl::syntax::Call>(layer.call->kind);
  const std::string& name = std::get<dsl::syntax::Name>(call.callee->kind).text;
  Callee callee = pieces.functions.Find(name, frame.function);
  Binding* const binding = frame.scope.Find(name);
  if (binding != nullptr && (binding->value.is_function() || callee.index() == 0)) {
    binding->used = true;
    if (binding->value.is_poison()) return Value{Poison()};
    const bool is_open = binding->value.is_function() && !binding->value.as_function().is_layer;
    callee = is_open ? pieces.layers.callee(binding->value.as_function()) : Callee();
  }
  const auto* const function = std::get_if<const Function*>(&callee);
  const bool is_record = function != nullptr && (*function)->record != nullptr;
  if (function != nullptr && !is_record) {
    return MakeLayer(**function, {call, span, frame}, pieces.numbers, pieces.layers, pieces.context);
  }
  Diagnostic error = Error(Code::kE0204, "`layer` fixes the arguments of a function");
  if (binding != nullptr && binding->value.is_function()) {
    error.labels.push_back(
        {call.callee->span, absl::StrCat("this is ", DescribeType(binding->value, pieces.ops.graph()))});
    error.help.push_back(absl::StrCat("`", name, "` is called with its tensors: `", name, "(x)`"));
  } else if (is_record) {
    error.labels.push_back({call.callee->span, "this is a record"});
  } else if (callee.index() != 0) {
    error.labels.push_back({call.callee->span, "this is an op, which has no parameters"});
    error.help.push_back(absl::StrCat("`", name, "` without a call is a value too, or write a function around it"));
  } else if (binding != nullptr) {
    error.labels.push_back(
        {call.callee->span, absl::StrCat("this is ", DescribeType(binding->value, pieces.ops.graph()))});
  } else {
    error = Error(Code::kE0201, absl::StrCat("unknown function `", name, "`"))
                .At(call.callee->span, "not defined here or in the prelude");
    if (auto nearest = NearestName(name, pieces.functions.Names(frame.function)))
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  }
  pieces.reporter.Report(std::move(error));
  return Value{Poison()};
}

Value EvaluateCall(const CallSite& site, Pieces& pieces) {
  const auto& [call, span, frame] = site;
  const Context& context = pieces.context;
  const auto* name = std::get_if<dsl::syntax::Name>(&call.callee->kind);
  if (name == nullptr) {
    const auto* inner = std::get_if<dsl::syntax::Call>(&call.callee->kind);
    const auto* inner_name = inner ? std::get_if<dsl::syntax::Name>(&inner->callee->kind) : nullptr;
    if (inner_name != nullptr && inner_name->text == "vmap")
      return pieces.vmap.Call(*inner, site, pieces.regions, context);
    const Value value = context.Evaluate(*call.callee, frame);
    if (value.is_function()) return CallValue(value.as_function(), site, pieces);
    if (value.is_poison()) return value;
    context.reporter.Report(Error(Code::kE0204, "only a function can be called")
                                .At(call.callee->span, absl::StrCat("this is ", DescribeType(value, context.graph()))));
    return Value{Poison()};
  }
  Binding* const binding = frame.scope.Find(name->text);
  if (binding != nullptr && binding->value.is_function()) {
    binding->used = true;
    return CallValue(binding->value.as_function(), site, pieces);
  }
  if (auto result = CallKnown(pieces.functions.Find(name->text, frame.function), site, pieces))
    return *std::move(result);
  if (const auto primitive = FindPrimitive(name->text))
    return CallPrimitive(*primitive, site, pieces.model, pieces.vmap.is_mapped(), pieces.messages, context);
  if (name->text == "choose") return Choose(site, pieces.functions, context);
  if (name->text == "floor") return Floor(site, context);
  if (name->text == "int") return Int(site, context);
  if (name->text == "shape") return ShapeOf(site, context);
  if (name->text == "ndim") return DimensionCount(site, context);
  if (name->text == "has_padding")
    return pieces.mask.HasPadding(site, pieces.vmap.is_mapped(), pieces.sources.inputs(), context);
  if (name->text == "sample_mask")
    return pieces.mask.Call(site, pieces.vmap.is_mapped(), pieces.sources.inputs(), context);
  if (IsFilled(name->text)) return Filled(site, context);
  if (name->text == "stack") return Stack(site, context);
  if (name->text == "split") return Split(site, context);
  if (name->text == "vmap") {
    context.reporter.Report(Error(Code::kE0216, "the function that `vmap` makes must be called at once")
                                .At(span, "expected the arguments of the call behind this")
                                .Help("such as `vmap(f)(x)`"));
    return Value{Poison()};
  }

  // Other mistakes in the arguments are reported together with this one.
  for (const dsl::syntax::Argument& argument : call.arguments) context.Evaluate(*argument.value, frame);
  Diagnostic error = Error(Code::kE0201, absl::StrCat("unknown function or op `", name->text, "`"))
                         .At(call.callee->span, "not defined here or in the prelude");
  if (binding != nullptr) {
    binding->used = true;
    if (binding->value.is_poison()) return Value{Poison()};
    error = Error(Code::kE0204, absl::StrCat("`", name->text, "` is a value, not a function"))
                .At(call.callee->span, absl::StrCat("this is ", DescribeType(binding->value, context.graph())));
  } else if (const std::string now = NowWritten(name->text); !now.empty()) {
    error.help.push_back(now);
  } else if (auto nearest = NearestName(name->text, pieces.functions.Names(frame.function))) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  }
  context.reporter.Report(std::move(error));
  return Value{Poison()};
}

}  // namespace cleave::frontend
