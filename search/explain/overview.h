// What a plan needs on each rank, in a few lines.
#ifndef CLEAVE_SEARCH_EXPLAIN_OVERVIEW_H_
#define CLEAVE_SEARCH_EXPLAIN_OVERVIEW_H_

#include <string>

#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/knobs/memory/memory.h"
#include "search/price/cost/pipeline.h"
#include "search/price/cost/predict.h"

namespace cleave::search {

// How often ranks communicate in a training step.
int64_t CollectivesOfStep(const ir::Program& program);

// The ops of the forward pass that the backward pass computes again.
int64_t OpsComputedAgain(const ir::Program& program);

// The mesh with its links, bytes sent and memory per rank, predicted time, the largest tensors that a rank computes and
// stores. Lines of at most 100 columns, indented by two.
std::string PlanOverview(const ir::LoweredProgram& made, const Prediction& predicted);

// "  stages    4, idle for 12.5% of the passes; the slowest takes 1.2 ms forward and 2.4 ms backward for a
// micro-batch".
std::string PipelineLine(const PipelinePrediction& pipeline);

// "pins taken: h1.matmul (line 8), x.0..5.w (line 14)": what the model decides itself, by the lines that say so. Empty
// where it decides nothing. A plan keeps all pins, or there is none.
std::string PinsLine(const ir::Graph& graph, absl::Span<const ir::Pin> pins);

// "298,547 under the price bytes, gradient_weight 0.1, at least 298,547 (gap 0.00%)": the cost of the whole, and how
// far it may be from the best; after an exact search also whether the gap is closed.
std::string CostLine(const ir::Plan& plan);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_OVERVIEW_H_
