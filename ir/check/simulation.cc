// The dynamic half of the proof: the shrunk program on simulated ranks against the shrunk graph on one device.

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status/status_macros.h"
#include "ir/check/check.h"
#include "ir/check/shrink.h"
#include "ir/interpret/interpret.h"
#include "ir/layout/layout.h"

namespace cleave {
namespace {

// Sums in another order differ in the last bits of a double; a wrong slice or a missing term differs in the first.
constexpr double kTolerance = 1e-9;

struct Difference {
  double relative = 0;
  size_t element = 0;
};

// NaN equals NaN: some ops have no value at some points, on one device as on many.
Difference LargestDifference(const Tensor& expected, const Tensor& actual) {
  double scale = 1;
  for (double value : expected.values) {
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

// The parts of a partial value on the ranks that differ from `rank` only on its partial axes, put together.
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

// The program's loss, metrics and updates are those of the graph: none is lost, and each state takes the value that the
// graph gives it.
absl::Status CheckResults(const Graph& graph, const Program& program) {
  const auto origin = [&program](ValueId id) { return program.value(id).origin; };
  if (program.loss.has_value() != graph.loss.has_value() ||
      (graph.loss.has_value() && origin(*program.loss) != *graph.loss)) {
    return absl::InternalError("the program has another loss than the graph");
  }
  if (program.metrics.size() != graph.metrics.size() || program.updates.size() != graph.updates.size()) {
    return absl::InternalError(absl::StrCat("the program has ", program.metrics.size(), " of ", graph.metrics.size(),
                                            " metrics and updates ", program.updates.size(), " of ",
                                            graph.updates.size(), " states"));
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
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SimulationReport> CheckBySimulation(const Graph& graph, const Program& program) {
  CLEAVE_ASSIGN_OR_RETURN(const Shrunk shrunk, Shrink(graph, program));
  constexpr int64_t kStep = 3;  // Past the first, so that step-dependent scalars differ from their starts.
  const SourceValues sources = RandomSources(shrunk.graph, /*seed=*/1);
  const IdVector<OpId, Tensor> expected = InterpretGraph(shrunk.graph, sources, kStep);
  CLEAVE_ASSIGN_OR_RETURN(const auto actual, InterpretProgram(shrunk.program, sources, kStep));

  SimulationReport report{.ranks = shrunk.program.mesh.rank_count(),
                          .values = 0,
                          .largest_difference = 0,
                          .axes_left_out = shrunk.axes_left_out};
  for (const Step& step : shrunk.program.steps) {
    for (ValueId id : Writes(step)) {
      const Value& value = shrunk.program.value(id);
      ++report.values;
      for (int rank = 0; rank < report.ranks; ++rank) {
        const Tensor whole = Resolved(shrunk.program, value, actual[id], rank);
        const Tensor wanted = LocalPart(shrunk.program, value, expected[value.origin], rank);
        if (whole.shape != wanted.shape) {
          return absl::InternalError(absl::StrCat("`", value.name, "` is ", ShapeText(whole.shape), " on rank ", rank,
                                                  ", its slice of one device is ", ShapeText(wanted.shape)));
        }
        const Difference difference = LargestDifference(wanted, whole);
        report.largest_difference = std::max(report.largest_difference, difference.relative);
        if (difference.relative > kTolerance) {
          return absl::InternalError(absl::StrCat(
              "`", value.name, "` (step `", step.name, "`, line ", step.line, ") is wrong on rank ", rank, ": element ",
              difference.element, " is ", whole.values[difference.element], ", one device computes ",
              wanted.values[difference.element], " (layout ", LayoutText(value.layout, shrunk.program.mesh), ")"));
        }
      }
    }
  }
  CLEAVE_RETURN_IF_ERROR(CheckResults(shrunk.graph, shrunk.program));
  return report;
}

}  // namespace cleave
