// `vmap(f)(x, w)`: f is expanded on tensors that stand for one element each, then made for all (ir/vectorize).
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/evaluator.h"
#include "ir/ops/lift.h"

namespace cleave::frontend {
namespace {

// Slices of one element as those of all: the elements' dimension is not cut.
CountsPin WithElements(const CountsPin& counts, Span place) {
  if (!counts) return counts;
  std::vector<Placed<int64_t>> longer = *counts;
  longer.insert(longer.begin(), {1, place});
  return longer;
}

std::string Entries(size_t count) { return count == 1 ? "1 entry" : absl::StrCat(count, " entries"); }

}  // namespace

Value Evaluator::CallVmap(const syntax::Call& vmap, const syntax::Call& call, Span span, Frame& frame) {
  static const Signature kSignature{
      .callee = "vmap",
      .arguments = {{"f", "f: function or op", true}, {"axes", "axes: int or (int or _, …) = 0", false}}};
  const auto matched = MatchArguments(kSignature, vmap.arguments, call.callee->span, reporter_);
  ArgumentValues values;
  bool poisoned = !matched;
  for (const syntax::Argument& argument : call.arguments) {
    values[&argument] = Evaluate(*argument.value, frame);
    poisoned |= values[&argument].is_poison();
  }
  if (poisoned || Exhausted(span)) return Value{Poison()};
  const syntax::Expression* axes = (*matched)[1] == nullptr ? nullptr : &*(*matched)[1]->value;
  const std::optional<std::vector<MappedArgument>> arguments = MappedArguments(call, axes, values, frame);
  if (!arguments) return Value{Poison()};

  std::vector<const syntax::Argument*> in_order;
  for (const syntax::Argument& argument : call.arguments) in_order.push_back(&argument);
  EnterRegion(call, frame.naming.path, in_order, values);
  const int first = static_cast<int>(builder_.graph().ops.size());
  std::vector<MappedInput> inputs;
  for (const MappedArgument& argument : *arguments) {
    inputs.push_back({.element = {}, .whole = ElementsFirst(argument, values, frame)});
  }
  // The same call, with what one element is in the place of each mapped argument.
  const syntax::Call inner{.callee = (*matched)[0]->value, .arguments = call.arguments};
  const int first_element = static_cast<int>(builder_.graph().ops.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].element = AddElement(inputs[i].whole);
    values[(*arguments)[i].argument] = Value{TensorValue{inputs[i].element}};
  }
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    substitutes_[&*inner.arguments[i].value] = values[&call.arguments[i]];
  }
  ++vmap_depth_;
  Value result = EvaluateCall(inner, span, frame);
  --vmap_depth_;
  for (const syntax::Argument& argument : inner.arguments) substitutes_.erase(&*argument.value);
  if (!result.is_poison()) result = ForAllElements(result, OpId(first_element), inputs, span);
  last_operation_ = {span, "vmap", first, static_cast<int>(builder_.graph().ops.size()), true};
  return result;
}

