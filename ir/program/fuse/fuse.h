// Which steps of a program are emitted as one piece: chains of elementwise ops become one loop, and what attention
// gives is computed by one call, as are ops with their companions: a matrix product with its bias, say.
//
//   w.momentum' = 0.9 * w.momentum + g; w' = w - lr * w.momentum'   (four ops) -> FusedLoop
//   w.grad, and its sum over micro-batches          -> AccumulatedProduct
//   w.grad_1, and its sum with w.grad_0             -> AccumulatedProduct
//   h1.matmul, h1.bias_add                          -> JointCall
//   y.grad_x, y.scale.grad, y.shift.grad            -> JointCall
//   the loops that update all parameters            -> LoopBatch, for targets that want it
//   the sums of squares of all gradients            -> CallBatch, likewise
//
// Chains of different layers that share nothing stay apart, and so do updates of different parameters. Only neighbours
// are joined, so the order of the program stays, and with it the order of collectives; only loops move to others of
// their batch. Sources have no stage.
#ifndef CLEAVE_IR_PROGRAM_FUSE_FUSE_H_
#define CLEAVE_IR_PROGRAM_FUSE_FUSE_H_

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/attention.h"
#include "ir/program/fuse/image_blocks.h"
#include "ir/program/fuse/joint_calls.h"
#include "ir/program/fuse/parts.h"
#include "ir/program/packing.h"
#include "ir/program/program.h"
#include "ir/program/value_set.h"

namespace cleave::ir {

// Indexes into Program::steps.
struct SingleStep {
  int step = 0;

  bool operator==(const SingleStep&) const = default;
};

// Elementwise ops whose values have one shape and layout, in the program's order.
struct FusedLoop {
  std::vector<int> steps;

  bool operator==(const FusedLoop&) const = default;
};

// Loops that run at the same time, as one kernel: they are alike but for their sizes, and none reads what another one
// writes (loop_batches.h). At least two.
struct LoopBatch {
  std::vector<FusedLoop> loops;

  bool operator==(const LoopBatch&) const = default;
};

// Calls that run at the same time, as one call with a list (CallListOf): none of them reads what another one writes. At
// least two.
struct CallBatch {
  std::vector<JointCall> calls;

  bool operator==(const CallBatch&) const = default;
};

// A product that is added to the sum of which it is a part: that over micro-batches, or an `add` whose other input
// nothing else reads. Only the sum is stored; where a product is added, in the place of that other input if it can be.
// So are rows that are added up by their numbers (scatter_add, the gradient of a table), which touch no others then.
struct AccumulatedProduct {
  int product = 0;
  int sum = 0;

  bool operator==(const AccumulatedProduct&) const = default;
};

struct FusedStage {
  std::variant<SingleStep, FusedLoop, LoopBatch, AccumulatedProduct, AttentionForward, AttentionBackward, JointCall,
               CallBatch>
      action;
  Phase phase = Phase::kForward;
  Repeat repeat = Repeat::kEach;
  std::optional<StagePass> pass = {};  // In a pipeline: that in which it runs; nullopt: it runs once in a step.

  bool operator==(const FusedStage&) const = default;
};

struct Fusion {
  std::vector<FusedStage> stages;  // In the program's order.
  // Values that exist only inside their stage, and need no memory.
  ValueSet inside;
  ValueSet in_blocks;                       // Images in blocks of channels.
  ImageOrder images = ImageOrder::kPlanes;  // How these lie.
  Parts parts;                              // Values that lie in parts of others.
  // The stage that writes the value; -1 for sources.
  IdVector<ValueId, int> written_by;
  PieceCounts piece_counts = PieceCounts::kAny;  // FuseOptions::piece_counts.

  // Whether the step does nothing (LiesInPlace).
  bool DoesNothing(const Step& step) const { return LiesInPlace(parts, step); }
};

// What attention as one piece takes beside its tensors (ir/program/memory/workspace.h).
enum class AttentionWorkspace {
  kOnGpu,   // What cuDNN takes (runtime/math/cudnn), or numbers of each row of scores (runtime/kernels/cuda).
  kBlocks,  // Blocks of scores, keys and values (runtime/kernels/cpu).
};

// Which loops and calls run at the same time.
enum class LoopBatches {
  kNone,
  kOfLayers,  // Those of one layer.
  kAll,       // In the update, and for weights of 8 bits, also those of different layers.
};

struct FuseOptions {
  AttentionWorkspace attention_workspace = AttentionWorkspace::kOnGpu;
  ImageOrder images = ImageOrder::kPlanes;  // How they lie where they can (image_blocks.h).
  bool uses_parts = true;                   // Parts of larger tensors are read and written where they lie (parts.h).
  Epilogues epilogues = Epilogues::kBias;
  // At most; fewer where a step would need more memory (PlanMemory).
  LoopBatches loop_batches = LoopBatches::kNone;
  PieceCounts piece_counts = PieceCounts::kAny;  // Of its collectives.

  bool operator==(const FuseOptions&) const = default;
};

Fusion Fuse(const Program& program, const FuseOptions& options = {});

// Whether the op may become part of a loop: an element of its value depends on one element of each input alone.
bool CanBeLooped(const OpDefinition& op);

// The loops of a stage: one, those of a batch, or none.
absl::Span<const FusedLoop> LoopsOf(const FusedStage& stage);

// The joint calls of a stage: one, those of a batch, or none.
absl::Span<const JointCall> JointCallsOf(const FusedStage& stage);

// The steps of a stage, in order; those of a batch loop by loop, or call by call.
using StageSteps = absl::InlinedVector<int, 6>;
StageSteps StepsOf(const FusedStage& stage);

// For each dimension of an elementwise op's output: whether input `input` has that dimension too; if not, the input is
// repeated along it. nullopt where the input's dimensions are not those of the output in the same order; such an op
// cannot be part of a loop.
std::optional<std::vector<bool>> SpanOfInput(const Program& program, const Compute& compute, int input);
// The same for an op with this rule.
std::optional<std::vector<bool>> SpanOfInput(const Rule& rule, int input);

// The Compute of a step, or null.
const Compute* ComputeOf(const Step& step);
bool IsSource(const Step& step);

// The function of the runtime that does many calls of another one at once; it takes a list of their arguments.
struct CallList {
  std::string function;
  std::string row;  // The type of the arguments of one call, in braces.
};
// nullopt where there is none for this function.
std::optional<CallList> CallListOf(absl::string_view function);

// The calls of the runtime that compute an op; none where it has no form as calls.
// `companions`: what they compute as well (JointCall::companions).
std::vector<KernelCall> CallsOf(const Program& program, const Compute& compute,
                                absl::Span<const std::optional<int>> companions = {});

// A reshape, flatten, identity or view: its local value is that of its only input, element by element.
bool IsAlias(const Step& step);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_FUSE_FUSE_H_
