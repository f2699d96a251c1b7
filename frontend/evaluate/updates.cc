#include "frontend/evaluate/updates.h"

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"

namespace cleave::frontend {
namespace {

// The state of that name; null after a mistake, which is reported.
Binding* StateOf(const dsl::syntax::Identifier& name, Frame& frame, Reporter& reporter) {
  Binding* const binding = frame.scope.Find(name.text);
  if (binding == nullptr) {
    Diagnostic error =
        Error(Code::kE0201, absl::StrCat("unknown name `", name.text, "`")).At(name.span, "not defined here");
    if (auto nearest = NearestName(name.text, frame.scope.Names())) {
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    }
    reporter.Report(std::move(error));
    return nullptr;
  }
  if (binding->kind == BindingKind::kState) return binding;
  Diagnostic error = Error(Code::kE0209, absl::StrCat("`", name.text, "` is no state, so it has no `update`"))
                         .At(name.span, "updated here")
                         .At(binding->definition, "defined here");
  if (binding->is_mutable) error.help.push_back(absl::StrCat("assign to it: `", name.text, " = …;`"));
  if (binding->kind == BindingKind::kParameter) error.notes.push_back("a `param` is changed by the optimizer");
  reporter.Report(std::move(error));
  return nullptr;
}

// The parameter whose elements a value is, in this or another shape; nullopt where something is computed.
std::optional<ir::OpId> ParameterIn(ir::OpId value, const ir::Graph& graph) {
  while (ir::DefinitionOf(graph.op(value)).is_alias) value = graph.op(value).inputs[0];
  if (graph.op(value).kind != ir::OpKind::kParameter) return std::nullopt;
  return value;
}

}  // namespace

void Updates::Run(const dsl::syntax::Update& update, const Value& value, Frame& frame, bool is_mapped,
                  const Context& context) {
  Reporter& reporter = context.reporter;
  Binding* const binding = StateOf(update.name, frame, reporter);
  if (binding == nullptr || binding->value.is_poison() || value.is_poison()) return;
  const std::string& name = update.name.text;
  if (is_mapped) {
    reporter.Report(Error(Code::kE0211, "`update` inside a mapped function")
                        .At(update.name.span, absl::StrCat("`", name, "` would have a value for each element"))
                        .Help("return the value, and update the state outside"));
    return;
  }
  const ir::OpId state = binding->value.as_tensor();
  const ir::TensorType& type = context.ops.type(state);
  if (!value.is_tensor() || context.ops.type(value.as_tensor()) != type) {
    reporter.Report(Error(Code::kE0206, absl::StrCat("state `", name, "` is ", type.ToString()))
                        .At(update.value.span, absl::StrCat("its update is ", DescribeType(value, context.graph())))
                        .At(binding->definition, "declared here"));
    return;
  }
  if (const auto parameter = ParameterIn(value.as_tensor(), context.graph())) {
    reporter.Report(Error(Code::kE0209, absl::StrCat("the update of `", name, "` computes nothing"))
                        .At(update.value.span, absl::StrCat("this is `", context.graph().op(*parameter).name,
                                                            "`, which may change in the same step"))
                        .Help("compute a value: `1.0 * …` is the one from before the step"));
    return;
  }
  const auto [place, is_first] = places_.try_emplace(state, update.name.span);
  if (!is_first) {
    reporter.Report(Error(Code::kE0209, absl::StrCat("two updates of `", name, "`"))
                        .At(update.name.span, place->second == update.name.span
                                                  ? "again in each pass of the loop, or call of the layer"
                                                  : "updated again here")
                        .At(place->second, "first updated here"));
    return;
  }
  context.ops.builder().mutable_graph().updates.push_back({.state = state, .value = value.as_tensor()});
}

}  // namespace cleave::frontend
