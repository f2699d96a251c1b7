// The results of the stages of a compile. Each is a value that the next stages read.
#ifndef CLEAVE_TOOLS_DRIVER_COMPILED_MODEL_H_
#define CLEAVE_TOOLS_DRIVER_COMPILED_MODEL_H_

#include <variant>

#include "base/source/source.h"
#include "frontend/frontend.h"
#include "ir/graph/graph.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/program.h"
#include "ir/proof/check/check.h"
#include "ir/sharding/plan/plan.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/cluster/cluster.h"
#include "search/cluster/machines.h"
#include "search/cost/execution.h"
#include "search/cost/predict.h"

namespace cleave::tools {

// A model after the command line's settings, and the graph of one training step.
struct UnderstoodModel {
  FileId file;
  search::Machines machines;  // For which `--cluster` asks.
  frontend::Module module;    // Forward graph, training, pins.
  ir::Graph training_graph;
};

struct PlannedModel {
  search::Cluster cluster;
  ir::Plan plan;
};

struct SplitProgram {
  ir::Distributed distributed;  // Graph and plan, in which ops that cut inner factors have their distributed form.
  ir::Program program;          // Made from both, and checked statically.
};

// A plan that is only shown is not simulated.
struct NotSimulated {};
using Proof = std::variant<NotSimulated, ir::SimulationReport, ir::ManualReport>;

// Everything that is known when output is written.
struct CompiledModel {
  UnderstoodModel model;
  PlannedModel planned;
  SplitProgram split;
  search::Execution execution;  // Of the target.
  ir::MemoryPlan memory;
  search::Prediction predicted;
  Proof proof;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_COMPILED_MODEL_H_
