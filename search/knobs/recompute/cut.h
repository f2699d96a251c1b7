// Minimum cut of a flow network. Private to search/knobs/recompute.
#ifndef CLEAVE_SEARCH_KNOBS_RECOMPUTE_CUT_H_
#define CLEAVE_SEARCH_KNOBS_RECOMPUTE_CUT_H_

#include <cstddef>
#include <vector>

namespace cleave::search {

class FlowNetwork {
 public:
  static constexpr int kSource = 0;
  static constexpr int kSink = 1;

  explicit FlowNetwork(int nodes) : edges_(static_cast<size_t>(nodes)) {}

  // REQUIRES: capacity >= 0; infinity is allowed.
  void Add(int from, int to, double capacity);
  // By node: whether it is on the source's side of a minimum cut, of several the one with the fewest nodes there.
  // Dinic's algorithm (1970). REQUIRES: no path from source to sink has infinite capacity throughout.
  std::vector<bool> SourceSide();

 private:
  struct Edge {
    int to = 0;
    size_t back = 0;  // The number of the opposite edge among those of `to`.
    double capacity = 0;
  };

  bool Level();
  double Push(int node, double most);

  std::vector<std::vector<Edge>> edges_;
  std::vector<int> level_;    // Steps from the source; -1: not reached.
  std::vector<size_t> next_;  // By node, the first edge that may still lead to the sink.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_RECOMPUTE_CUT_H_
