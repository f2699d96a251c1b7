// What a plan of a deep model takes, by programs with few of its equal layers. Private to search/memory.
//
// Equal layers take equally long and equally much memory, so that two programs, of which one has a layer more, tell
// what all layers take. What layers do together, messages for several of them and gaps in the arena, makes the result
// an estimate, so it only tells in which order plans are looked at, and which need not be: whatever is chosen is
// measured with all layers.
#ifndef CLEAVE_SEARCH_MEMORY_ESTIMATE_H_
#define CLEAVE_SEARCH_MEMORY_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"
#include "search/cluster/cluster.h"
#include "search/cost/execution.h"
#include "search/memory/memory.h"
#include "search/recompute/recompute.h"
#include "search/shorten/shorten.h"

namespace cleave::search {

struct Estimate {
  // What is probably made again so that the plan fits, of the program of few layers; nothing where it fits as it is.
  // nullopt where it probably does not fit. Of a plan in which the user asks for nothing.
  std::optional<RecomputeChoice> ChoiceWithin(Bytes limit) const;
  // With recomputation the plan needs at least about so much.
  Bytes AtLeast() const { return least + besides; }

  Bytes peak;
  Bytes least;  // About the least peak with recomputation. Of a plan in which the user asks for nothing.
  Seconds step;
  Bytes besides{0};                              // What the program takes besides the values that are live.
  std::unique_ptr<Recomputation> recomputation;  // A layer of the program of few stands for all that it leaves out.
};

// Not thread-safe.
class Estimator {
 public:
  // The arguments outlive it.
  Estimator(const SearchedGraph& model, const Cluster& cluster, const Execution& execution);

  // Of a plan of the model's graph. Null where few layers are equal in graph and plan, so that a program of all layers
  // takes about as long to make, and where no program of the plan can be made. Equal plans get one estimate, which
  // stays valid.
  const Estimate* Of(const ir::Plan& plan);

  // About how long a step of the plan takes with the choice with which it probably stays within the limit. nullopt as
  // PlanWithin.
  std::optional<Seconds> StepWithin(const ir::Plan& plan, Bytes limit);

  // The plan of the whole model with which it probably stays within the limit: its layers make again what those of the
  // program of few layers do, as large a part of them each. nullopt where there is no estimate, or it says that the
  // plan does not fit.
  std::optional<ir::Plan> PlanWithin(const ir::Plan& plan, Bytes limit);

 private:
  // The programs of few layers: the ones that they leave out are [begin, end) of the equal ones, and all of these but
  // the first.
  struct LeftOut {
    size_t begin = 0;
    size_t end = 0;
    int64_t layers = 0;  // Of the whole model.

    int64_t others() const { return layers - 1; }
    LeftOut AllButTheFirst() const { return {.begin = begin + 1, .end = end, .layers = others()}; }
    auto operator<=>(const LeftOut&) const = default;
  };
  struct Known {
    LeftOut layers;
    ir::Plan plan;  // Of the layers that are left.
    std::optional<Estimate> estimate;
  };
  std::optional<LeftOut> LeftOutOf(const ir::Plan& plan) const;
  const Known* KnownOf(const ir::Plan& plan);
  void Repeat(const RecomputeChoice& choice, const LeftOut& layers, ir::Plan& whole);
  std::optional<Estimate> Make(const LeftOut& layers, const ir::Plan& plan);
  // What each layer that is left out adds is what the program with the first of them has more than that with none.
  struct Programs {
    PlannedProgram few, more;
  };
  Seconds StepOfAll(const Programs& made, const LeftOut& layers) const;
  std::optional<Programs> ProgramsOf(const LeftOut& layers, const ir::Plan& plan);
  std::optional<PlannedProgram> ProgramWithout(const LeftOut& layers, const ir::Plan& plan);
  const Shortened& GraphWithout(const LeftOut& layers);

  const SearchedGraph& model_;
  const ir::Graph& graph_;
  const Cluster& cluster_;
  const Execution& execution_;
  const EqualLayers equal_;  // Of `graph_`, and of the whole model.
  const EqualLayers whole_equal_;
  std::vector<int64_t> times_;  // Of each equal layer: how many layers of the whole model it stands for.
  std::map<LeftOut, Shortened> shortened_;
  std::deque<Known> known_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MEMORY_ESTIMATE_H_
