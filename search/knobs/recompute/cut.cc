#include "search/knobs/recompute/cut.h"

#include <algorithm>
#include <limits>

namespace cleave::search {

void FlowNetwork::Add(int from, int to, double capacity) {
  std::vector<Edge>& out = edges_[static_cast<size_t>(from)];
  std::vector<Edge>& in = edges_[static_cast<size_t>(to)];
  out.push_back({.to = to, .back = in.size(), .capacity = capacity});
  in.push_back({.to = from, .back = out.size() - 1, .capacity = 0});
}

std::vector<bool> FlowNetwork::SourceSide() {
  while (Level()) {
    next_.assign(edges_.size(), 0);
    while (Push(kSource, std::numeric_limits<double>::infinity()) > 0) {
    }
  }
  std::vector<bool> side(edges_.size());
  for (size_t node = 0; node < side.size(); ++node) side[node] = level_[node] >= 0;
  return side;
}

bool FlowNetwork::Level() {
  level_.assign(edges_.size(), -1);
  level_[kSource] = 0;
  std::vector<int> reached = {kSource};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const Edge& edge : edges_[static_cast<size_t>(reached[i])]) {
      int& level = level_[static_cast<size_t>(edge.to)];
      if (edge.capacity <= 0 || level >= 0) continue;
      level = level_[static_cast<size_t>(reached[i])] + 1;
      reached.push_back(edge.to);
    }
  }
  return level_[kSink] >= 0;
}

// Sends up to `most` from `node` to the sink along one path.
double FlowNetwork::Push(int node, double most) {
  if (node == kSink) return most;
  std::vector<Edge>& edges = edges_[static_cast<size_t>(node)];
  for (size_t& i = next_[static_cast<size_t>(node)]; i < edges.size(); ++i) {
    Edge& edge = edges[i];
    if (edge.capacity <= 0 || level_[static_cast<size_t>(edge.to)] != level_[static_cast<size_t>(node)] + 1) continue;
    const double sent = Push(edge.to, std::min(most, edge.capacity));
    if (sent <= 0) continue;
    edge.capacity -= sent;
    edges_[static_cast<size_t>(edge.to)][edge.back].capacity += sent;
    return sent;
  }
  return 0;
}

}  // namespace cleave::search
