#include "ir/proof/check/compare.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status/status_macros.h"
#include "ir/proof/check/conditioning.h"
#include "ir/sharding/layout/layout.h"

namespace cleave::ir {
namespace {

// The parts of a partial value on the ranks that differ from `rank` only on its partial axes, combined.
Tensor Resolved(const Program& program, const Value& value, const std::vector<Tensor>& locals, int rank) {
  Tensor result = locals[static_cast<size_t>(rank)];
  for (int member : program.mesh.Group(rank, value.layout.PartialAxes())) {
    if (member == rank) continue;
    for (size_t i = 0; i < result.values.size(); ++i) {
      const double other = locals[static_cast<size_t>(member)].values[i];
      result.values[i] = Combine(value.layout.partial.front().reduction, result.values[i], other);
    }
  }
  return result;
}

// What is kept from step to step, and its new values.
std::set<ValueId> KeptIn(const Program& program) {
  std::set<ValueId> kept;
  for (const Step& step : program.steps) {
    const auto* compute = std::get_if<Compute>(&step.action);
    if (compute != nullptr && compute->is_kept) kept.insert(compute->output);
  }
  return kept;
}
std::set<ValueId> NextOfKept(const Program& program) {
  const std::set<ValueId> kept = KeptIn(program);
  std::set<ValueId> next;
  for (const ProgramUpdate& update : program.updates) {
    if (kept.count(update.state) > 0) next.insert(update.value);
  }
  return next;
}

constexpr int64_t kTestStep = 0;

// Steps that show what a program does: one past the first, so that step-dependent scalars differ from their starts, and
// that of testing where it takes other values.
std::vector<int64_t> StepsToCompare(const Graph& graph) {
  const bool tests_otherwise =
      std::any_of(graph.ops.begin(), graph.ops.end(), [](const Op& op) { return op.kind == OpKind::kWhileTraining; });
  return tests_otherwise ? std::vector<int64_t>{3, kTestStep} : std::vector<int64_t>{3};
}

// For each value the op of the graph that has it on one device: its origin. What is kept for the next step has none: it
// is the new value of what it is made of, in 16 bits, to which the interpreter does not round.
IdVector<ValueId, OpId> MeaningsIn(const Program& program) {
  IdVector<ValueId, OpId> meanings(program.values.size());
  for (size_t i = 0; i < program.values.size(); ++i) {
    const ValueId value(static_cast<int64_t>(i));
    meanings[value] = program.value(value).origin;
  }
  const std::set<ValueId> next = NextOfKept(program);
  for (const Step& step : program.steps) {
    const auto* compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr || next.count(compute->output) == 0 || compute->inputs.size() != 1) continue;
    meanings[compute->output] = program.value(compute->inputs.front()).origin;
  }
  return meanings;
}

// Whether a step of the program runs at this step of training.
bool Runs(const Step& step, int64_t at) {
  return at != kTestStep || step.phase == Phase::kForward || step.phase == Phase::kMetric;
}

// Compares the value that `step` wrote on one rank.
absl::Status CompareOnRank(const Program& program, const Step& step, ValueId id, int rank,
                           const std::vector<Tensor>& locals, const Tensor& expected, Comparison& comparison) {
  const Value& value = program.value(id);
  const Tensor whole = Resolved(program, value, locals, rank);
  const Tensor wanted = LocalPart(program, value, expected, rank);
  if (whole.shape != wanted.shape) {
    return absl::InternalError(absl::StrCat("`", value.name, "` is ", ShapeText(whole.shape), " on rank ", rank,
                                            ", its slice of one device is ", ShapeText(wanted.shape)));
  }
  const Difference difference = LargestDifference(expected, wanted, whole);
  comparison.largest_difference = std::max(comparison.largest_difference, difference.relative);
  if (difference.relative > kTolerance && (comparison.wrong.empty() || comparison.wrong.back().value != id)) {
    comparison.wrong.push_back({.value = id,
                                .rank = rank,
                                .element = difference.element,
                                .actual = whole.values[difference.element],
                                .expected = wanted.values[difference.element],
                                .step = step.name,
                                .line = step.line});
  }
  return absl::OkStatus();
}

// Every look of the graph is in the program once, at the value that it is meant for.
absl::Status CheckGlances(const Graph& graph, const Program& program) {
  std::vector<int> glances(graph.looks.size(), 0);
  for (const Step& step : program.steps) {
    const auto* glance = std::get_if<Glance>(&step.action);
    if (glance == nullptr) continue;
    const auto number = static_cast<size_t>(glance->number);
    const bool is_same = number < graph.looks.size() && graph.looks[number].kind == glance->kind &&
                         graph.looks[number].value == program.value(glance->input).origin &&
                         graph.looks[number].name == step.name &&
                         graph.op(graph.looks[number].value).type == program.value(glance->input).type;
    if (!is_same)
      return absl::InternalError(absl::StrCat("the program looks at `", step.name, "` in another way than the graph"));
    ++glances[number];
  }
  for (size_t i = 0; i < glances.size(); ++i) {
    if (glances[i] == 1) continue;
    return absl::InternalError(
        absl::StrCat("the program looks at `", graph.looks[i].name, "` ", glances[i], " times instead of once"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckResults(const Graph& graph, const Program& program) {
  const auto origin = [&program](ValueId id) { return program.value(id).origin; };
  if (program.loss.has_value() != graph.loss.has_value() ||
      (graph.loss.has_value() && origin(*program.loss) != *graph.loss)) {
    return absl::InternalError("the program has another loss than the graph");
  }
  const size_t updates = program.updates.size() - NextOfKept(program).size();
  if (program.metrics.size() != graph.metrics.size() || updates != graph.updates.size()) {
    return absl::InternalError(absl::StrCat("the program has ", program.metrics.size(), " of ", graph.metrics.size(),
                                            " metrics and updates ", updates, " of ", graph.updates.size(), " states"));
  }
  for (const Metric& metric : graph.metrics) {
    const bool found = std::any_of(program.metrics.begin(), program.metrics.end(), [&](const ProgramMetric& candidate) {
      return candidate.name == metric.name && origin(candidate.value) == metric.value;
    });
    if (!found) return absl::InternalError(absl::StrCat("metric `", metric.name, "` is not the graph's"));
  }
  for (const StateUpdate& update : graph.updates) {
    const bool found = std::any_of(program.updates.begin(), program.updates.end(), [&](const ProgramUpdate& candidate) {
      return origin(candidate.state) == update.state && origin(candidate.value) == update.value;
    });
    if (!found) return absl::InternalError(absl::StrCat("`", graph.op(update.state).name, "` takes a wrong new value"));
  }
  return CheckGlances(graph, program);
}

Difference LargestDifference(const Tensor& whole, const Tensor& expected, const Tensor& actual) {
  double scale = 1;
  for (double value : whole.values) {
    if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
  }
  Difference largest;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const double a = expected.values[i];
    const double b = actual.values[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double difference = std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) / scale : INFINITY;
    if (difference > largest.relative) largest = {difference, i};
  }
  return largest;
}

std::string WrongValue::Text(const Program& program) const {
  const Value& wrong = program.value(value);
  return absl::StrCat("`", wrong.name, "` (step `", step, "`, line ", line, ") is wrong on rank ", rank, ": element ",
                      element, " is ", actual, ", one device computes ", expected, " (layout ",
                      LayoutText(wrong.layout, program.mesh), ")");
}

absl::Status CheckComputes(const Graph& graph, const Program& program) {
  std::map<OpId, OpId> new_values;
  for (const StateUpdate& update : graph.updates) new_values[update.state] = update.value;
  const std::set<ValueId> next = NextOfKept(program);
  for (const Step& step : program.steps) {
    if (const auto* sent = std::get_if<Collective>(&step.action); sent != nullptr && sent->turn != 0) {
      const Transfer& transfer = sent->transfers.front();
      const Op& op = graph.op(program.value(transfer.output).origin);
      const bool is_same = op.kind == OpKind::kTurn && op.inputs[0] == program.value(transfer.input).origin &&
                           op.attributes.Get(attribute::kTurn) == sent->turn &&
                           op.attributes.Get(attribute::kPieces) == program.mesh.Size(sent->axes);
      if (!is_same) return absl::InternalError(absl::StrCat("step `", step.name, "` is another op than in the graph"));
    }
    const auto* compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr) continue;
    const Op& op = graph.op(compute->op);
    std::vector<OpId> inputs, wanted(op.inputs.begin(), op.inputs.end());
    for (ValueId input : compute->inputs) inputs.push_back(program.value(input).origin);
    for (OpId& input : wanted) {
      const auto new_value = new_values.find(input);
      if (next.count(compute->output) > 0 && new_value != new_values.end()) input = new_value->second;
    }
    const bool is_same = compute->kind == op.kind && compute->attributes == op.attributes && inputs == wanted &&
                         program.value(compute->output).origin == op.id;
    if (!is_same) return absl::InternalError(absl::StrCat("step `", step.name, "` is another op than in the graph"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Comparison> CompareWithGraph(const Graph& graph, const Program& program, const SourceValues& sources,
                                            int64_t step) {
  CLEAVE_RETURN_IF_ERROR(CheckResults(graph, program));
  const IdVector<OpId, Tensor> expected = InterpretGraph(graph, sources, step);
  CLEAVE_ASSIGN_OR_RETURN(const auto actual, InterpretProgram(program, sources, step));
  const IdVector<ValueId, OpId> meanings = MeaningsIn(program);
  Comparison comparison;
  for (const Step& writer : program.steps) {
    if (!Runs(writer, step)) continue;
    for (ValueId id : Writes(writer)) {
      ++comparison.values;
      for (const int rank : RanksOf(program, program.value(id).stage)) {
        const Tensor& one_device = expected[meanings[id]];
        CLEAVE_RETURN_IF_ERROR(CompareOnRank(program, writer, id, rank, actual[id], one_device, comparison));
      }
    }
  }
  return comparison;
}

absl::StatusOr<Comparison> CompareOnRandomSources(const Graph& graph, const Program& program, uint64_t seed) {
  constexpr uint64_t kDraws = 3;
  const std::vector<int64_t> steps = StepsToCompare(graph);
  const IdVector<ValueId, OpId> meanings = MeaningsIn(program);
  Comparison worst;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    const SourceValues sources = RandomSources(graph, seed + draw);
    Comparison all;
    bool is_right = true;
    for (const int64_t step : steps) {
      CLEAVE_ASSIGN_OR_RETURN(Comparison one, CompareWithGraph(graph, program, sources, step));
      all.values += one.values;
      all.largest_difference = std::max(all.largest_difference, one.largest_difference);
      if (one.wrong.empty()) continue;
      is_right = false;
      const IdVector<OpId, char> hangs = HangOnRounding(graph, sources, step);
      std::copy_if(one.wrong.begin(), one.wrong.end(), std::back_inserter(all.wrong),
                   [&](const WrongValue& wrong) { return hangs[meanings[wrong.value]] == 0; });
    }
    if (is_right) return all;
    if (draw == 0 || worst.wrong.empty()) worst = std::move(all);
  }
  return worst;
}

}  // namespace cleave::ir
