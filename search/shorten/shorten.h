// A training graph with fewer of its equal layers, for measuring what does not need all of them.
//
//   const EqualLayers equal = FindEqualLayers(graph);              // x.1 to x.94 of a model of 96 layers
//   if (equal.count() > 8) Shortened few = WithoutLayers(graph, equal, 4, equal.count() - 4);
//
// A layer is what a loop of the model repeats: the ops in whose names the same number is the first one, with their
// gradients, states and updates. Two neighbouring layers are equal if each op of one has an op of the other in the same
// place, of the same kind and type and with the same attributes, and if these read the same: ops of their own layer, of
// the layers beside it, or of no layer. The keys of random draws may differ.
#ifndef CLEAVE_SEARCH_SHORTEN_SHORTEN_H_
#define CLEAVE_SEARCH_SHORTEN_SHORTEN_H_

#include <cstddef>
#include <vector>

#include "ir/graph/graph.h"

namespace cleave::search {

// Equal layers, one after another. What stands outside of them reads and is read by the first and the last one alone,
// except that each layer may read what is in no layer.
struct EqualLayers {
  std::vector<std::vector<ir::OpId>> ops;  // By layer; the i-th ops of all layers are in the same place.

  size_t count() const { return ops.size(); }
};

// Those of the longest run of equal layers that the graph has, the one with the most ops; no layers where no two are
// equal. Takes time linear in the size of the graph, but for logarithms.
EqualLayers FindEqualLayers(const ir::Graph& graph);

struct Shortened {
  ir::Graph graph;
  IdVector<ir::OpId, ir::OpId> originals;  // For each op of `graph`: the op of the original graph that it is.
};

// The graph without the layers [begin, end) of `equal`: what reads them reads the layers that take their place. All
// other ops keep their names and their order. Looks at what is left out are left out. REQUIRES: 1 <= begin <= end <
// count.
Shortened WithoutLayers(const ir::Graph& graph, const EqualLayers& equal, size_t begin, size_t end);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SHORTEN_SHORTEN_H_
