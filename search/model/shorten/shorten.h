// A training graph with fewer of its equal layers, for what does not need all of them: measuring, and decisions that
// are the same for equal layers.
//
//   const EqualLayers equal = FindEqualLayers(graph);              // x.1 to x.94 of a model of 96 layers
//   if (equal.count() > 8) Shortened few = WithoutLayers(graph, equal, 4, equal.count() - 4);
//   ir::Plan plan = Lengthened(few, graph, equal, PlanOf(few.graph));
//
// A layer is what a loop of the model repeats: the ops of one of its passes, with their gradients, states and updates.
// Two neighbouring layers are equal if each op of one has an op of the other in the same place, of the same kind and
// type and with the same attributes, and if these read the same: ops of their own layer, of the layers beside it, or of
// no layer. The keys of random draws may differ, and the places of slices: the steps of a loop over time read x[.., 0],
// x[.., 1] and so on.
#ifndef CLEAVE_SEARCH_MODEL_SHORTEN_SHORTEN_H_
#define CLEAVE_SEARCH_MODEL_SHORTEN_SHORTEN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"

namespace cleave::search {

// Equal layers, one after another. What stands outside of them reads and is read by the first and the last one alone,
// except that each layer may read what is in no layer, and that an op of no layer may read the same of each: a `concat`
// of what all of them make.
struct EqualLayers {
  std::vector<std::vector<ir::OpId>> ops;  // By layer; the i-th ops of all layers are in the same place.

  size_t count() const { return ops.size(); }
};

// Those of the longest run of equal layers that the graph has, the one with the most ops; no layers where no two are
// equal. Takes time linear in the size of the graph, but for logarithms.
EqualLayers FindEqualLayers(const ir::Graph& graph);

// By op of a graph: how many ops of a larger graph it stands for. Empty: each one for itself.
using OpTimes = IdVector<ir::OpId, int64_t>;

struct Shortened {
  ir::Graph graph;
  IdVector<ir::OpId, ir::OpId> originals;  // For each op of `graph`: the op of the original graph that it is.
  // For each op of the original graph: the op of `graph` that stands for it. The last layer before those that are left
  // out stands for these too, every other op for itself alone.
  IdVector<ir::OpId, ir::OpId> stand_ins;

  // For each op of `graph`: how many ops it stands for.
  OpTimes Times() const;
};

// The graph without the layers [begin, end) of `equal`: what reads them reads the layers that take their place. All
// other ops keep their names, and their order as far as each comes behind what it reads. Looks at what is left out are
// left out. REQUIRES: 1 <= begin <= end <
// count.
Shortened WithoutLayers(const ir::Graph& graph, const EqualLayers& equal, size_t begin, size_t end);

// The plan of `graph` in which each op has what `plan` says of the op of `few.graph` that stands for it. Names of ops
// in its reasons are those of the op that stands as far away. REQUIRES: `few` is WithoutLayers(graph, equal, …).
ir::Plan Lengthened(const Shortened& few, const ir::Graph& graph, const EqualLayers& equal, const ir::Plan& plan);

// What `plan`, of the whole graph, says of the ops of `few.graph`, without what does not concern its program.
ir::Plan ShortPlan(const Shortened& few, const ir::Plan& plan);

// The graph of which a search makes plans: a model, or the same with few of its equal layers. `whole` outlives it.
class SearchedGraph {
 public:
  // The whole model.
  SearchedGraph(const ir::Graph& whole) : whole_(&whole) {}  // NOLINT(google-explicit-constructor)
  // The model with `kept` of its equal layers, the middle one of which stands for all that are left out, where it has
  // more of them. REQUIRES: kept >= 3.
  static SearchedGraph WithFewLayers(const ir::Graph& whole, size_t kept);

  const ir::Graph& graph() const { return few_.has_value() ? few_->graph : *whole_; }
  const ir::Graph& whole() const { return *whole_; }
  bool is_whole() const { return !few_.has_value(); }
  // For each op of `graph`: how many ops of `whole` it stands for.
  OpTimes Times() const;
  // For each op of `whole`: the op of `graph` that stands for it.
  IdVector<ir::OpId, ir::OpId> StandIns() const;
  // Of `graph`.
  EqualLayers Layers() const;
  // Of `whole`.
  EqualLayers WholeLayers() const { return few_.has_value() ? equal_ : FindEqualLayers(*whole_); }
  // The plan of `whole` that `plan`, which is one of `graph`, stands for.
  ir::Plan Lengthened(ir::Plan plan) const;
  // The plan of `graph` that `plan`, which is one of `whole`, gives by ShortPlan, or is.
  ir::Plan Searched(const ir::Plan& plan) const;

 private:
  const ir::Graph* whole_;
  EqualLayers equal_;  // Of `whole_`; not known where nothing is left out.
  std::optional<Shortened> few_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_SHORTEN_SHORTEN_H_
