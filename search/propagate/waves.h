// How cuts are propagated: in rounds by priority, one group of axes after the other, breadth first from the pinned ops.
//
// A wave reaches an op when a neighbour got a cut by the wave's axes. The op then looks at what all its decided
// neighbours offer and takes, of the strategies that follow, the one with the least redistribution between it and them;
// ties go to fewer collectives, then to more axes, then to the first input. A light op may also stay as it is, where a
// gather in front of it is cheaper; a product is always divided, by another factor where no offer fits. At the end of a
// round its ops are decided again, now that all neighbours are known, if another strategy has become cheaper.
//
// O(groups x rounds x edges x offers).
#ifndef CLEAVE_SEARCH_PROPAGATE_WAVES_H_
#define CLEAVE_SEARCH_PROPAGATE_WAVES_H_

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "search/assignment/assignment.h"
#include "search/propagate/offers.h"

namespace cleave::search {

// A pinned op and when its cut spreads: lower numbers first.
struct Seed {
  ir::OpId op;
  int64_t priority = 0;
};

// The origin of an op's cut by a group of axes.
struct Followed {
  ir::OpId pin;        // The pinned op at the beginning.
  ir::OpId neighbour;  // The last op on the way.
};

class Waves {
 public:
  // `assignment` outlives this; all of its open ops are replicated.
  Waves(Assignment& assignment, std::vector<AxisGroup> groups, std::vector<Seed> seeds);

  // Sets all ops that a wave reaches.
  void Run();

  const std::vector<AxisGroup>& groups() const { return groups_; }
  // By group; nullopt where no wave of the group cut the op. A pinned op follows itself.
  std::optional<Followed> followed(ir::OpId op, size_t group) const { return followed_[group][op]; }

 private:
  struct Candidate {
    ir::Strategy strategy;
    ir::OpId from;
  };
  using Level = std::set<std::pair<int, ir::OpId>>;  // By the class of the op, products first.

  void OpenAll(size_t group);
  void Start(size_t group, int op_class, int64_t priority, Level& level);
  void Flood(size_t group, Level level);
  void AddNeighbours(ir::OpId op, size_t group, Level& level) const;
  bool Reach(ir::OpId op, size_t group);
  bool CutTwins(size_t group, Level& level);
  void LookAgain();
  bool Improve(ir::OpId op, size_t group);
  void SetCut(ir::OpId op, size_t group, const Candidate& candidate);

  std::vector<Candidate> Candidates(ir::OpId op, size_t group) const;
  std::vector<Candidate> OtherFactors(ir::OpId op, const ir::Strategy& without, const AxisGroup& group,
                                      ir::OpId from) const;
  const Candidate* Cheapest(ir::OpId op, size_t group, const std::vector<Candidate>& candidates, Cost* least);
  Cost MovesAround(ir::OpId op) const;
  bool IsFree(ir::OpId op) const;
  int ClassOf(ir::OpId op) const;

  Assignment& assignment_;
  const GraphFacts& facts_;
  Offers offers_;
  std::vector<AxisGroup> groups_;
  std::vector<Seed> seeds_;                                            // By priority, then class, then id.
  std::vector<IdVector<ir::OpId, std::optional<Followed>>> followed_;  // By group.
  std::vector<ir::OpId> round_;                                        // Ops that the present round cut first.
};

// The axes of `group` that `strategy` does not use, each on the first factor of `rule` that has elements for it.
ir::Strategy WithRestPlaced(ir::Strategy strategy, const ir::Rule& rule, const ir::Mesh& mesh, const AxisGroup& group);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PROPAGATE_WAVES_H_
