// Why an op is not cut in another way: what would have to change for each of its next choices to be better.
//
//   WhyNot why_not(explained);
//   for (const OtherChoice& other : why_not.OthersFor(op)) …   // "with the link `host` 3.2 times as fast"
//
// Made once for all ops of a plan.
#ifndef CLEAVE_SEARCH_EXPLAIN_WHY_NOT_H_
#define CLEAVE_SEARCH_EXPLAIN_WHY_NOT_H_

#include <memory>
#include <string>
#include <vector>

#include "ir/sharding/plan/plan.h"
#include "ir/sharding/strategy/strategy.h"
#include "search/explain/explain.h"
#include "search/model/facts/facts.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/bundles.h"

namespace cleave::search {

// Whether costs of the plan are seconds; else they are bytes.
bool IsInSeconds(const ir::Plan& plan);

struct OtherChoice {
  ir::Strategy strategy;
  std::vector<std::string> conditions;  // It costs less … each of them: "now", "with a gradient_weight above 0.3 …".
};

class WhyNot {
 public:
  // `explained` outlives this.
  explicit WhyNot(const Explained& explained);
  WhyNot(const WhyNot&) = delete;
  WhyNot& operator=(const WhyNot&) = delete;

  // Whether the plan follows from its forward ops: not where it was edited or its optimizer is sharded.
  bool is_known() const { return assignment_ != nullptr; }

  // The next choices of an op, at most three, cheapest first; none where is_known() is false.
  std::vector<OtherChoice> OthersFor(ir::OpId op);

 private:
  const Explained& explained_;
  const GraphFacts facts_;
  const std::unique_ptr<Assignment> assignment_;  // The plan; null where it does not follow from its forward ops.
  const Bundles bundles_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_WHY_NOT_H_
