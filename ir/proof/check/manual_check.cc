// The dynamic half of the proof for manual programs.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status/status_macros.h"
#include "ir/graph/manual/manual.h"
#include "ir/graph/ops/ops.h"
#include "ir/proof/check/check.h"
#include "ir/proof/check/compare.h"
#include "ir/proof/check/directional.h"
#include "ir/proof/check/domain.h"
#include "ir/proof/check/shrink.h"
#include "ir/proof/check/simulation_size.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/proof/interpret/interpret_ranks.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::ir {
namespace {

constexpr int64_t kStep = 3;  // Past the first, so that step-dependent scalars differ from their starts.

// For one simulated step on all ranks: arithmetic, and elements that are touched.
double OperationsOf(const Program& program) {
  double operations = 0;
  for (const Step& step : program.steps) {
    for (ValueId value : Writes(step))
      operations += static_cast<double>(ElementCount(LargestLocalShape(program, value)));
    const auto* compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr) continue;
    std::vector<TensorType> inputs;
    for (ValueId input : compute->inputs) inputs.push_back(program.value(input).type);
    const Flops flops =
        DefinitionOf(compute->kind).flops(inputs, program.value(compute->output).type, compute->attributes);
    operations += static_cast<double>(flops.value());
  }
  return operations * program.mesh.rank_count();
}

// The ops up to the loss and the metrics.
Graph ForwardOf(const Graph& graph) {
  Graph forward = graph;
  forward.ops = {};
  forward.updates = {};
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::kForward && op.phase != Phase::kMetric) break;
    forward.ops.push_back(op);
  }
  return forward;
}

bool HasSameOps(const Graph& a, const Graph& b) {
  if (a.ops.size() != b.ops.size()) return false;
  for (const Op& op : a.ops) {
    const Op& other = b.op(op.id);
    if (op.kind != other.kind || op.inputs != other.inputs || op.type != other.type) return false;
  }
  return true;
}

// What the update ops of a training graph make of parameters and gradients. A value that they read and that is no
// gradient is an Unimplemented error.
absl::StatusOr<Updates> UpdatesOf(const Graph& graph) {
  Updates updates;
  std::map<OpId, OpId> places;
  const auto place_of = [&](OpId id) -> absl::StatusOr<OpId> {
    const auto [place, is_new] = places.try_emplace(id, OpId(static_cast<int64_t>(updates.graph.ops.size())));
    if (!is_new) return place->second;
    Op op = graph.op(id);
    if (op.kind != OpKind::kParameter) {
      if (!op.gradient_of.has_value()) return absl::UnimplementedError(absl::StrCat("no gradient: ", op.name));
      op = {.id = id,
            .name = op.name,
            .kind = OpKind::kInput,
            .attributes = {{attribute::kData, graph.op(*op.gradient_of).name}},
            .type = op.type};
    }
    op.id = place->second;
    updates.graph.ops.push_back(std::move(op));
    return place->second;
  };
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::kUpdate) continue;
    Op update = op;
    for (OpId& input : update.inputs) {
      CLEAVE_ASSIGN_OR_RETURN(input, place_of(input));
    }
    update.id = OpId(static_cast<int64_t>(updates.graph.ops.size()));
    places[op.id] = update.id;
    updates.graph.ops.push_back(std::move(update));
  }
  if (const Op* const loss_gradient = LossGradientOf(graph)) {
    updates.loss_scale = OpId(static_cast<int64_t>(updates.graph.ops.size()));
    updates.graph.ops.push_back(*loss_gradient);
    updates.graph.ops.back().id = *updates.loss_scale;
  }
  for (const StateUpdate& update : graph.updates) {
    CLEAVE_ASSIGN_OR_RETURN(const OpId state, place_of(update.state));
    CLEAVE_ASSIGN_OR_RETURN(const OpId value, place_of(update.value));
    updates.graph.updates.push_back({.state = state, .value = value});
  }
  return updates;
}

// `graph` as it is made again from its forward ops and its updates, lowered to the type of 16 bits that it has.
absl::StatusOr<Graph> TrainedAgain(const Graph& graph) {
  const Graph forward = ForwardOf(graph);
  CLEAVE_ASSIGN_OR_RETURN(const Updates updates, UpdatesOf(graph));
  const auto narrow =
      std::find_if(forward.ops.begin(), forward.ops.end(), [](const Op& op) { return Is16Bit(op.type.dtype); });
  Precision precision = Precision::kF32;
  if (narrow != forward.ops.end()) precision = *ParsePrecision(DTypeName(narrow->type.dtype));
  CLEAVE_ASSIGN_OR_RETURN(Graph training, Differentiate(InF32(forward), updates));
  return ApplyPrecision(training, precision).graph;
}

