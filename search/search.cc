#include "search/search.h"

#include <utility>

#include "ir/graph/rings/rings.h"
#include "ir/graph/row_updates/row_updates.h"
#include "ir/graph/sliced_losses/sliced_losses.h"
#include "search/comparison.h"
#include "search/knobs/pipeline.h"
#include "search/knobs/without_stages.h"
#include "search/model/manual/manual.h"

namespace cleave::search {

std::optional<Found> SearchForProgram(const ir::Graph& training_graph, const Cluster& cluster, const ir::Pins& pins,
                                      const SearchOptions& options, Diagnostics& diagnostics) {
  if (!CheckManualSettings(training_graph, options.algorithm, pins, diagnostics)) return std::nullopt;
  const SearchOptions own = WithSharedPrograms(options);
  return pins.settings.stages == 1 ? SearchWithoutStages(training_graph, cluster, pins, own, diagnostics)
                                   : SearchPipeline(training_graph, cluster, pins, own, diagnostics);
}

std::optional<ir::Plan> Search(const ir::Graph& training_graph, const Cluster& cluster, const ir::Pins& pins,
                               const SearchOptions& options, Diagnostics& diagnostics) {
  std::optional<Found> found = SearchForProgram(training_graph, cluster, pins, options, diagnostics);
  return found.has_value() ? std::optional(std::move(found->plan)) : std::nullopt;
}

ir::Graph GraphOf(const ir::Graph& training_graph, const ir::Plan& plan) {
  const ir::Graph round = ir::WithRings(training_graph, ir::RingAttention(plan));
  return ir::WithRowUpdates(ir::WithParts(round, ir::LossParts(plan)), ir::GradientsByRows(plan));
}

}  // namespace cleave::search
