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
// Under interleaved(v) each rank has v stages: of S parts of the ranks, part p has the stages p, p + S, p + 2 S, …. Its
// passes are shorter, and so is the time until all ranks work. A part takes S micro-batches through one of its stages,
// then through its next one:
//
//   part 0   stages 0 and 2   F0 F1 f0 f1 F2 .. b0 F3 b1 f2 B0 f3 B1 b2 b3 B2 B3     f, b: of stages 2 and 3
//   part 1   stages 1 and 3   .. F0 F1 f0 b0 f1 b1 F2 B0 F3 B1 f2 b2 f3 b3 B2 B3
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

// In what order ranks do the forward and the backward passes of their stages.
struct PipelineSchedule {
  enum Order {
    // All forward passes, then all backward passes (GPipe, Huang et al. 2019).
    kGPipe,
    // A backward pass as soon as it can be, so that few micro-batches are under way (PipeDream-Flush, Narayanan et al.
    // 2021).
    kOneForwardOneBackward,
    // The same, and gradients of weights so much later that each stage has as many micro-batches under way as the first
    // one (ZB-H1, Qi et al. 2023).
    kZeroBubble,
    // A backward pass as soon as it can be, with several stages on each rank (Narayanan et al. 2021, section 2.2).
    kInterleaved,
  };

  // NOLINTNEXTLINE: an order is a schedule.
  constexpr PipelineSchedule(Order order = kOneForwardOneBackward, int stages_per_rank = 1)
      : order(order), stages_per_rank(stages_per_rank) {}

  Order order;
  int stages_per_rank;  // More than 1 under kInterleaved, else 1.

  bool operator==(const PipelineSchedule&) const = default;
};

inline constexpr int kMostStagesPerRank = 64;

std::string PipelineScheduleName(PipelineSchedule schedule);  // "one_f_one_b", "interleaved(2)"
std::optional<PipelineSchedule> ParsePipelineSchedule(absl::string_view name);

// A micro-batch passes through a stage forwards and backwards, and under zero_bubble once more for the weights.
enum class PassKind { kForward, kBackward, kWeights };

inline constexpr std::array<PassKind, 3> kPassKinds = {PassKind::kForward, PassKind::kBackward, PassKind::kWeights};

// The pass with the steps of a phase that run for each micro-batch. REQUIRES: `phase` is not kUpdate.
PassKind PassOf(Phase phase);

// Whether two stages are on the same of so many parts of the ranks.
inline bool AreOnSameRanks(int stage, int other, int64_t parts) { return (stage - other) % parts == 0; }

// A pass of a stage, for each micro-batch.
struct StagePass {
  int stage = 0;
  PassKind kind = PassKind::kForward;

  bool operator==(const StagePass&) const = default;
};

// A pass of a micro-batch.
struct Pass {
  int stage = 0;
  int64_t micro_batch = 0;
  PassKind kind = PassKind::kForward;

  bool operator==(const Pass&) const = default;
};

// When the ranks do which pass. Ranks go through turns: in turn t the ranks of a part do their t-th forward pass, and
// then their (t - TurnsAhead)-th pass of each other kind, where there are such.
class Timetable {
 public:
  // `parts`: into how many the ranks are divided. REQUIRES: all are positive, and under kInterleaved the micro-batches
  // are a multiple of the parts.
  Timetable(PipelineSchedule schedule, int parts, int64_t micro_batches)
      : schedule_(schedule), parts_(parts), micro_batches_(micro_batches) {}

  int parts() const { return parts_; }
  int stages() const { return parts_ * schedule_.stages_per_rank; }
  int PartOf(int stage) const { return stage % parts_; }

  // How many passes of each kind a part does in a step.
  int64_t PassesOfAKind() const { return schedule_.stages_per_rank * micro_batches_; }
  // The number-th pass of a kind that a part does.
  Pass PassAt(int part, PassKind kind, int64_t number) const;
  // How many turns a part's forward passes are ahead of its passes of a kind. At least 0, less than PassesOfAKind, and
  // no less for a later kind.
  int64_t TurnsAhead(int part, PassKind kind) const;

  // The passes of a part in a step of training, in its order.
  std::vector<Pass> PassesOf(int part) const;

  // The passes of a part that a micro-batch goes through, in this order: forward through its stages and back.
  std::vector<StagePass> WayThrough(int part) const;

  // How many micro-batches are at once between the beginning of a pass and the end of a later one of the same part: a
  // value that waits from the one for the other needs so many places, of which micro-batch i has place i modulo their
  // number. At least 1.
  int64_t MicroBatchesBetween(StagePass from, StagePass to) const;

 private:
  // The turn in which a part does the pass of a micro-batch.
  int64_t TurnOf(StagePass pass, int64_t micro_batch) const;

  PipelineSchedule schedule_;
  int parts_;
  int64_t micro_batches_;
};

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
