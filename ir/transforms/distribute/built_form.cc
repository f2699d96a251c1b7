#include "ir/transforms/distribute/built_form.h"

#include <algorithm>
#include <map>
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
// factor takes the cut of the first input that has one, and of a compound dimension the next factor when the one before
// is exhausted. An input that does not fit is read in another layout than it has.
void CutLikeInput(const Layout& layout, const std::vector<FactorList>& dimensions, const Rule& rule, const Mesh& mesh,
                  bool cuts_compounds, Strategy& strategy) {
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d].empty() || (dimensions[d].size() > 1 && !cuts_compounds)) continue;
    if (!strategy.cuts[static_cast<size_t>(dimensions[d].front())].empty()) continue;
    auto factor = dimensions[d].begin();
    for (AxisId axis : layout.dimensions[d]) {
      const auto is_exhausted = [&] {
        return mesh.Size(strategy.cuts[static_cast<size_t>(*factor)]) >=
               rule.factors[static_cast<size_t>(*factor)].size;
      };
      while (factor + 1 != dimensions[d].end() && is_exhausted()) ++factor;
      const FactorKind kind = rule.factors[static_cast<size_t>(*factor)].kind;
      if (kind == FactorKind::kWhole || kind == FactorKind::kInner) break;
      absl::StatusOr<Strategy> next = WithCut(strategy, rule, mesh, *factor, axis);
      if (!next.ok()) break;
      strategy = *std::move(next);
    }
  }
}

bool IsPartialOver(const Layout& layout, AxisId axis) {
  return std::any_of(layout.partial.begin(), layout.partial.end(),
                     [axis](const PartialAxis& partial) { return partial.axis == axis; });
}

// Forms are made of ops that compute in f32, and so they are built for an op of f32: gives `op` casts of its inputs of
// 16 bits. Returns what each of them casts. The form of a product has products, which read 16 bits.
std::map<OpId, OpId> WidenInputs(GraphBuilder& builder, Op& op) {
  std::map<OpId, OpId> sources;
  const OpDefinition& definition = DefinitionOf(op);
  if (definition.op_class == OpClass::kProduct) return sources;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const OpId source = op.inputs[i];
    if (!Is16Bit(builder.type(source).dtype)) continue;
    op.inputs[i] = builder.Add(OpKind::kCast, {source}, {{attribute::kDType, DType::kF32}},
                               absl::StrCat(op.name, ".", definition.signature[i].name, ".f32"));
    sources.emplace(op.inputs[i], source);
  }
  op.attributes.Erase(attribute::kResult);
  return sources;
}

// Ops that read 16 bits need no cast.
void ReadSources(Graph& graph, const std::map<OpId, OpId>& sources) {
  if (sources.empty()) return;
  for (Op& op : graph.ops) {
    for (const int input : DefinitionOf(op).reads_16_bits) {
      if (static_cast<size_t>(input) >= op.inputs.size()) continue;
      OpId& read = op.inputs[static_cast<size_t>(input)];
      if (const auto cast = sources.find(read); cast != sources.end()) read = cast->second;
    }
  }
}

// The result in the type of `op`: where the last op of the form gives 16 bits it makes them itself.
OpId Round(GraphBuilder& builder, const Op& op, OpId result) {
  Op& last = builder.mutable_graph().ops[result];
  if (DefinitionOf(last).gives_16_bits) {
    last.attributes.Set(attribute::kResult, op.type.dtype);
    last.type.dtype = op.type.dtype;
    return result;
  }
  const std::string name = builder.graph().op(result).name;
  const OpId rounded = builder.Add(OpKind::kCast, {result}, {{attribute::kDType, op.type.dtype}}, name);
  builder.mutable_graph().ops[result].name = absl::StrCat(name, ".f32");
  return rounded;
}

}  // namespace

Strategy StrategyOfBuilt(const Rule& rule, const std::vector<const Layout*>& inputs,
                         const std::vector<PassThrough>& passes, const Mesh& mesh, bool cuts_compounds) {
  Strategy strategy = Strategy::Replicated(rule);
  for (size_t i = 0; i < inputs.size(); ++i)
    CutLikeInput(*inputs[i], rule.inputs[i], rule, mesh, cuts_compounds, strategy);
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
    stand_in.inputs[i] = builder.AddSource(graph.op(op.inputs[i]).type, absl::StrCat("input ", i));
  }
  const std::map<OpId, OpId> sources = WidenInputs(builder, stand_in);
  std::vector<int64_t> pieces;
  for (const AxisList& axes : strategy.cuts) pieces.push_back(mesh.Size(axes));
  BuiltForm form{.graph = {}, .inputs = op.inputs.size(), .result = {}, .strategies = {}, .layouts = {}};
  form.result = definition.distribute(builder, stand_in, pieces);
  ReadSources(builder.mutable_graph(), sources);
  if (Is16Bit(op.type.dtype) && builder.type(form.result) != op.type) form.result = Round(builder, op, form.result);
  form.graph = std::move(builder).Build();

  const bool has_products = definition.op_class == OpClass::kProduct;
  for (const Op& built : form.graph.ops) {
    const Rule own = RuleOf(form.graph, built);
    if (form.is_input(built.id)) {
      form.strategies.push_back(Strategy::Replicated(own));
      form.layouts.push_back(InputLayout(strategy, rule, built.id.value()));
      continue;
    }
    std::vector<const Layout*> inputs;
    for (OpId input : built.inputs) inputs.push_back(&form.layouts[input]);
    std::vector<PassThrough> passes = strategy.passes;
    // Sums that the products leave partial stay so to the end of the form.
    for (const Layout* input : inputs) {
      for (const PartialAxis& partial : input->partial) {
        const bool passes_already = std::any_of(passes.begin(), passes.end(),
                                                [&](const PassThrough& pass) { return pass.axis == partial.axis; });
        if (has_products && !passes_already) passes.push_back({.axis = partial.axis});
      }
    }
    std::sort(passes.begin(), passes.end(), [](const PassThrough& a, const PassThrough& b) { return a.axis < b.axis; });
    form.strategies.push_back(StrategyOfBuilt(own, inputs, passes, mesh, has_products));
    form.layouts.push_back(OutputLayout(form.strategies.back(), own));
  }
  return form;
}

}  // namespace cleave::ir