// Gradients have constants that follow from sizes, such as the 1 / n of a mean. The shrunk program still has the old
// ones. False where the graph is not what differentiating its model gives, or the shrunk model has other ops.
bool RenewConstants(const Graph& graph, Shrunk& shrunk) {
  const absl::StatusOr<Graph> original = TrainedAgain(graph);
  if (!original.ok() || original->ops != graph.ops) return false;
  const absl::StatusOr<Graph> renewed = TrainedAgain(shrunk.graph);
  if (!renewed.ok() || !HasSameOps(shrunk.graph, *renewed)) return false;
  for (Op& op : shrunk.graph.ops) op.attributes = renewed->op(op.id).attributes;
  for (Step& step : shrunk.program.steps) {
    if (auto* compute = std::get_if<Compute>(&step.action)) compute->attributes = renewed->op(compute->op).attributes;
  }
  return true;
}

// Random values, equal on all ranks except where they are local.
RankSources RandomRankSources(const Graph& graph, int ranks, uint64_t seed, const SourceRanges& ranges) {
  RankSources sources;
  for (int rank = 0; rank < ranks; ++rank) {
    // Seeds lie far apart, so that no rank of one draw has the values of another draw.
    constexpr uint64_t kSeedsPerDraw = 1'000'003;
    SourceValues own = RandomSources(graph, seed * kSeedsPerDraw + static_cast<uint64_t>(rank), ranges);
    for (auto& [op, tensor] : own) {
      const Attributes& attributes = graph.op(op).attributes;
      const bool is_local = attributes.IsSet(attribute::kLocal);
      TensorOnRanks& by_rank = sources[op];
      if (rank == 0 || is_local) {
        by_rank.push_back(std::move(tensor));
      } else {
        by_rank.push_back(by_rank.front());
      }
    }
  }
  return sources;
}

class ManualCheck {
 public:
  ManualCheck(const Graph& graph, const Program& program)
      : graph_(graph), program_(program), variance_(VarianceOf(graph)) {
    for (const Step& step : program.steps) {
      for (ValueId id : Writes(step)) value_of_[program.value(id).origin] = id;
    }
  }

  absl::Status Run(ManualReport& report) const {
    const Domain domain = FindSources(report.operations);
    constexpr uint64_t kDraws = 3;
    std::string mistake;
    for (uint64_t draw = 1; draw <= kDraws; ++draw) {
      const RankSources sources = SourcesIn(domain.ranges, draw);
      CLEAVE_ASSIGN_OR_RETURN(const ProgramValues values, InterpretProgram(program_, sources, kStep));
      if (draw == 1) CLEAVE_RETURN_IF_ERROR(CompareValues(sources, values, report));
      if (!program_.loss.has_value()) return absl::OkStatus();
      if (!domain.found()) {
        report.unmeasured = NoValueText(domain);
        return absl::OkStatus();
      }
      std::vector<DirectionalDerivative> different;
      for (const double length : {1e-6, 1e-7, 1e-5, 1e-4}) {
        CLEAVE_ASSIGN_OR_RETURN(const DirectionalDerivative derivative,
                                DerivativeAlong(draw, length, graph_, program_, sources, values, kStep));
        report.parameters = derivative.parameters;
        if (derivative.agrees()) return absl::OkStatus();
        if (derivative.differs()) different.push_back(derivative);
      }
      if (mistake.empty()) mistake = MistakeText(different);
    }
    if (!mistake.empty()) return absl::InternalError(mistake);
    report.parameters = 0;
    report.unmeasured = absl::StrCat("the loss is not smooth at any of ", kDraws, " places");
    return absl::OkStatus();
  }

