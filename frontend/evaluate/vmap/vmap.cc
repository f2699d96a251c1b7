#include "frontend/evaluate/vmap/vmap.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/tensors/tuples.h"
#include "ir/graph/ops/lift.h"

namespace cleave::frontend {
namespace {

struct MappedArgument {
  const dsl::syntax::Argument* argument = nullptr;
  size_t axis = 0;
};

std::string Entries(size_t count) { return count == 1 ? "1 entry" : absl::StrCat(count, " entries"); }

// `axis`: null for the first dimension.
std::optional<size_t> MappedDimension(const dsl::syntax::Argument& argument, const dsl::syntax::Expression* axis,
                                      const Value& value, Frame& frame, const Context& context) {
  const bool is_tensor = value.is_tensor();
  if (!is_tensor || context.ops.type(value.as_tensor()).shape.empty()) {
    context.reporter.Report(
        Error(Code::kE0216, is_tensor ? "`vmap` over a tensor without dimensions" : "`vmap` maps over tensors only")
            .At(argument.span, absl::StrCat("this is ", DescribeType(value, context.graph())))
            .Help("`_` in `axes` keeps it the same for all elements"));
    return std::nullopt;
  }
  if (axis == nullptr) return 0;
  const Value number = context.EvaluateStatic(*axis, frame);
  if (number.is_poison()) return std::nullopt;
  return AxisArgument(*axis, number, context.ops.type(value.as_tensor()).rank(), context);
}

std::optional<std::vector<MappedArgument>> MappedArguments(const CallSite& site, const dsl::syntax::Expression* axes,
                                                           ArgumentValues& values, const Context& context) {
  const dsl::syntax::Call& call = site.call;
  const auto* tuple = axes == nullptr ? nullptr : std::get_if<dsl::syntax::Tuple>(&axes->kind);
  if (tuple != nullptr && tuple->elements.size() != call.arguments.size()) {
    context.reporter.Report(
        Error(Code::kE0216, absl::StrCat("`axes` has ", Entries(tuple->elements.size()), " for ",
                                         Plural(static_cast<int64_t>(call.arguments.size()), "argument")))
            .At(axes->span, "one entry for each argument")
            .Help("`_` stands for an argument that is not mapped over"));
    return std::nullopt;
  }
  std::vector<MappedArgument> mapped;
  bool ok = true;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const dsl::syntax::Argument& argument = call.arguments[i];
    const dsl::syntax::Expression* axis = tuple == nullptr ? axes : &*tuple->elements[i].value;
    if (axis != nullptr && std::holds_alternative<dsl::syntax::Wildcard>(axis->kind)) continue;
    const Value& value = values[&argument];
    const bool is_static = !HasTensor(value);
    if (is_static && tuple == nullptr) continue;  // It is the same for all elements.
    const std::optional<size_t> dimension = MappedDimension(argument, axis, value, site.frame, context);
    if (dimension) mapped.push_back({.argument = &argument, .axis = *dimension});
    ok = ok && dimension.has_value();
  }
  if (ok && mapped.empty()) {
    context.reporter.Report(
        Error(Code::kE0216, "`vmap` with nothing to map over")
            .At(call.callee->span, "no argument is mapped")
            .Note("each tensor is mapped over its first dimension, or over that which `axes` says"));
  }
  if (!ok || mapped.empty()) return std::nullopt;
  const auto size_of = [&](const MappedArgument& argument) {
    return context.ops.type(values[argument.argument].as_tensor()).shape[argument.axis];
  };
  for (const MappedArgument& argument : mapped) {
    if (size_of(argument) == size_of(mapped.front())) continue;
    context.reporter.Report(
        Error(Code::kE0216,
              absl::StrCat("`vmap` over ", size_of(mapped.front()), " and ", size_of(argument), " elements"))
            .At(argument.argument->span, absl::StrCat("has ", size_of(argument), " in dimension ", argument.axis))
            .At(mapped.front().argument->span,
                absl::StrCat("has ", size_of(mapped.front()), " in dimension ", mapped.front().axis))
            .Help("`_` in `axes` keeps an argument the same for all elements"));
    return std::nullopt;
  }
  return mapped;
}

ir::OpId ElementsFirst(const MappedArgument& argument, ArgumentValues& values, const std::string& path,
                       const Context& context) {
  const ir::OpId x = values[argument.argument].as_tensor();
  if (argument.axis == 0) return x;
  std::vector<int64_t> permutation = {static_cast<int64_t>(argument.axis)};
  for (size_t d = 0; d < context.ops.type(x).shape.size(); ++d) {
    if (d != argument.axis) permutation.push_back(static_cast<int64_t>(d));
  }
  return context.ops
      .AddOp(ir::OpKind::kTranspose, {{&*argument.argument->value, x}}, {{ir::attribute::kPermutation, permutation}},
             {argument.argument->span, path})
      .as_tensor();
}

// Adds a source that stands for one element until all are made.
ir::OpId AddElement(ir::OpId whole, ir::GraphBuilder& builder) {
  const ir::TensorType type = builder.type(whole);
  return builder.Add(ir::OpKind::kInput, {},
                     {{ir::attribute::kDType, type.dtype},
                      {ir::attribute::kShape, ir::Shape(type.shape.begin() + 1, type.shape.end())},
                      {ir::attribute::kData, "element"}},
                     "(element)");
}

Value BatchedValue(const Value& value, const ir::Vectorized& batched, int64_t size, Span span, const Context& context) {
  if (value.is_tuple()) {
    TupleValue elements;
    for (const Value& element : value.as_tuple()) {
      elements.elements.push_back(BatchedValue(element, batched, size, span, context));
      if (elements.elements.back().is_poison()) return Value{Poison()};
    }
    return Value{std::move(elements)};
  }
  if (!value.is_tensor()) {
    if (!value.is_poison()) {
      context.reporter.Report(Error(Code::kE0216, "`vmap` of a function whose result is no tensor")
                                  .At(span, absl::StrCat("the result is ", DescribeType(value, context.graph()))));
    }
    return Value{Poison()};
  }
  const auto found = batched.find(value.as_tensor());
  if (found != batched.end() && found->second.mapped) return Value{TensorValue{found->second.value}};
  const ir::OpId shared = found == batched.end() ? value.as_tensor() : found->second.value;
  return Value{TensorValue{ir::RepeatElement(context.ops.builder(), shared, size,
                                             absl::StrCat(context.graph().op(shared).name, ".broadcast_to"))}};
}

}  // namespace

