// The compiler's stages one after another: from a model file to a proven program. Each stage is a function of its
// crate; this file only hands one's result to the next and turns failures into exit codes.
#ifndef CLEAVE_TOOLS_DRIVER_PIPELINE_H_
#define CLEAVE_TOOLS_DRIVER_PIPELINE_H_

#include <optional>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/frontend.h"
#include "ir/check/check.h"
#include "ir/distribute/distribute.h"
#include "ir/fuse/fuse.h"
#include "ir/graph/graph.h"
#include "ir/plan/plan.h"
#include "ir/program/program.h"
#include "search/cluster/cluster.h"
#include "tools/driver/exit_code.h"
#include "tools/driver/options.h"

namespace cleave {

// What a compile knows so far. Stages fill it from top to bottom.
struct Compilation {
  SourceSet sources;
  Diagnostics diagnostics;
  std::optional<syntax::File> syntax;
  std::optional<Module> module;  // Forward graph, training, pins.
  Graph training_graph;
  std::optional<Cluster> cluster;
  FuseOptions fuse;  // What programs for the target compute as one piece.
  std::optional<Plan> plan;
  Distributed distributed;  // Graph and plan, in which ops that cut inner factors have their distributed form.
  Program program;
  std::optional<SimulationReport> proof;  // Of what is written; a plan that is only looked at is not simulated.
  std::optional<ManualReport> manual_proof;  // The same of a manual model.
};

// Each returns kDone, or the exit code after adding why to the diagnostics (or, for a bug of ours, printing it).
ExitCode ReadModel(const CompileOptions& options, Compilation& compilation);   // -> syntax
ExitCode Understand(const CompileOptions& options, Compilation& compilation);  // -> module, training_graph
ExitCode MakePlan(const CompileOptions& options, Compilation& compilation);    // -> cluster, plan
ExitCode Split(Compilation& compilation);  // -> distributed, program, checked statically
ExitCode Prove(Compilation& compilation);  // -> proof

}  // namespace cleave

#endif  // CLEAVE_TOOLS_DRIVER_PIPELINE_H_
