#include "ir/proof/check/shrink.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/manual.h"
#include "ir/proof/check/size_classes.h"
#include "ir/sharding/layout/boxes.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {
namespace {

// Whether two rules differ at most in how many pieces they allow: what is smaller may be cut into more.
bool SameButForPieces(Rule a, const Rule& b) {
  if (a.factors.size() != b.factors.size()) return false;
  for (size_t i = 0; i < a.factors.size(); ++i) a.factors[i].max_pieces = b.factors[i].max_pieces;
  return a == b;
}

// Gives the values that ops read in windows the windows of the small ops. REQUIRES: they have those of the large ones.
void ResizeWindows(const std::vector<Rule>& rules, Program& program) {
  for (const Step& step : program.steps) {
    const auto* compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr) continue;
    for (size_t input = 0; input < compute->inputs.size(); ++input) {
      for (DimensionWindow& entry : program.values[compute->inputs[input]].layout.windows) {
        const Rule& rule = rules[static_cast<size_t>(compute->op.value())];
        const Window* window = rule.WindowOf(static_cast<int>(input), static_cast<size_t>(entry.dimension));
        if (window != nullptr) entry.window = *window;
      }
    }
  }
  // A copy has the windows of what it copies. No op reads those in the host's memory.
  for (const Step& step : program.steps) {
    const auto* copy = std::get_if<HostCopy>(&step.action);
    if (copy != nullptr) program.values[copy->output].layout.windows = program.value(copy->input).layout.windows;
  }
}

// A slice brings each rank its windows where every rank already holds its own. On shorter axes pieces lie elsewhere,
// and what a rank needs may be on another rank: then the same step is an exchange.
void ExchangeWindowsThatAreElsewhere(Program& program) {
  for (Step& step : program.steps) {
    const auto* slice = std::get_if<Slice>(&step.action);
    if (slice == nullptr) continue;
    const Value& output = program.value(slice->output);
    const Layout& held = program.value(slice->input).layout;
    if (output.layout.windows.empty() || IsWithin(held, output.layout, program.mesh, output.type.shape)) continue;
    step.action = Collective{.kind = CollectiveKind::kNeighborExchange,
                             .axes = WindowedAxes(output.layout),
                             .reduction = Reduction::kSum,
                             .transfers = {{.input = slice->input, .output = slice->output}},
                             .why = ""};
  }
}

// A permute pairs ranks, because pieces keep their sizes. On shorter axes they may not: then what a rank needs is
// spread over the ranks that differ on any axis that cuts the tensor.
void WidenPermutes(Program& program) {
  for (Step& step : program.steps) {
    auto* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || collective->kind != CollectiveKind::kPermute || collective->turn != 0) continue;
    const Layout& from = program.value(collective->transfers[0].input).layout;
    const Layout& to = program.value(collective->transfers[0].output).layout;
    std::set<AxisId> axes(collective->axes.begin(), collective->axes.end());
    for (const Layout* layout : {&from, &to}) {
      for (const AxisList& cut : layout->dimensions) axes.insert(cut.begin(), cut.end());
    }
    collective->axes.assign(axes.begin(), axes.end());
  }
}

// What the ranks of a manual model hold together between an op's input and its value has a type of its own.
void ResizeMoves(const Graph& graph, Program& program) {
  for (const Step& step : program.steps) {
    for (size_t i = 0; i < Writes(step).size(); ++i) {
      Value& output = program.values[Writes(step)[i]];
      const Op& op = graph.op(output.origin);
      if (DefinitionOf(op).rank_use != RankUse::kOthers || IsAlone(op)) continue;
      const ManualMove move = ManualMoveOf(graph, op, program.mesh);
      if (std::holds_alternative<Collective>(step.action)) {
        output.type = move.received;
      } else if (program.value(Reads(step)[i]).origin != op.id) {
        output.type = move.sent;
      }
    }
  }
}

