// The results of the stages of a compile. Each is a value that the next stages read.
#ifndef CLEAVE_TOOLS_DRIVER_COMPILED_MODEL_H_
#define CLEAVE_TOOLS_DRIVER_COMPILED_MODEL_H_

#include <optional>
#include <variant>

#include "base/source/source.h"
#include "frontend/frontend.h"
#include "ir/graph/graph.h"
#include "ir/proof/check/check.h"
#include "ir/sharding/plan/plan.h"
#include "search/knobs/memory/memory.h"
#include "search/model/cluster/cluster.h"
#include "search/model/cluster/machines.h"
#include "search/price/cost/execution.h"
#include "search/price/cost/pipeline.h"
#include "search/price/cost/predict.h"

namespace cleave::tools {

// A model after the command line's settings, and the graph of one training step.
struct UnderstoodModel {
  FileId file;
  search::Machines machines;  // For which `--cluster` asks.
  frontend::Module module;    // Forward graph, training, pins of the training graph.
  ir::Pins forward_pins;      // The same pins, of the forward graph.
  ir::Graph training_graph;   // Where nothing is trained, the forward graph.
};

struct PlannedModel {
  search::Cluster cluster;
  ir::Plan plan;
};

// A plan that is only shown is not simulated.
struct NotSimulated {};
using Proof = std::variant<NotSimulated, ir::SimulationReport, ir::ManualReport>;

// Everything that is known when output is written.
struct CompiledModel {
  UnderstoodModel model;
  PlannedModel planned;
  ir::LoweredProgram split;     // Of the plan, checked statically.
  search::Execution execution;  // Of the target.
  search::Prediction predicted;
  std::optional<search::PipelinePrediction> pipeline;  // Where the plan is one.
  Proof proof;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_COMPILED_MODEL_H_
