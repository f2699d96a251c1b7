// The two recursions of SAPP with an exact inner one: over the mesh axes, and for each axis over all ops at once.
//
// A step gives every op a few strategies to choose from (moves.h) and takes the best joint choice, by variable
// elimination (search/solve/minsum), so that no op takes what is expensive for its neighbours. Greedy() decides axis by
// axis; Refine() revisits single axes, axes of one link class together, pairs, orders, until no step helps. In a folded
// network equal layers are decided once.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_DESCENT_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_DESCENT_H_

#include <cstdint>
#include <vector>

#include "search/solve/assignment/assignment.h"
#include "search/solve/network/network.h"
#include "search/solve/sapp/moves.h"

namespace cleave::search {

class Descent {
 public:
  // Starts from the strategies of `assignment`, which it does not change. `work`: the number of table lookups, or
  // operations that take as long, after which it takes no further step. `network` keeps its tables for the next
  // descent. REQUIRES: it is of the assignment's table, and ops of one variable have equal freedom.
  Descent(Assignment& assignment, Network& network, const Freedom& freedom, int64_t work);

  // Decides `axes` one after another. REQUIRES: no op uses them yet, unless it is fixed or they are not open to it.
  void Greedy(const ir::AxisList& axes);
  // Lets ops use the required axes that they leave idle though they have elements for them. Returns whether all then
  // do.
  bool UseRequired();
  enum class Steps {
    kNear,  // All but those that move three axes at a time.
    kAll,
  };
  // Returns whether the plan became cheaper.
  bool Refine(Steps steps = Steps::kAll);
  // Takes one step in which each op may take any strategy, which finds the cheapest plan, if its tables are not too
  // large. Returns whether it was taken.
  bool RefineFreely();
  // The cost of the plan, in units of the network.
  int64_t cost() const { return cost_; }
  // The plan.
  std::vector<IndexedChange> Changes() const;

 private:
  using DomainOf = std::function<int(ir::OpId op, int present)>;

  enum class Tables {
    kNarrow,  // Few strategies per op.
    kWide,    // Many; the step is left out where tables are too large.
    kFree,    // All; as above.
  };
  struct StepOptions {
    bool must_move = false;  // Some ops may not keep their strategies.
    Tables tables = Tables::kNarrow;
    bool prunes = false;  // Expensive strategies are pruned, which takes time itself.
  };

  const EliminationLimits& TableLimits(Tables tables) const;

  enum class Outcome { kNotTaken, kNothingCheaper, kMoved };
  Outcome Take(const DomainOf& domain_of, const StepOptions& options);
  // Returns whether the plan moved.
  bool Step(const DomainOf& domain_of, const StepOptions& options) {
    return Take(domain_of, options) == Outcome::kMoved;
  }
  // The cost of one plan. REQUIRES: each domain has one strategy.
  bool UsesRequired() const;
  int64_t CostOfOne(const Domains& domains);
  bool MoveRuns(const ir::AxisList& axes);
  bool MovePairs(const ir::AxisList& axes);
  bool MoveTriples(const ir::AxisList& axes);
  bool Reorder(const ir::AxisList& axes);
  bool Spent() const { return work_ <= 0; }

  Assignment& assignment_;
  Network& network_;
  const SearchTuning& tuning_;
  Moves moves_;
  int64_t work_;
  int64_t cost_ = 0;
  Domains present_;  // Per variable a domain of one.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_DESCENT_H_
