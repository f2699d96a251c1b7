// Explains why each op has its strategy, in a sentence with numbers, and what else it could have.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_REASONS_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_REASONS_H_

#include <map>
#include <string>

#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/bundles.h"

namespace cleave::search {

struct ReasonOptions {
  bool searched = true;                           // Whether products were chosen by price; if not, by `rule`.
  std::string rule;                               // "data_parallel cuts only the batch"
  std::map<ir::OpId, std::string> followed = {};  // By op that propagation reached: where its cuts come from.
  std::map<ir::OpId, std::string> ruled = {};     // By op whose strategy has another reason than these.
  ir::Price price = ir::Price::kBytes;            // Of the search. Under kClassic reasons give bytes, and say so.
  bool keeps_to_memory = false;                   // A kept byte had a price.
  std::string objective = "";                     // The objective of the search, where it is not `speed`.
};

// The strategy and the demanded output of one op, without a reason.
ir::OpPlan OpPlanOf(const Assignment& assignment, ir::OpId op);

// The plan of a finished assignment, with decided_by, reasons and choices. Leaves the assignment unchanged.
IdVector<ir::OpId, ir::OpPlan> PlansWithReasons(Assignment& assignment, const Bundles& bundles,
                                                const OpDemands& demands, const ReasonOptions& options);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_REASONS_H_