 private:
  // Of derivatives that are not what the gradients say, measured at one place; empty unless two of them are the same.
  // Where rounding decides what is measured, each length gives something else.
  static std::string MistakeText(const std::vector<DirectionalDerivative>& different) {
    for (size_t i = 0; i < different.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const double tolerance = different[i].tolerance + different[j].tolerance;
        if (std::abs(different[i].measured - different[j].measured) > tolerance) continue;
        return absl::StrCat("the gradients say that the loss changes by ", different[i].gradient,
                            " along a random direction of all parameters, it changes by ", different[i].measured);
      }
    }
    return "";
  }

  RankSources SourcesIn(const SourceRanges& ranges, uint64_t draw) const {
    return RandomRankSources(graph_, program_.mesh.rank_count(), draw, ranges);
  }

  // Sources on which the model has values. The search takes no longer than the most costly step that is simulated.
  Domain FindSources(double operations) const {
    constexpr double kMostTries = 300;
    const double affordable = kMostOperations / std::max(operations, 1.0);
    return FindDomain(graph_, static_cast<int>(std::clamp(affordable, 3.0, kMostTries)),
                      [&](const SourceRanges& ranges) { return InterpretRanks(graph_, SourcesIn(ranges, 1), kStep); });
  }

  std::string NoValueText(const Domain& domain) const {
    std::string text =
        absl::StrCat("no numbers found for which the loss and its gradients have values, in ", domain.tries, " tries");
    if (!domain.left.first.has_value()) return text;
    const Op& op = graph_.op(*domain.left.first);
    return absl::StrCat(text, ": see `", op.name, "`", op.line > 0 ? absl::StrCat(" in line ", op.line) : "");
  }

  // Compares every value with what the op makes of it, and compares the ranks that should hold the same value.
  absl::Status CompareValues(const RankSources& sources, const ProgramValues& actual, ManualReport& report) const {
    const IdVector<OpId, TensorOnRanks> expected = InterpretRanks(graph_, sources, kStep);
    for (const Step& step : program_.steps) {
      for (ValueId id : Writes(step)) {
        const OpId op = program_.value(id).origin;
        // Between an op's input and its value, what ranks hold has another description.
        if (value_of_.at(op) != id) continue;
        ++report.values;
        CLEAVE_RETURN_IF_ERROR(CompareValue(step, id, actual[id], expected[op]));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CompareValue(const Step& step, ValueId id, const std::vector<Tensor>& actual,
                            const TensorOnRanks& expected) const {
    const Value& value = program_.value(id);
    const RankAxisSet equal = AllAxes(graph_.rank_axes) - variance_[value.origin];
    for (size_t rank = 0; rank < actual.size(); ++rank) {
      CLEAVE_RETURN_IF_ERROR(Compare(step, value, rank, actual[rank], expected[rank], "the model says"));
      const size_t first = static_cast<size_t>(GroupMembers(graph_.rank_axes, equal, static_cast<int64_t>(rank))[0]);
      CLEAVE_RETURN_IF_ERROR(
          Compare(step, value, rank, actual[rank], actual[first], absl::StrCat("rank ", first, " has")));
    }
    return absl::OkStatus();
  }

  static absl::Status Compare(const Step& step, const Value& value, size_t rank, const Tensor& actual,
                              const Tensor& expected, const std::string& whose) {
    if (actual.shape != expected.shape)
      return absl::InternalError(absl::StrCat("`", value.name, "` has another shape"));
    const Difference difference = LargestDifference(expected, expected, actual);
    if (difference.relative <= kTolerance) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("`", value.name, "` (step `", step.name, "`, line ", step.line,
                                            ") is wrong on rank ", rank, ": element ", difference.element, " is ",
                                            actual.values[difference.element], ", ", whose, " ",
                                            expected.values[difference.element]));
  }

  const Graph& graph_;
  const Program& program_;
  const IdVector<OpId, RankAxisSet> variance_;
  std::map<OpId, ValueId> value_of_;  // The last value that an op's steps write.
};

}  // namespace

absl::StatusOr<ManualReport> CheckManual(const Graph& graph, const Program& program) {
  CLEAVE_RETURN_IF_ERROR(CheckComputes(graph, program));
  CLEAVE_RETURN_IF_ERROR(CheckResults(graph, program));
  CLEAVE_ASSIGN_OR_RETURN(Shrunk shrunk, Shrink(graph, program, program.mesh));
  if (!RenewConstants(graph, shrunk)) shrunk = {.graph = graph, .program = program};
  ManualReport report{.ranks = program.mesh.rank_count(),
                      .operations = OperationsOf(shrunk.program),
                      .elements = SimulatedElements(shrunk.graph, shrunk.program)};
  report.is_simulated = report.operations <= kMostOperations && report.elements <= MostElements(shrunk.program);
  if (!report.is_simulated) return report;
  CLEAVE_RETURN_IF_ERROR(ManualCheck(shrunk.graph, shrunk.program).Run(report));
  return report;
}

}  // namespace cleave::ir