std::optional<std::vector<Evaluator::MappedArgument>> Evaluator::MappedArguments(const syntax::Call& call,
                                                                                 const syntax::Expression* axes,
                                                                                 ArgumentValues& values, Frame& frame) {
  const auto* tuple = axes == nullptr ? nullptr : std::get_if<syntax::Tuple>(&axes->kind);
  if (tuple != nullptr && tuple->elements.size() != call.arguments.size()) {
    reporter_.Report(Error(Code::kE0216, absl::StrCat("`axes` has ", Entries(tuple->elements.size()), " for ",
                                                      Plural(static_cast<int64_t>(call.arguments.size()), "argument")))
                         .At(axes->span, "one entry for each argument")
                         .Help("`_` stands for an argument that is not mapped over"));
    return std::nullopt;
  }
  std::vector<MappedArgument> mapped;
  bool ok = true;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const syntax::Argument& argument = call.arguments[i];
    const syntax::Expression* axis = tuple == nullptr ? axes : &*tuple->elements[i].value;
    if (axis != nullptr && std::holds_alternative<syntax::Wildcard>(axis->kind)) continue;
    const Value& value = values[&argument];
    const bool is_static = !value.is_tensor() && !value.is_tuple();
    if (is_static && tuple == nullptr) continue;  // The same for all elements.
    const std::optional<size_t> dimension = MappedDimension(argument, axis, value, frame);
    if (dimension) mapped.push_back({.argument = &argument, .axis = *dimension});
    ok = ok && dimension.has_value();
  }
  if (ok && mapped.empty()) {
    reporter_.Report(Error(Code::kE0216, "`vmap` with nothing to map over")
                         .At(call.callee->span, "no argument is mapped")
                         .Note("each tensor is mapped over its first dimension, or over that which `axes` says"));
  }
  if (!ok || mapped.empty()) return std::nullopt;
  const auto size_of = [&](const MappedArgument& argument) {
    return builder_.type(values[argument.argument].as_tensor()).shape[argument.axis];
  };
  for (const MappedArgument& argument : mapped) {
    if (size_of(argument) == size_of(mapped.front())) continue;
    reporter_.Report(
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

// `axis`: null for the first dimension.
std::optional<size_t> Evaluator::MappedDimension(const syntax::Argument& argument, const syntax::Expression* axis,
                                                 const Value& value, Frame& frame) {
  const bool is_tensor = value.is_tensor();
  if (!is_tensor || builder_.type(value.as_tensor()).shape.empty()) {
    reporter_.Report(
        Error(Code::kE0216, is_tensor ? "`vmap` over a tensor without dimensions" : "`vmap` maps over tensors only")
            .At(argument.span, absl::StrCat("this is ", DescribeType(value, graph())))
            .Help("`_` in `axes` keeps it the same for all elements"));
    return std::nullopt;
  }
  if (axis == nullptr) return 0;
  const Value number = EvaluateStatic(*axis, &frame);
  if (number.is_poison()) return std::nullopt;
  return AxisArgument(*axis, number, builder_.type(value.as_tensor()).rank());
}

OpId Evaluator::ElementsFirst(const MappedArgument& argument, ArgumentValues& values, const Frame& frame) {
  const OpId x = values[argument.argument].as_tensor();
  if (argument.axis == 0) return x;
  std::vector<int64_t> permutation = {static_cast<int64_t>(argument.axis)};
  for (size_t d = 0; d < builder_.type(x).shape.size(); ++d) {
    if (d != argument.axis) permutation.push_back(static_cast<int64_t>(d));
  }
  return AddOp(OpKind::kTranspose, {{&*argument.argument->value, x}}, {{attribute::kPermutation, permutation}},
               argument.argument->span, frame)
      .as_tensor();
}

// A source that stands for one element until all are made.
OpId Evaluator::AddElement(OpId whole) {
  const TensorType type = builder_.type(whole);
  return builder_.Add(OpKind::kInput, {},
                      {{attribute::kDType, type.dtype},
                       {attribute::kShape, Shape(type.shape.begin() + 1, type.shape.end())},
                       {attribute::kData, "element"}},
                      "(element)");
}

Value Evaluator::ForAllElements(const Value& result, OpId first, const std::vector<MappedInput>& inputs, Span span) {
  const int64_t size = builder_.type(inputs.front().whole).shape[0];
  const std::vector<Op> ops = builder_.RemoveFrom(first);
  const std::optional<Vectorized> batched = Vectorize(builder_, ops, inputs, size, kMaxOps);
  if (!batched) {
    Exhausted(span);
    return Value{Poison()};
  }
  MoveToBatched(ops, *batched);
  WarnOfUnrolled(ops, *batched, size, span);
  return BatchedValue(result, *batched, size, span);
}

Value Evaluator::BatchedValue(const Value& value, const Vectorized& batched, int64_t size, Span span) {
  if (value.is_tuple()) {
    TupleValue elements;
    for (const Value& element : value.as_tuple()) {
      elements.elements.push_back(BatchedValue(element, batched, size, span));
      if (elements.elements.back().is_poison()) return Value{Poison()};
    }
    return Value{std::move(elements)};
  }
  if (!value.is_tensor()) {
    if (!value.is_poison()) {
      reporter_.Report(Error(Code::kE0216, "`vmap` of a function whose result is no tensor")
                           .At(span, absl::StrCat("the result is ", DescribeType(value, graph()))));
    }
    return Value{Poison()};
  }
  const auto found = batched.find(value.as_tensor());
  if (found != batched.end() && found->second.mapped) return Value{TensorValue{found->second.value}};
  const OpId shared = found == batched.end() ? value.as_tensor() : found->second.value;
  return Value{TensorValue{
      RepeatElement(builder_, shared, size, absl::StrCat(builder_.graph().op(shared).name, ".broadcast_to"))}};
}

// What has been noted of ops, moved to those that took their places.
void Evaluator::MoveToBatched(const std::vector<Op>& ops, const Vectorized& batched) {
  std::map<OpId, const Op*> removed;
  for (const Op& op : ops) removed[op.id] = &op;
  const auto move_places = [&](std::map<OpId, Span>& places) {
    std::map<OpId, Span> moved;
    for (const auto& [id, place] : places) moved[removed.count(id) > 0 ? batched.at(id).value : id] = place;
    places = std::move(moved);
  };
  move_places(expansion_.parameters);
  move_places(expansion_.rank_places);
  std::map<OpId, CustomCall> custom_calls;
  for (const auto& [id, custom] : expansion_.custom_calls) {
    if (removed.count(id) == 0) custom_calls[id] = custom;
    if (removed.count(id) == 0) continue;
    for (OpId main : batched.at(id).main) custom_calls[main] = custom;
  }
  expansion_.custom_calls = std::move(custom_calls);
  std::vector<Priority> priorities;
  for (const Priority& priority : expansion_.priorities) {
    if (removed.count(priority.op) == 0) priorities.push_back(priority);
    if (removed.count(priority.op) == 0) continue;
    for (OpId made : batched.at(priority.op).made) priorities.push_back({made, priority.value});
  }
  expansion_.priorities = std::move(priorities);
  const size_t pins = expansion_.pins.size();
  for (size_t i = 0; i < pins; ++i) {
    if (removed.count(expansion_.pins[i].op) > 0) MovePin(i, *removed[expansion_.pins[i].op], batched);
  }
}

// A pin inside of what is mapped speaks of one element: it does not cut the elements' dimension.
void Evaluator::MovePin(size_t index, const Op& op, const Vectorized& batched) {
  Pin pin = expansion_.pins[index];
  const BatchedOp& now = batched.at(op.id);
  pin.op = now.value;
  if (auto* layout = std::get_if<LayoutPin>(&pin.demand); layout != nullptr && now.mapped) {
    layout->dimensions.insert(layout->dimensions.begin(), std::vector<Placed<std::string>>());
  }
  if (auto* shard = std::get_if<ShardPin>(&pin.demand); shard != nullptr && now.mapped) {
    if (!shard->in.empty() && !IsTheSameOp(op, batched)) {
      reporter_.Report(Error(Code::kE0305, absl::StrCat("`shard` on `", op.name, "`, which `vmap` makes another way"))
                           .At(pin.span, absl::StrCat("says how the inputs of `", OpKindName(op.kind), "` are cut"))
                           .Help("`#[layout(…)]` says how its value lies"));
      return;
    }
    for (size_t i = 0; i < shard->in.size(); ++i) {
      const auto input = batched.find(op.inputs[i]);
      if (input != batched.end() && input->second.mapped) shard->in[i] = WithElements(shard->in[i], pin.span);
    }
    shard->out = WithElements(shard->out, pin.span);
  }
  expansion_.pins[index] = pin;
  if (!std::holds_alternative<ReplicatePin>(pin.demand)) return;
  for (OpId made : now.made) {
    if (made == now.value || DefinitionOf(graph().op(made)).op_class == OpClass::kSource) continue;
    pin.op = made;
    expansion_.pins.push_back(pin);
  }
}

// Whether the op was made once, on its own inputs with at most the elements' dimension before the others.
bool Evaluator::IsTheSameOp(const Op& op, const Vectorized& batched) const {
  const BatchedOp& now = batched.at(op.id);
  if (now.main.size() != 1 || now.main.front() != now.value) return false;
  const Op& made = graph().op(now.value);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const auto input = batched.find(op.inputs[i]);
    if (made.inputs[i] != (input == batched.end() ? op.inputs[i] : input->second.value)) return false;
  }
  return true;
}

// Messages are matched by the order in which they are written, of which many elements at once have none.
bool Evaluator::RefuseInVmap(const std::string& what, Span span) {
  if (vmap_depth_ == 0) return false;
  reporter_.Report(Error(Code::kE0216, absl::StrCat("`", what, "` inside of what `vmap` maps"))
                       .At(span, "a message for each element?")
                       .Help("send all elements at once, outside"));
  return true;
}

void Evaluator::WarnOfUnrolled(const std::vector<Op>& ops, const Vectorized& batched, int64_t size, Span span) {
  std::set<std::string> names;
  for (const Op& op : ops) {
    if (batched.at(op.id).unrolled)
      names.insert(op.kind == OpKind::kCustom ? op.attributes.Get(attribute::kOp) : std::string(OpKindName(op.kind)));
  }
  if (names.empty() || size == 1) return;
  const std::vector<std::string> list(names.begin(), names.end());
  reporter_.Report(
      Warning(Code::kW0616, absl::StrCat(QuotedList(list, "and"), " for each of ", size, " elements by itself"))
          .At(span, absl::StrCat(QuotedList(list, "and"), list.size() == 1 ? " has" : " have",
                                 " no form for many elements at once here"))
          .Note(absl::StrCat("made ", size, " times, on slices whose results are put together")));
}

}  // namespace cleave::frontend