const Value* Vmap::ValueFor(const dsl::syntax::Expression& expression) const {
  const auto value = values_.find(&expression);
  return value == values_.end() ? nullptr : &value->second;
}

Value Vmap::Call(const dsl::syntax::Call& vmap, const CallSite& site, Regions& regions, const Context& context) {
  const auto& [call, span, frame] = site;
  static const Signature kSignature{
      .callee = "vmap",
      .arguments = {{"f", "f: function or op", true}, {"axes", "axes: int or (int or _, …) = 0", false}}};
  const auto matched = MatchArguments(kSignature, vmap.arguments, call.callee->span, context.reporter);
  ArgumentValues values;
  bool poisoned = !matched;
  for (const dsl::syntax::Argument& argument : call.arguments) {
    values[&argument] = context.Evaluate(*argument.value, frame);
    poisoned |= values[&argument].is_poison();
  }
  if (poisoned || budget_.Exhausted(span)) return Value{Poison()};
  const dsl::syntax::Expression* axes = (*matched)[1] == nullptr ? nullptr : &*(*matched)[1]->value;
  const std::optional<std::vector<MappedArgument>> arguments = MappedArguments(site, axes, values, context);
  if (!arguments) return Value{Poison()};

  std::vector<const dsl::syntax::Argument*> in_order;
  for (const dsl::syntax::Argument& argument : call.arguments) in_order.push_back(&argument);
  regions.Enter(call, frame.naming.path, in_order, values);
  const int first = context.ops.size();
  std::vector<ir::MappedInput> inputs;
  for (const MappedArgument& argument : *arguments) {
    inputs.push_back({.element = {}, .whole = ElementsFirst(argument, values, frame.naming.path, context)});
  }
  // The same call, with the type of one element in the place of each mapped argument.
  const dsl::syntax::Call inner{.callee = (*matched)[0]->value, .arguments = call.arguments};
  const int first_element = context.ops.size();
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].element = AddElement(inputs[i].whole, context.ops.builder());
    values[(*arguments)[i].argument] = Value{TensorValue{inputs[i].element}};
  }
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    values_[&*inner.arguments[i].value] = values[&call.arguments[i]];
  }
  ++depth_;
  if (context.sightings != nullptr) context.sightings->EnterMapped();
  Value result = hooks_.call({inner, span, frame});
  if (context.sightings != nullptr) context.sightings->LeaveMapped();
  --depth_;
  for (const dsl::syntax::Argument& argument : inner.arguments) values_.erase(&*argument.value);
  if (!result.is_poison()) result = ForAllElements(result, ir::OpId(first_element), inputs, span, context);
  context.ops.EndOperation(span, "vmap", first);
  return result;
}

Value Vmap::ForAllElements(const Value& result, ir::OpId first, const std::vector<ir::MappedInput>& inputs, Span span,
                           const Context& context) {
  const int64_t size = context.ops.type(inputs.front().whole).shape[0];
  const std::vector<ir::Op> ops = context.ops.builder().RemoveFrom(first);
  const ir::Vectorized batched = ir::Vectorize(context.ops.builder(), ops, inputs, size);
  hooks_.move_notes(ops, batched);
  return BatchedValue(result, batched, size, span, context);
}

}  // namespace cleave::frontend
