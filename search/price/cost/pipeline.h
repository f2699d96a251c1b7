// Simulates a step of a pipeline: each stage runs the forward and backward passes of its micro-batches in the order of
// its schedule, and waits for messages of other stages.
//
// Known idle times of a rank, for p equal stages, m micro-batches and free messages, where a stage takes F for a
// forward pass, B for a backward pass and W for the gradients of weights:
//
//   GPipe, 1F1B    (p - 1) / m of the work; (p - 1) / (m + p - 1) of the step    Narayanan et al. 2021, 2.2
//   zero bubble    (p - 1) (F + B - W), if W <= B and m >= p                     ZB-H1, Qi et al. 2023, 2.3
//   interleaved    (p - 1) / (v m) of the work, for v stages on each rank        Narayanan et al. 2021, 2.2
#ifndef CLEAVE_SEARCH_PRICE_COST_PIPELINE_H_
#define CLEAVE_SEARCH_PRICE_COST_PIPELINE_H_

#include <vector>

#include "absl/types/span.h"
#include "base/units/units.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/program.h"
#include "ir/sharding/stages/stages.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/predict.h"

namespace cleave::search {

// The passes of a stage, for one micro-batch.
struct StageSeconds {
  Seconds forward{0};   // Of one micro-batch.
  Seconds backward{0};  // Of one micro-batch.
  Seconds weights{0};   // Gradients of weights; 0 where `backward` has them.

  Seconds Of(ir::PassKind kind) const;
};

// A pass of a micro-batch in a stage.
struct PassTime {
  int stage = 0;
  int64_t micro_batch = 0;
  ir::PassKind kind = ir::PassKind::kForward;
  Seconds begin{0};
  Seconds end{0};
};

// A message from a forward or backward pass of one stage to the pass of the same kind and micro-batch of another stage.
struct StageMessage {
  int from = 0;
  int to = 0;
  ir::PassKind kind = ir::PassKind::kForward;
  Seconds seconds{0};  // From its send to its arrival.
};

struct PassTask {
  ir::PipelineSchedule schedule = ir::PipelineSchedule::kOneForwardOneBackward;
  int64_t micro_batches = 1;
  std::vector<StageSeconds> stages;    // A multiple of schedule.stages_per_rank.
  std::vector<StageMessage> messages;  // To later stages in the forward pass, to earlier ones in the backward pass.
};

// The number of groups of ranks: stages / stages_per_rank.
int PartsOf(const PassTask& task);

// Runs each pass as soon as its ranks are free and its messages have arrived. Returns when, ordered by group of ranks,
// then by time. Stages with `weights` 0 have no passes for gradients of weights.
std::vector<PassTime> RunPasses(const PassTask& task);

// When all groups of ranks have finished their passes, and then what they do once in a step. `once`: seconds by group.
Seconds EndOf(absl::Span<const PassTime> passes, const std::vector<Seconds>& once);

// The share of the time of the passes in which ranks are idle, 0 to 1. `parts`: the number of groups.
double BubbleOf(absl::Span<const PassTime> passes, int parts);

struct PipelinePrediction {
  Prediction whole;  // The step; of compute, communication and bytes the most of any rank.
  std::vector<StageSeconds> stages;
  std::vector<Seconds> once;     // By group of ranks: before and after the passes.
  std::vector<StepCosts> parts;  // By group of ranks, with the messages that it sends.
  std::vector<PassTime> passes;  // RunPasses.
  double bubble = 0;             // BubbleOf.
};

// `parts`: the program of each group of ranks. REQUIRES: there is one; every axis of the mesh crosses a link of the
// cluster.
PipelinePrediction PredictPipeline(absl::Span<const ir::PartProgram> parts, const Cluster& cluster, bool overlaps);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_PIPELINE_H_
