// The price of a whole plan: weighted bytes that a rank sends per step, or seconds.
//
//   Cost cost = PlanCost(facts, plan);         // from the layouts of the plan
//   Cost same = ProgramCost(facts, distributed, program);   // from the collectives of the program made from it
//
// docs/cost.md has the formulas. Not priced: scalars and vectors (loss, biases), and what only metrics or looks need.
#ifndef CLEAVE_SEARCH_PRICE_COST_COST_H_
#define CLEAVE_SEARCH_PRICE_COST_COST_H_

#include "ir/program/program.h"
#include "ir/sharding/plan/plan.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/model/facts/facts.h"
#include "search/price/cost/prices.h"
#include "search/price/cost/redistribution_prices.h"

namespace cleave::search {

// In the unit of `prices`, by default weighted bytes. REQUIRES: VerifyGraph and VerifyPlan find no error.
Cost PlanCost(const GraphFacts& facts, const ir::Plan& plan, const Prices& prices = {});

// The same in weighted bytes, from the collectives of `program`. REQUIRES: Partition made it from `distributed`, and
// that was made from the graph of `facts`.
Cost ProgramCost(const GraphFacts& facts, const ir::Distributed& distributed, const ir::Program& program);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_COST_H_
