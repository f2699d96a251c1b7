// Why each op is cut as it is, in a sentence with numbers, and what else it could have been.
#ifndef CLEAVE_SEARCH_SAPP_REASONS_H_
#define CLEAVE_SEARCH_SAPP_REASONS_H_

#include <map>
#include <string>

#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/assignment/assignment.h"
#include "search/sapp/bundles.h"

namespace cleave::search {

struct ReasonOptions {
  bool searched = true;  // Products were chosen by price; if not, by the one rule of the algorithm, `rule`.
  std::string rule;      // "data_parallel cuts the batch on every axis"
  std::map<ir::OpId, std::string> followed = {};  // Of ops that propagation reached: from where they have their cuts.
  std::map<ir::OpId, std::string> ruled = {};     // Of ops that are as they are for another reason than a pin: why.
  ir::Price price = ir::Price::kBytes;  // Of the search. Under kClassic reasons give bytes even so, and say it.
  bool keeps_to_memory = false;         // Choices that keep less were preferred.
  std::string objective = "";           // Of the search, where it is another than `speed`.
};

// The plan of a finished assignment, with decided_by, reasons and choices; leaves the assignment as it was.
IdVector<ir::OpId, ir::OpPlan> PlansWithReasons(Assignment& assignment, const Bundles& bundles,
                                                const OpDemands& demands, const ReasonOptions& options);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SAPP_REASONS_H_
