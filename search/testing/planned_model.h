// A model with its plan, as a compile has them, for tests of what shows plans.
//
//   ir::ParallelSettings settings;
//   settings.stages = 2;
//   const PlannedModel planned(Gpt({}), /*devices=*/4, settings);
//   LedgerOf(planned.explained(), 0);
#ifndef CLEAVE_SEARCH_TESTING_PLANNED_MODEL_H_
#define CLEAVE_SEARCH_TESTING_PLANNED_MODEL_H_

#include <cstdint>

#include "ir/graph/graph.h"
#include "ir/program/fuse/fuse.h"
#include "ir/sharding/pins/pins.h"
#include "search/explain/explain.h"
#include "search/search.h"

namespace cleave::search::testing {

struct PlannedModel {
  // On CPUs. REQUIRES: there is a plan.
  PlannedModel(ir::Graph model, int64_t devices, const ir::ParallelSettings& settings = {},
               const ir::FuseOptions& fuse = {});

  // Refers to this object.
  Explained explained() const;
  // nullptr without stages.
  const PipelinePrediction* pipeline() const { return predicted.pipeline.has_value() ? &*predicted.pipeline : nullptr; }

  ir::Graph graph;
  Cluster cluster;
  ir::Pins pins;
  Execution execution;
  ir::Plan plan;
  ir::LoweredProgram made;
  StepPrediction predicted;
};

}  // namespace cleave::search::testing

#endif  // CLEAVE_SEARCH_TESTING_PLANNED_MODEL_H_
