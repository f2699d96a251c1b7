#include "ir/transforms/distribute/built_form.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

// Cuts the factors of each dimension of an input by the axes that cut that dimension in the value that the input is. A
// factor takes the cut of the first input that has one. An input that does not fit is read in another layout than it
// has.
void CutLikeInput(const Layout& layout, const std::vector<FactorList>& dimensions, const Rule& rule, const Mesh& mesh,
                  Strategy& strategy) {
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d].size() != 1) continue;
    const int factor = dimensions[d].front();
    const FactorKind kind = rule.factors[static_cast<size_t>(factor)].kind;
    if (kind == FactorKind::kWhole || kind == FactorKind::kInner) continue;
    if (!strategy.cuts[static_cast<size_t>(factor)].empty()) continue;
    for (AxisId axis : layout.dimensions[d]) {
      absl::StatusOr<Strategy> next = WithCut(strategy, rule, mesh, factor, axis);
      if (!next.ok()) break;
      strategy = *std::move(next);
    }
  }
}

bool IsPartialOver(const Layout& layout, AxisId axis) {
  return std::any_of(layout.partial.begin(), layout.partial.end(),
                     [axis](const PartialAxis& partial) { return partial.axis == axis; });
}

}  // namespace

Strategy StrategyOfBuilt(const Rule& rule, const std::vector<const Layout*>& inputs,
                         const std::vector<PassThrough>& passes, const Mesh& mesh) {
  Strategy strategy = Strategy::Replicated(rule);
  for (size_t i = 0; i < inputs.size(); ++i) CutLikeInput(*inputs[i], rule.inputs[i], rule, mesh, strategy);
  for (const PassThrough& pass : passes) {
    std::vector<int> partial;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (IsPartialOver(*inputs[i], pass.axis)) partial.push_back(static_cast<int>(i));
    }
    const auto group = std::find(rule.linear.begin(), rule.linear.end(), partial);
    if (partial.empty() || group == rule.linear.end()) continue;
    strategy.passes.push_back({.axis = pass.axis, .group = static_cast<int>(group - rule.linear.begin())});
  }
  return strategy;
}

BuiltForm BuildForm(const Graph& graph, const Op& op, const Strategy& strategy, const Mesh& mesh) {
  const OpDefinition& definition = DefinitionOf(op);
  CLEAVE_CHECK(definition.distribute != nullptr) << "`" << op.kind << "` has no distributed form";
  const Rule rule = RuleOf(graph, op);

  GraphBuilder builder;
  builder.SetPhase(op.phase);
  builder.SetLine(op.line);
  builder.SetSource(op);
  Op stand_in = op;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorType& type = graph.op(op.inputs[i]).type;
    stand_in.inputs[i] = builder.Add(
        OpKind::kInput, {},
        {{attribute::kDType, type.dtype}, {attribute::kShape, type.shape}, {attribute::kData, std::string()}},
        absl::StrCat("input ", i));
  }
  std::vector<int64_t> pieces;
  for (const AxisList& axes : strategy.cuts) pieces.push_back(mesh.Size(axes));
  BuiltForm form{.graph = {}, .inputs = op.inputs.size(), .result = {}, .strategies = {}, .layouts = {}};
  form.result = definition.distribute(builder, stand_in, pieces);
  form.graph = std::move(builder).Build();

  for (const Op& built : form.graph.ops) {
    const Rule own = RuleOf(form.graph, built);
    if (form.is_input(built.id)) {
      form.strategies.push_back(Strategy::Replicated(own));
      form.layouts.push_back(InputLayout(strategy, rule, built.id.value()));
      continue;
    }
    std::vector<const Layout*> inputs;
    for (OpId input : built.inputs) inputs.push_back(&form.layouts[input]);
    form.strategies.push_back(StrategyOfBuilt(own, inputs, strategy.passes, mesh));
    form.layouts.push_back(OutputLayout(form.strategies.back(), own));
  }
  return form;
}

}  // namespace cleave::ir
