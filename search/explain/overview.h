// What a plan asks of each rank, in a few lines.
#ifndef CLEAVE_SEARCH_EXPLAIN_OVERVIEW_H_
#define CLEAVE_SEARCH_EXPLAIN_OVERVIEW_H_

#include <string>

#include "ir/memory/memory.h"
#include "ir/program/program.h"
#include "search/cost/predict.h"

namespace cleave {

// The mesh with its links, bytes sent and memory per rank, predicted time, the largest tensors that a rank computes.
// Lines of at most 100 columns, indented by two.
std::string PlanOverview(const Program& program, const Prediction& predicted, const MemoryPrediction& memory);

}  // namespace cleave

#endif  // CLEAVE_SEARCH_EXPLAIN_OVERVIEW_H_
