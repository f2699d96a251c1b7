// Why each op is cut as it is, in a sentence with numbers, and what else it could have been.
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
  bool searched =
      true;          // Whether products were chosen by price; if not, then by the only rule of the algorithm, `rule`.
  std::string rule;  // "data_parallel cuts only the batch"
  std::map<ir::OpId, std::string> followed = {};  // For ops that propagation reached: where their cuts come from.
  std::map<ir::OpId, std::string> ruled = {};     // For ops whose strategy has another reason than a pin: the reason.
  ir::Price price =
      ir::Price::kBytes;         // The price of the search. Under kClassic reasons give bytes all the same, and say so.
  bool keeps_to_memory = false;  // Choices that keep less memory were preferred.
  std::string objective = "";    // The objective of the search, where it is not `speed`.
};

// The strategy and the demanded output of one op, without a reason.
ir::OpPlan OpPlanOf(const Assignment& assignment, ir::OpId op);

// The plan of a finished assignment, with decided_by, reasons and choices; leaves the assignment as it was.
IdVector<ir::OpId, ir::OpPlan> PlansWithReasons(Assignment& assignment, const Bundles& bundles,
                                                const OpDemands& demands, const ReasonOptions& options);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_REASONS_H_
