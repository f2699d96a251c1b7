#include "frontend/evaluate/layers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/types/parameter_types.h"

namespace cleave::frontend {
namespace {

bool IsTensor(const dsl::syntax::Parameter& parameter) { return parameter.type.dimensions.has_value(); }

// The parameters that are tensors, or all others.
Signature PartOf(const Function& function, bool tensors) {
  Signature signature = SignatureOf(*function.syntax);
  std::vector<FormalArgument> part;
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    if (IsTensor(function.syntax->parameters[i]) == tensors) part.push_back(std::move(signature.arguments[i]));
  }
  signature.arguments = std::move(part);
  if (!tensors) signature.result.clear();
  signature.note = tensors ? "the other arguments are those of the layer"
                           : "a layer fixes all arguments but the tensors, which its calls give";
  return signature;
}

// Arguments of a part, in the order of all parameters.
std::vector<const dsl::syntax::Argument*> Spread(const std::vector<const dsl::syntax::Argument*>& part,
                                                 const Function& function, bool tensors) {
  std::vector<const dsl::syntax::Argument*> all;
  size_t next = 0;
  for (const dsl::syntax::Parameter& parameter : function.syntax->parameters) {
    all.push_back(IsTensor(parameter) == tensors ? part[next++] : nullptr);
  }
  return all;
}

}  // namespace

Value Layers::Add(const std::string& name, const Callee& callee) {
  size_t id = 0;
  while (id < callees_.size() && callees_[id] != callee) ++id;
  if (id == callees_.size()) callees_.push_back(callee);
  return Value{FunctionValue{.id = static_cast<int>(id), .is_layer = false, .name = name}};
}

Value Layers::Add(Layer layer) {
  const FunctionValue value{.id = static_cast<int>(layers_.size()), .is_layer = true, .name = layer.function->name()};
  layers_.push_back(std::move(layer));
  return Value{value};
}

Value MakeLayer(const Function& function, const CallSite& site, PathNumbers& numbers, Layers& layers,
                const Context& context) {
  const auto& [call, span, frame] = site;
  const auto matched = MatchArguments(PartOf(function, false), call.arguments, span, context.reporter);
  if (!matched || function.broken) return Value{Poison()};
  Layer layer{.function = &function, .arguments = Spread(*matched, function, false)};
  const std::vector<dsl::syntax::Parameter>& parameters = function.syntax->parameters;
  Frame types;  // Of which only the function is looked at.
  types.function = &function;
  bool ok = true;
  for (size_t i = 0; i < parameters.size(); ++i) {
    layer.values.push_back(Value{Poison()});
    const dsl::syntax::Argument* const argument = layer.arguments[i];
    if (argument == nullptr) continue;
    layer.values[i] = EvaluateArgument(parameters[i], *argument->value, frame, context);
    ok &= BindParameterType(parameters[i], layer.values[i], *argument->value, types, context);
  }
  if (!ok) return Value{Poison()};
  Naming own{.path = "", .parameters = frame.naming.parameters};
  if (frame.naming.ordinals && function.owns_parameters) frame.naming.AddOrdinal(function.name(), own);
  layer.parameters = own.parameters;
  layer.trail = frame.TrailOf(frame.naming);
  layer.place = numbers.Within(frame.place, frame.statement);
  layer.made_in = context.ops.here();
  if (frame.layer.has_value()) {
    layer.made_in = {.place = ir::Within(frame.layer->made_in.place, layer.made_in.place),
                     .passes = frame.layer->made_in.passes};
    layer.again = frame.layer->again;
    if (layer.again) layer.first = frame.layer->first;
  }
  context.ops.ForgetOperation();
  return layers.Add(std::move(layer));
}

std::optional<std::vector<const dsl::syntax::Argument*>> MatchCall(const Layer& layer, const CallSite& site,
                                                                   Reporter& reporter) {
  const auto matched = MatchArguments(PartOf(*layer.function, true), site.call.arguments, site.span, reporter);
  if (!matched) return std::nullopt;
  std::vector<const dsl::syntax::Argument*> all = Spread(*matched, *layer.function, true);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] == nullptr) all[i] = layer.arguments[i];
  }
  return all;
}

}  // namespace cleave::frontend
