// A step of one rank as a ledger: what each kernel, collective and copy takes, from the very numbers of which the
// predicted step is made (search/price/cost/predict.h).
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
#include "search/explain/explain.h"
#include "search/price/cost/predict.h"

namespace cleave::search {

// A kernel of several ops is of the kind of that which comes first here.
enum class WorkKind {
  kAttention,
  kProduct,  // Also convolutions.
  kNorm,
  kRows,  // Reductions, softmax, losses.
  kMovement,
  kLoop,        // Elementwise ops, and sums over micro-batches.
  kUpdate,      // All kernels of the update.
  kInput,       // Reading samples.
  kSlice,       // Takes no time in the prediction, though a program copies what does not lie in place.
  kCollective,  // Also messages to other stages of a pipeline.
  kCopy,        // To the host's memory, and back.
};

absl::string_view WorkKindName(WorkKind kind);  // "products"

// What equal layers do in the same place of each.
struct LedgerRow {
  WorkKind kind = WorkKind::kLoop;
  ir::Phase phase = ir::Phase::kForward;
  std::vector<std::string> names;  // Of the step of each layer that decides the kind.
  size_t steps = 1;                // In each kernel.
  std::string what;                // Of a product its op and local shapes, of a collective its kind.
  std::string links;               // Of a collective, slowest first.
  Seconds at_peak{0};              // That the products of a kernel take at the peak of the chip.
  StageCost each;

  int64_t Runs() const { return each.runs * static_cast<int64_t>(names.size()); }
  Seconds AllSeconds() const { return each.seconds * static_cast<double>(Runs()); }
};

struct Ledger {
  std::vector<LedgerRow> rows;  // In the order of the program.
  Prediction sum;               // Of the rows: StepCosts::sum.
  Seconds beside{0};            // Less than the rows take, because some run side by side.
  Seconds idle{0};              // In which the ranks of a pipeline's stage wait for others.
  Seconds step{0};
  Flops model{0};            // Of all products of the training graph, each once, whatever ranks repeat.
  Seconds model_at_peak{0};  // That a rank's share of them takes at the peak of the chip.
};

// REQUIRES: the plan has the rank.
Ledger LedgerOf(const Explained& explained, int rank);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_LEDGER_H_
