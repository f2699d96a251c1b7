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
  // About how long a step takes within a limit: with as much made again as a layer must save of its part of what is too
  // much, in all layers. nullopt where it probably does not fit. Of a plan in which the user asks for nothing.
  std::optional<Seconds> StepWithin(Bytes limit) const;

  // With recomputation the plan needs at least about so much.
  Bytes AtLeast() const { return least + besides; }

  Bytes peak;
  // The least peak with recomputation, or less: what each place of the step needs is linear in the number of layers, so
  // the most of them grows at least as fast with more layers as with few. Of a plan in which the user asks for nothing.
  Bytes least;
  Seconds step;
  Bytes besides{0};                              // What the program takes besides the values that are live.
  double layers = 1;                             // For each layer of the program of few.
  std::unique_ptr<Recomputation> recomputation;  // Of that program.
};

// Not thread-safe.
class Estimator {
 public:
  // The arguments outlive it.
  Estimator(const ir::Graph& training_graph, const Cluster& cluster, const Execution& execution);

  // Null where few layers are equal in graph and plan, so that a program of all layers takes about as long to make, and
  // where no program of the plan can be made. Equal plans get one estimate, which stays valid.
  const Estimate* Of(const ir::Plan& plan);

 private:
  // The programs of few layers: the ones that they leave out are [begin, end) of the equal ones, and all of these but
  // the first.
  struct LeftOut {
    size_t begin = 0;
    size_t end = 0;

    int64_t others() const { return static_cast<int64_t>(end - begin - 1); }
    LeftOut AllButTheFirst() const { return {.begin = begin + 1, .end = end}; }
    auto operator<=>(const LeftOut&) const = default;
  };
  struct Known {
    LeftOut layers;
    ir::Plan plan;  // Of the layers that are left.
    std::optional<Estimate> estimate;
  };
  std::optional<LeftOut> LeftOutOf(const ir::Plan& plan) const;
  std::optional<Estimate> Make(const LeftOut& layers, const ir::Plan& plan);
  std::optional<Estimate> Without(const LeftOut& layers, const ir::Plan& plan);
  const Shortened& GraphWithout(const LeftOut& layers);

  const ir::Graph& graph_;
  const Cluster& cluster_;
  const Execution& execution_;
  const EqualLayers equal_;
  std::map<LeftOut, Shortened> shortened_;
  std::deque<Known> known_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MEMORY_ESTIMATE_H_