// The rules of all ops with small sizes.
// What a compound dimension requires of its parts (VerifyStrategy): the pieces of all but the last divide them, and
// those in front of one that is cut are exhausted.
void AddCompound(const FactorList& factors, const Rule& rule, const Compute& compute, const Mesh& short_mesh,
                 SizeClasses& classes) {
  bool is_last = true, is_cut_behind = false;
  for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor) {
    const int64_t pieces = short_mesh.Size(compute.strategy.cuts[static_cast<size_t>(*factor)]);
    if (is_cut_behind) classes.Keep(compute.op, *factor);
    if (!is_last) classes.AddDivisor(compute.op, *factor, pieces);
    is_last &= rule.factors[static_cast<size_t>(*factor)].size == 1;
    is_cut_behind |= pieces > 1;
  }
}

std::vector<Rule> SmallRules(const std::vector<Rule>& rules, const Graph& graph, const Program& program,
                             const Mesh& short_mesh) {
  SizeClasses classes(graph, rules);
  for (const Step& step : program.steps) {
    const auto* compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr) continue;
    for (size_t factor = 0; factor < compute->strategy.cuts.size(); ++factor) {
      const AxisList& axes = compute->strategy.cuts[factor];
      // Every prefix of the axes cuts the dimension in some layout between the two.
      for (size_t count = 1; count <= axes.size(); ++count) {
        const absl::Span<const AxisId> prefix = absl::MakeConstSpan(axes).first(count);
        classes.AddCut(compute->op, static_cast<int>(factor), program.mesh.Size(prefix), short_mesh.Size(prefix));
      }
    }
    const Rule& rule = rules[static_cast<size_t>(compute->op.value())];
    for (const std::vector<FactorList>& input : rule.inputs) {
      for (const FactorList& factors : input) AddCompound(factors, rule, *compute, short_mesh, classes);
    }
    for (const FactorList& factors : rule.output) AddCompound(factors, rule, *compute, short_mesh, classes);
  }
  classes.ChooseSizes();
  std::vector<Rule> small;
  for (const Op& op : graph.ops) small.push_back(classes.Resized(op.id, rules[static_cast<size_t>(op.id.value())]));
  return small;
}

}  // namespace

std::vector<std::string> ResizeGraph(const std::vector<Rule>& rules, Graph& graph) {
  for (Op& op : graph.ops) {
    const Rule& rule = rules[static_cast<size_t>(op.id.value())];
    op.type.shape = rule.OutputShape();
    const OpDefinition& definition = DefinitionOf(op);
    if (definition.resize != nullptr) op.attributes = definition.resize(op.attributes, rule);
  }
  // Which numbers count as rows of a table is told by those that read it at them.
  for (const auto& [op, numbers] : RowAccesses(graph)) {
    graph.ops[numbers].attributes.Set(attribute::kRows, rules[static_cast<size_t>(op.value())].InputShape(0)[0]);
  }
  std::vector<std::string> errors = VerifyGraph(graph);
  if (!errors.empty()) return errors;
  for (const Op& op : graph.ops) {
    if (!SameButForPieces(RuleOf(graph, op), rules[static_cast<size_t>(op.id.value())]))
      errors.push_back(absl::StrCat("`", op.name, "` has another rule than its sizes"));
  }
  return errors;
}

absl::StatusOr<Shrunk> Shrink(const Graph& graph, const Program& program, const Mesh& short_mesh) {
  Shrunk shrunk{.graph = graph, .program = program};
  shrunk.program.mesh = short_mesh;

  std::vector<Rule> rules;
  for (const Op& op : graph.ops) rules.push_back(RuleOf(graph, op));
  rules = SmallRules(rules, graph, program, short_mesh);
  if (const std::vector<std::string> errors = ResizeGraph(rules, shrunk.graph); !errors.empty()) {
    return absl::InternalError(absl::StrCat("the shrunk graph is not sound: ", absl::StrJoin(errors, "; ")));
  }
  ResizeWindows(rules, shrunk.program);
  for (Value& value : shrunk.program.values) value.type = shrunk.graph.op(value.origin).type;
  if (program.is_manual) ResizeMoves(shrunk.graph, shrunk.program);
  for (Step& step : shrunk.program.steps) {
    if (auto* compute = std::get_if<Compute>(&step.action))
      compute->attributes = shrunk.graph.op(compute->op).attributes;
  }
  if (short_mesh != program.mesh) WidenPermutes(shrunk.program);
  ExchangeWindowsThatAreElsewhere(shrunk.program);
  return shrunk;
}

}  // namespace cleave::ir
