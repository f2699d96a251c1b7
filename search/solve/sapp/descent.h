// The two recursions of SAPP with an exact inner one: over the mesh axes, and for each axis over all ops at once.
//
// A step gives every op a few strategies to choose from (moves.h) and takes the best joint choice, found by variable
// elimination (search/solve/minsum): a choice that is cheap for one op and expensive for the next is seen before it is
// taken. Greedy() decides axis by axis; Refine() revisits single axes, axes of one link class together, pairs, orders,
// until no step helps. Equal layers are decided once where the network is folded.
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
  // Starts from the strategies of `assignment`, which it does not change. `work`: the number of table lookups, or of
  // operations that take as long, after which no further step is taken. `network` is of the assignment's table; it
  // keeps the tables that were computed for the next descent. Ops of one variable of it have equal freedom.
  Descent(Assignment& assignment, Network& network, const Freedom& freedom, int64_t work);

  // Decides `axes` one after another. REQUIRES: only what is fixed, or not open, was decided before.
  void Greedy(const ir::AxisList& axes);
  // Gives each required axis that an op leaves idle, though it has elements for it, to some factor. Returns whether
  // that was possible.
  bool UseRequired();
  enum class Steps {
    kNear,  // All but those that move three axes at a time.
    kAll,
  };
  // Returns whether the plan became cheaper.
  bool Refine(Steps steps = Steps::kAll);
  // Refines in one step in which each op may take any strategy, if the tables are not too large, and then misses
  // nothing. Returns whether it took the step.
  bool RefineFreely();
  // The cost of the plan, in units of the network.
  int64_t cost() const { return cost_; }
  // The plan: a strategy for each variable's ops.
  std::vector<IndexedChange> Changes() const;

 private:
  using DomainOf = std::function<int(ir::OpId op, int present)>;

  enum class Tables {
    kNarrow,  // Few strategies per op.
    kWide,    // Many: the step is left out if it would take long.
    kFree,    // All.
  };
  struct StepOptions {
    bool must_move = false;  // Some ops may not stay where they are.
    Tables tables = Tables::kNarrow;
    bool prunes = false;  // Strategies that cost too much are left out. Takes time itself, where few are found.
  };

  const EliminationLimits& TableLimits(Tables tables) const;

  enum class Outcome { kNotTaken, kNothingCheaper, kMoved };
  Outcome Take(const DomainOf& domain_of, const StepOptions& options);
  // Returns whether the plan moved.
  bool Step(const DomainOf& domain_of, const StepOptions& options) {
    return Take(domain_of, options) == Outcome::kMoved;
  }
  // About a plan: each domain has one strategy.
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
