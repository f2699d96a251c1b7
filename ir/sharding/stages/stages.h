// The stages of a pipeline: which ranks compute which ops, and in what order they take the micro-batches of a step.
//
// The forward ops of a model are cut into runs, one for each stage, in the order in which they stand. A stage has a
// part of the mesh of its own: the ranks with its coordinate on one axis of the mesh, the axis of stages, along which
// no tensor is cut. Everything else follows its forward op: parameters are where they are read first, a backward op is
// where its forward op is, an update is where its parameter is.
//
//   stage 0   embedding, blocks 0 to 5      F0 F1 F2 B0 F3 B1 B2 B3
//   stage 1   blocks 6 to 11, loss             F0 B0 F1 B1 F2 B2 F3 B3
//
// Values flow to later stages in the forward pass and to earlier ones in the backward pass. So no rank waits for one
// that waits for it, whatever the schedule, as long as each stage takes the micro-batches of each pass in their order.
//
// Under zero_bubble the backward pass of a stage is what it sends back. The gradients of weights, for which no other
// stage waits, are a pass of their own (W), which fills the time in which the stage would be idle:
//
//   stage 0   F0 F1 F2 .. .. B0 B0 F3 B1 B1 B2 B2 B3 B3
//   stage 1   .. F0 F1 .. B0 F2 B1 W0 F3 B2 W1 B3 W2 W3
//   stage 2   .. .. F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3
#ifndef CLEAVE_IR_SHARDING_STAGES_STAGES_H_
#define CLEAVE_IR_SHARDING_STAGES_STAGES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"

namespace cleave::ir {

// The name of the mesh axis of stages.
inline constexpr absl::string_view kStageAxis = "stage";

inline constexpr int64_t kMostStages = 1024;

// In what order a stage does the forward and the backward pass of its micro-batches.
enum class PipelineSchedule {
  // All forward passes, then all backward passes (GPipe, Huang et al. 2019).
  kGPipe,
  // A backward pass as soon as it can be, so that few micro-batches are under way (PipeDream-Flush, Narayanan et al.
  // 2021).
  kOneForwardOneBackward,
  // The same, and gradients of weights so much later that each stage has as many micro-batches under way as the first
  // one (ZB-H1, Qi et al. 2023).
  kZeroBubble,
};

absl::string_view PipelineScheduleName(PipelineSchedule schedule);  // "one_f_one_b"
std::optional<PipelineSchedule> ParsePipelineSchedule(absl::string_view name);

// A micro-batch passes through a stage forwards and backwards, and under zero_bubble once more for the weights.
enum class PassKind { kForward, kBackward, kWeights };

inline constexpr std::array<PassKind, 3> kPassKinds = {PassKind::kForward, PassKind::kBackward, PassKind::kWeights};

// The pass with the steps of a phase that run for each micro-batch. REQUIRES: `phase` is not kUpdate.
PassKind PassOf(Phase phase);

// How many micro-batches a stage's forward passes are ahead of its passes of a kind: in turn t it does the forward pass
// of micro-batch t, and then each other pass of micro-batch t - MicroBatchesAhead, where there are such. One more
// micro-batch is between the two at once. At least 0, at most `micro_batches` - 1, and no less for a later kind.
int64_t MicroBatchesAhead(PipelineSchedule schedule, int stages, int stage, int64_t micro_batches, PassKind kind);

struct Pass {
  int64_t micro_batch = 0;
  PassKind kind = PassKind::kForward;
};

// The passes of a stage in a step of training, in its order.
std::vector<Pass> PassesOf(PipelineSchedule schedule, int stages, int stage, int64_t micro_batches);

// Whether every stage that reads the op's value makes it for itself: data, constants and numbers of the step.
bool IsOnEveryStage(const Op& op);

// The stage of each op of a training graph, 0 for those that are on every stage. `first[s]` is the first forward op of
// stage s + 1, in increasing order: ops from there on, in the order of the graph, are of that stage or a later one.
// REQUIRES: the graph is not manual.
IdVector<OpId, int> StagesOf(const Graph& graph, const std::vector<OpId>& first);

// What is wrong with stages of which no value may flow backwards in the forward pass; empty where nothing is. `stage`
// has one entry for each op.
std::vector<std::string> VerifyStages(const Graph& graph, const IdVector<OpId, int>& stage, int stages);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_STAGES_STAGES_H_
