// Warnings about parts of a plan that its user may not expect.
#ifndef CLEAVE_SEARCH_KNOBS_WARNINGS_H_
#define CLEAVE_SEARCH_KNOBS_WARNINGS_H_

#include <map>

#include "base/diagnostic/diagnostic.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/model/facts/facts.h"
#include "search/solve/assignment/assignment.h"

namespace cleave::search {

// W0601: forward ops that have no distributed form. W0602: ops of which some rank has less than half the work of
// another. W0603: mesh axes that no op of the model is cut by, so that devices repeat each other's work (a search that
// was told to replicate gets no such warning). W0604: ops that the model defines without a rule.
void WarnOfIdleRanks(const GraphFacts& facts, const ir::Plan& plan, const OpDemands& demands, const ir::Pins& pins,
                     bool leave_idle, Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_WARNINGS_H_
