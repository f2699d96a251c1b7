// The plans that other settings give.
#ifndef CLEAVE_SEARCH_EXPLAIN_PLANS_H_
#define CLEAVE_SEARCH_EXPLAIN_PLANS_H_

#include <string>
#include <vector>

#include "base/units/units.h"
#include "search/explain/explain.h"
#include "search/price/cost/predict.h"

namespace cleave::search {

// A plan, or why there is none.
struct TriedPlan {
  std::vector<std::string> flags;  // Settings that give this plan, as for the command line.
  Prediction predicted = {};
  double bubble = 0;  // Of a pipeline.
  Bytes peak{0};
  std::string refusal = {};  // Not empty where there is no plan.
  bool is_chosen = false;    // It has the numbers of the plan that is explained.
  std::string why = {};      // "1.67 times the step: 663.9 us more communication"; empty for the chosen one.
};

struct OtherPlans {
  std::vector<TriedPlan> plans;    // Fastest first, with the chosen one; those with equal predictions are one.
  std::vector<TriedPlan> refused;  // Settings without a plan.
};

// Makes a search and a program for each setting. REQUIRES: the model is not manual.
OtherPlans OtherPlansOf(const Explained& explained);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_PLANS_H_
