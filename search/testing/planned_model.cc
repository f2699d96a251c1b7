#include "search/testing/planned_model.h"

#include <utility>

#include "base/diagnostic/diagnostic.h"

namespace cleave::search::testing {

PlannedModel::PlannedModel(ir::Graph model, int64_t devices, const ir::ParallelSettings& settings,
                           const ir::FuseOptions& fuse)
    : graph(std::move(model)), cluster(CpuCluster(devices)) {
  pins.settings = settings;
  SearchOptions options = OptionsFrom(settings);
  options.execution.fuse = fuse;
  execution = options.execution;
  Diagnostics diagnostics;
  plan = *Search(graph, cluster, pins, options, diagnostics);
  made = *ProgramOf(graph, plan, cluster, execution);
  predicted = PredictStep(made, cluster, execution);
}

Explained PlannedModel::explained() const {
  return {.graph = graph,
          .plan = plan,
          .cluster = cluster,
          .execution = execution,
          .made = made,
          .predicted = predicted.whole,
          .pins = pins};
}

}  // namespace cleave::search::testing
