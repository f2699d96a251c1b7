// Shortens a training graph to a few of its equal layers, for measuring, and for decisions that are the same for equal
// layers.
//
//   const EqualLayers equal = FindEqualLayers(graph);              // x.1 to x.94 of a model of 96 layers
//   if (equal.count() > 8) Shortened few = WithoutLayers(graph, equal, 4, equal.count() - 4);
//   ir::Plan plan = Lengthened(few, graph, equal, PlanOf(few.graph));
//
// A layer is what a loop of the model repeats: the ops of one of its passes, with their gradients, states and updates.
// Two neighbouring layers are equal if each op of one has a counterpart in the other, of the same kind, type and
// attributes, that reads the same: counterparts in its own layer or in the neighbours of its layer, or ops of no layer.
// The keys of random draws may differ, and the offsets of slices: the steps of a loop over time read x[.., 0], x[.., 1]
// and so on.
#ifndef CLEAVE_SEARCH_MODEL_SHORTEN_SHORTEN_H_
#define CLEAVE_SEARCH_MODEL_SHORTEN_SHORTEN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"

namespace cleave::search {

// Equal layers, one after another. Ops of no layer may be read by all of them, and may read the same of each, as a
// `concat` of what all layers make; all other ops outside read and are read by the first and the last one only.
struct EqualLayers {
  std::vector<std::vector<ir::OpId>> ops;  // By layer; the i-th ops are counterparts.

  size_t count() const { return ops.size(); }
};

// The run of equal layers with the most ops; none where no two layers are equal. Time: O(n log n) in the size of the
// graph.
EqualLayers FindEqualLayers(const ir::Graph& graph);

// By op of a shortened graph: how many ops of the original it stands for. Empty: all 1.
using OpTimes = IdVector<ir::OpId, int64_t>;

struct Shortened {
  ir::Graph graph;
  IdVector<ir::OpId, ir::OpId> originals;  // By op of `graph`: its original.
  // By op of the original graph: the op of `graph` that stands for it. The last layer in front of those left out stands
  // for these too, every other op for itself alone.
  IdVector<ir::OpId, ir::OpId> stand_ins;

  // By op of `graph`: how many ops it stands for.
  OpTimes Times() const;
};

// The graph without the layers [begin, end) of `equal`; their readers read the last layer in front of them. Other ops
// keep their names, and their order as far as inputs allow. Looks at removed ops are removed. REQUIRES: 1 <= begin <=
// end < count.
Shortened WithoutLayers(const ir::Graph& graph, const EqualLayers& equal, size_t begin, size_t end);

// The plan of `graph` in which each op has the OpPlan of the op of `few.graph` that stands for it, with names of ops in
// reasons adjusted to its layer. REQUIRES: `few` is WithoutLayers(graph, equal, …).
ir::Plan Lengthened(const Shortened& few, const ir::Graph& graph, const EqualLayers& equal, const ir::Plan& plan);

// `plan`, one of the original graph, for the ops of `few.graph`, without reasons and choices.
ir::Plan ShortPlan(const Shortened& few, const ir::Plan& plan);

// The graph that a search plans: a model, or the same with few of its equal layers. `whole` outlives it.
class SearchedGraph {
 public:
  // The whole model.
  SearchedGraph(const ir::Graph& whole) : whole_(&whole) {}  // NOLINT(google-explicit-constructor)
  // The model shortened to `kept` equal layers, the middle one of which stands for those left out; the whole model if
  // it has no more. REQUIRES: kept >= 3.
  static SearchedGraph WithFewLayers(const ir::Graph& whole, size_t kept);

  const ir::Graph& graph() const { return few_.has_value() ? few_->graph : *whole_; }
  const ir::Graph& whole() const { return *whole_; }
  bool is_whole() const { return !few_.has_value(); }
  // By op of `graph`: how many ops of `whole` it stands for.
  OpTimes Times() const;
  // By op of `whole`: the op of `graph` that stands for it.
  IdVector<ir::OpId, ir::OpId> StandIns() const;
  // Of `graph`.
  EqualLayers Layers() const;
  // Of `whole`.
  EqualLayers WholeLayers() const { return few_.has_value() ? equal_ : FindEqualLayers(*whole_); }
  // `plan`, one of `graph`, for `whole`.
  ir::Plan Lengthened(ir::Plan plan) const;
  // `plan`, one of `whole`, for `graph` (ShortPlan).
  ir::Plan Searched(const ir::Plan& plan) const;

 private:
  const ir::Graph* whole_;
  EqualLayers equal_;  // Of `whole_`; empty where nothing is left out.
  std::optional<Shortened> few_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_SHORTEN_SHORTEN_H_
