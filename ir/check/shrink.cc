#include "ir/check/shrink.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status/status_macros.h"
#include "ir/check/size_classes.h"
#include "ir/layout/layout.h"
#include "ir/mesh/mesh.h"
#include "ir/ops/ops.h"
#include "ir/strategy/strategy.h"

namespace cleave {
namespace {

// How every step treats each mesh axis: axes with one text are interchangeable for the proof.
std::vector<std::string> AxisTreatments(const Program& program) {
  std::vector<std::string> treatments(static_cast<size_t>(program.mesh.axis_count()));
  const auto append = [&](AxisId axis, const std::string& what) {
    absl::StrAppend(&treatments[static_cast<size_t>(axis.value())], what, ";");
  };
  for (size_t step = 0; step < program.steps.size(); ++step) {
    if (const auto* compute = std::get_if<Compute>(&program.steps[step].action)) {
      for (size_t factor = 0; factor < compute->strategy.cuts.size(); ++factor) {
        for (AxisId axis : compute->strategy.cuts[factor]) append(axis, absl::StrCat(step, "f", factor));
      }
      for (const PassThrough& pass : compute->strategy.passes) append(pass.axis, absl::StrCat(step, "p", pass.group));
    } else if (const auto* collective = std::get_if<Collective>(&program.steps[step].action)) {
      for (AxisId axis : collective->axes) append(axis, absl::StrCat(step, "c"));
    }
  }
  return treatments;
}

// Axes that a permute exchanges must be shortened together: it maps pieces one to one only while their sizes agree.
std::vector<std::vector<size_t>> AxesShortenedTogether(const Program& program) {
  std::vector<size_t> first(static_cast<size_t>(program.mesh.axis_count()));  // The first axis of an axis's unit.
  std::iota(first.begin(), first.end(), size_t{0});
  for (const Step& step : program.steps) {
    const auto* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || collective->kind != CollectiveKind::kPermute) continue;
    size_t least = first.size();
    for (AxisId axis : collective->axes) least = std::min(least, first[static_cast<size_t>(axis.value())]);
    for (AxisId axis : collective->axes) {
      const size_t joined = first[static_cast<size_t>(axis.value())];
      std::replace(first.begin(), first.end(), joined, least);
    }
  }
  std::vector<std::vector<size_t>> units(first.size());
  for (size_t axis = 0; axis < first.size(); ++axis) units[first[axis]].push_back(axis);
  units.erase(std::remove_if(units.begin(), units.end(), [](const auto& unit) { return unit.empty(); }), units.end());
  return units;
}

// The mesh with axes of size 1 where it has more ranks than can be simulated.
absl::StatusOr<Mesh> ShortenedMesh(const Program& program, std::vector<std::string>& axes_left_out) {
  std::vector<MeshAxis> axes = program.mesh.axes();
  int64_t ranks = program.mesh.rank_count();
  if (ranks <= kSimulatedRanks) return program.mesh;
  // A long axis behaves like one of three.
  for (MeshAxis& axis : axes) {
    if (axis.size > 3) {
      ranks = ranks / axis.size * 3;
      axis.size = 3;
    }
  }
  const std::vector<std::vector<size_t>> units = AxesShortenedTogether(program);
  const std::vector<std::string> axis_treatments = AxisTreatments(program);
  std::vector<std::string> treatments;
  for (const std::vector<size_t>& unit : units) {
    treatments.push_back(
        absl::StrJoin(unit, "|", [&](std::string* out, size_t axis) { *out += axis_treatments[axis]; }));
  }
  const auto shorten = [&](const std::vector<size_t>& unit) {
    for (size_t axis : unit) {
      ranks /= axes[axis].size;
      axes[axis].size = 1;
    }
  };
  std::map<std::string, int> kept;
  for (size_t i = 0; i < units.size() && ranks > kSimulatedRanks; ++i) {
    if (++kept[treatments[i]] <= 2) continue;
    --kept[treatments[i]];
    shorten(units[i]);
  }
  // Still too many: second units of a treatment go first, then whole treatments, innermost first.
  for (const bool whole_treatments : {false, true}) {
    for (size_t i = units.size(); i-- > 0 && ranks > kSimulatedRanks;) {
      if (axes[units[i].front()].size == 1) continue;
      if (kept[treatments[i]] == 1) {
        if (!whole_treatments) continue;
        for (size_t axis : units[i]) axes_left_out.push_back(axes[axis].name);
      }
      --kept[treatments[i]];
      shorten(units[i]);
    }
  }
  return Mesh::Create(std::move(axes));
}

// Sizes of the dimensions of an op's value under the new sizes of its rule's factors.
Shape ShapeOf(const std::vector<FactorList>& dimensions, const std::vector<int64_t>& sizes) {
  Shape shape;
  for (const FactorList& factors : dimensions) {
    int64_t size = 1;
    for (int factor : factors) size *= sizes[static_cast<size_t>(factor)];
    shape.push_back(size);
  }
  return shape;
}

void ResizeGraph(const std::vector<Rule>& rules, SizeClasses& classes, Graph& graph) {
  for (Op& op : graph.ops) {
    const Rule& rule = rules[static_cast<size_t>(op.id.value())];
    std::vector<int64_t> sizes;
    for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
      sizes.push_back(classes.NewSize(op.id, static_cast<int>(factor)));
    }
    op.type.shape = ShapeOf(rule.output, sizes);
    const OpDefinition& definition = DefinitionOf(op);
    if (definition.resize != nullptr) op.attributes = definition.resize(op.attributes, rule, sizes);
  }
}

}  // namespace

absl::StatusOr<Shrunk> Shrink(const Graph& graph, const Program& program) {
  Shrunk shrunk{.graph = graph, .program = program, .axes_left_out = {}};
  CLEAVE_ASSIGN_OR_RETURN(shrunk.program.mesh, ShortenedMesh(program, shrunk.axes_left_out));

  std::vector<Rule> rules;
  for (const Op& op : graph.ops) rules.push_back(RuleOf(graph, op));
  SizeClasses classes(graph, rules);
  for (const Step& step : program.steps) {
    const auto* compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr) continue;
    for (size_t factor = 0; factor < compute->strategy.cuts.size(); ++factor) {
      const std::vector<AxisId>& axes = compute->strategy.cuts[factor];
      // Every prefix of the axes cuts the dimension in some layout on the way.
      for (size_t count = 1; count <= axes.size(); ++count) {
        const absl::Span<const AxisId> prefix = absl::MakeConstSpan(axes).first(count);
        classes.AddCut(compute->op, static_cast<int>(factor), program.mesh.Size(prefix),
                       shrunk.program.mesh.Size(prefix));
      }
    }
  }
  classes.ChooseSizes();
  ResizeGraph(rules, classes, shrunk.graph);
  if (const std::vector<std::string> errors = VerifyGraph(shrunk.graph); !errors.empty()) {
    return absl::InternalError(absl::StrCat("the shrunk graph is not sound: ", absl::StrJoin(errors, "; ")));
  }
  for (Value& value : shrunk.program.values) value.type = shrunk.graph.op(value.origin).type;
  for (Step& step : shrunk.program.steps) {
    if (auto* compute = std::get_if<Compute>(&step.action))
      compute->attributes = shrunk.graph.op(compute->op).attributes;
  }
  return shrunk;
}

}  // namespace cleave
