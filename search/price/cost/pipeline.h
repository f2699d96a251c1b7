// The time of a step of a pipeline: each stage does the forward and backward passes of its micro-batches in the order
// of its schedule, and waits for what other stages send.
//
// With p stages that take equally long, m micro-batches and nothing to send, stages are idle for (p - 1) / (m + p - 1)
// of the passes: the bubble of GPipe and of one forward, one backward (Narayanan et al. 2021, section 2.2, where it is
// given relative to the work: (p - 1) / m). Where gradients of weights, with time W, fill it, p - 1 times F + B - W of
// the p - 1 times F + B + W are left, for the times F and B of the other passes, if W is at most B and m at least p
// (ZB-H1, Qi et al. 2023, section 2.3). With v stages on each rank passes are v times as short: ranks are idle for
// (p - 1) / v of m, relative to the work (interleaved, Narayanan et al. 2021, section 2.2).
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

// What a stage takes.
struct StageSeconds {
  Seconds forward{0};   // Of one micro-batch.
  Seconds backward{0};  // Of one micro-batch.
  Seconds weights{0};   // Of one micro-batch; 0 where the backward pass makes the gradients of weights too.

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

// What a forward or backward pass of one stage sends to another, which waits for it before the same pass of the same
// micro-batch.
struct StageMessage {
  int from = 0;
  int to = 0;
  ir::PassKind kind = ir::PassKind::kForward;
  Seconds seconds{0};  // That it is under way.
};

struct PassTask {
  ir::PipelineSchedule schedule = ir::PipelineSchedule::kOneForwardOneBackward;
  int64_t micro_batches = 1;
  std::vector<StageSeconds> stages;    // A multiple of schedule.stages_per_rank.
  std::vector<StageMessage> messages;  // To later stages in the forward pass, to earlier ones in the backward pass.
};

// Into how many parts the stages divide the ranks.
int PartsOf(const PassTask& task);

// When each pass runs, ordered by part of the ranks, then by time: each as soon as its ranks are free and have what it
// waits for.
// Stages whose gradients of weights take no time have no passes for them.
std::vector<PassTime> RunPasses(const PassTask& task);

// When all passes have run, and what each part of the ranks does once. `once`: by part.
Seconds EndOf(absl::Span<const PassTime> passes, const std::vector<Seconds>& once);

// The share of the time of the passes in which ranks are idle, 0 to 1.
double BubbleOf(absl::Span<const PassTime> passes, int parts);

struct PipelinePrediction {
  Prediction whole;  // The step of all ranks; compute, communication and bytes of those that have most of each.
  std::vector<StageSeconds> stages;
  std::vector<Seconds> once;     // By part of the ranks: before and after the micro-batches.
  std::vector<StepCosts> parts;  // By part of the ranks: what each one does by itself, with the messages that it sends.
  std::vector<PassTime> passes;  // RunPasses.
  double bubble = 0;             // BubbleOf.
};

// `parts`: the programs of all ranks. REQUIRES: there is one; every axis of the mesh crosses a link of the cluster.
PipelinePrediction PredictPipeline(absl::Span<const ir::PartProgram> parts, const Cluster& cluster, bool overlaps);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_PIPELINE_H_
