// A step of one rank as a ledger: the time of each kernel, collective and copy, from the numbers that the predictor
// sums (search/price/cost/predict.h).
//
//   const Ledger ledger = LedgerOf(explained, /*rank=*/0);
//   for (const LedgerRow& row : ledger.rows) total += row.AllSeconds();
//   // total - ledger.beside + ledger.idle is the predicted step.
//
// What only metrics need is left out.
#ifndef CLEAVE_SEARCH_EXPLAIN_LEDGER_H_
#define CLEAVE_SEARCH_EXPLAIN_LEDGER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/program/fuse/fuse.h"
#include "search/explain/explain.h"
#include "search/price/cost/predict.h"

namespace cleave::search {

// A kernel of several ops has the first of their kinds in this order.
enum class WorkKind {
  kAttention,
  kProduct,  // Also convolutions.
  kNorm,
  kRows,  // Reductions, softmax, losses.
  kMovement,
  kLoop,        // Elementwise ops, and sums over micro-batches.
  kUpdate,      // All kernels of the update.
  kInput,       // Reading samples.
  kSlice,       // No time in the prediction, though a program may copy.
  kCollective,  // Also messages to other stages of a pipeline.
  kCopy,        // To the host's memory, and back.
};

absl::string_view WorkKindName(WorkKind kind);  // "products"

// Nodes of CUDA graphs, as run.json counts those of a run (runtime/device/recorded.h).
struct NodeCounts {
  int64_t kernels = 0;
  int64_t copies = 0;
  int64_t fills = 0;
  int64_t others = 0;  // Two marks of the watchdog for each collective.

  int64_t All() const { return kernels + copies + fills + others; }
};

// The same kernel, collective or copy of all equal layers.
struct LedgerRow {
  WorkKind kind = WorkKind::kLoop;
  ir::Phase phase = ir::Phase::kForward;
  std::vector<std::string> names;  // By layer, of the step that decides the kind.
  std::vector<std::string> ops;    // All steps of a kernel, in the first layer.
  std::vector<std::string> shown;  // Names of ShownSteps in all layers, as places (base/layer_names), each once.
  size_t loops = 0;                // That run as one kernel.
  size_t calls = 0;                // That are one call.
  int step = 0;                    // In Program::steps of the rank's program: that of names.front().
  std::string what;                // A product's op and local shapes, or a collective's kind.
  std::string links;               // Of a collective, slowest first.
  std::string read_by;             // Of what another rank sends: the place of ShownSteps of its first reader, or empty.
  Seconds at_peak{0};              // Time of a kernel's products at the peak of the chip.
  StageCost each;
  NodeCounts nodes;  // Of one run, on a GPU.

  int64_t Runs() const { return each.runs * static_cast<int64_t>(names.size()); }
  Seconds AllSeconds() const { return each.seconds * static_cast<double>(Runs()); }
};

// When what a row stands for runs in the predicted step: in one layer, all of its runs. Behind the last one the step
// goes on for what computing loses beside communication (StepCosts::begins).
struct TimedRow {
  int row = 0;    // In Ledger::rows.
  int stage = 0;  // In Fusion::stages; -1: samples that are read before them.
  Seconds begin{0};
  Seconds seconds{0};
};

struct Ledger {
  std::vector<LedgerRow> rows;  // In the order of the program.
  std::vector<TimedRow>
      timeline;             // In the order of the program. Empty for a stage of a pipeline, whose passes overlap.
  std::vector<int> row_of;  // By index in Fusion::stages: in `rows`, or -1.
  std::vector<int>
      reader_of;      // By index in Fusion::stages, of what another rank sends: the first that reads it, or -1.
  Prediction sum;     // Of the rows: StepCosts::sum.
  Seconds beside{0};  // Time of rows that is hidden behind others.
  Seconds idle{0};    // Time that a stage of a pipeline waits for others.
  Seconds step{0};
  Flops model{0};            // Of all products of the training graph, each once.
  Seconds model_at_peak{0};  // Time of a rank's share of them at the peak of the chip.

  // When the program comes to a stage of its fusion, or after its last one to the end; without a timeline 0.
  Seconds BeginOf(size_t stage) const;
};

// Of a step of the rank, on a GPU that replays it: of kernels, those that the runtime launches for them
// (runtime/kernels/cuda); of libraries, one for each call. What long lists of updates take beside their first kernel,
// and what packs messages, is not counted.
NodeCounts NodesOf(const Ledger& ledger);

// The steps by whose names a program says what it computes, and a profile of it what that takes (runtime/trace), in
// order; the first one is that of the call. One for most stages. What does nothing has none.
ir::StageSteps ShownSteps(const ir::Program& program, const ir::Fusion& fusion, const ir::FusedStage& stage);

// Of a rank of each part of a pipeline, in order; without one, of all ranks, which are alike.
std::vector<Ledger> LedgersOf(const Explained& explained);
// The number of the ledger of a rank, and that alone. REQUIRES: the plan has the rank.
size_t PartOf(const Explained& explained, int rank);
Ledger LedgerOf(const Explained& explained, int rank);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_LEDGER_H_
