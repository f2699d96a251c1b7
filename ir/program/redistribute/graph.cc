#include "ir/program/redistribute/graph.h"

#include <algorithm>

#include "base/check/check.h"

namespace cleave::ir {

FoundPath ArrangementGraph::CheapestPath(const Arrangement& source, const Arrangement& target) {
  const size_t first = NodeOf(source), last = NodeOf(target);
  std::unique_ptr<Tree>& tree = nodes_[first].tree;
  if (tree == nullptr) {
    tree = std::make_unique<Tree>();
    Reach(*tree, first, {});
  }
  Settle(*tree, last);
  const PathCost& cost = tree->labels[last].cost;
  FoundPath path{.moves = {}, .cost = cost.bytes, .collectives = cost.collectives, .is_cheapest = true};
  for (size_t node = last; node != first; node = tree->labels[node].before) {
    const Label& label = tree->labels[node];
    path.moves.push_back(nodes_[label.before].edges[label.edge].move);
  }
  std::reverse(path.moves.begin(), path.moves.end());
  return path;
}

void ArrangementGraph::Settle(Tree& tree, size_t wanted) {
  while (wanted >= tree.labels.size() || !tree.labels[wanted].is_settled) {
    CLEAVE_CHECK(!tree.reached.empty()) << "no path";
    const size_t node = tree.reached.top().node;
    tree.reached.pop();
    if (tree.labels[node].is_settled) continue;  // This path is not the best.
    tree.labels[node].is_settled = true;
    const PathCost cost = tree.labels[node].cost;
    const std::vector<Edge>& edges = EdgesOf(node);
    for (size_t i = 0; i < edges.size(); ++i) {
      const PathCost next = cost.After(edges[i].move, edges[i].price);
      Reach(tree, edges[i].to, {.cost = next, .order = next.Order(problem_), .before = node, .edge = i});
    }
  }
}

void ArrangementGraph::Reach(Tree& tree, size_t node, const Label& label) {
  if (node >= tree.labels.size()) tree.labels.resize(node + 1);
  Label& best = tree.labels[node];
  if (best.is_reached && best.order <= label.order) return;
  best = label;
  best.is_reached = true;
  tree.reached.push({.order = label.order, .number = tree.entries++, .node = node});
}

size_t ArrangementGraph::NodeOf(const Arrangement& arrangement) {
  const auto [found, is_new] = index_.try_emplace(arrangement, nodes_.size());
  if (is_new) nodes_.push_back({.arrangement = arrangement, .bytes = problem_.LocalBytes(arrangement)});
  return found->second;
}

const std::vector<ArrangementGraph::Edge>& ArrangementGraph::EdgesOf(size_t index) {
  Node& node = nodes_[index];
  if (node.is_listed) return node.edges;
  node.is_listed = true;
  for (ArrangementMove& move : MovesFrom(problem_, node.arrangement, MoveChoice::kAll)) {
    const size_t to = NodeOf(move.result);
    const double price = PriceOf(problem_, move, node.bytes, nodes_[to].bytes);
    node.edges.push_back({.move = std::move(move), .price = price, .to = to});
  }
  return node.edges;
}

FoundPath ArrangementGraphs::CheapestPath(const Problem& problem) {
  Key key(problem.type.dtype, problem.type.shape, {});
  for (const Atom& atom : problem.atoms) {
    const MeshAxis& axis = problem.mesh.axis(atom.axes.front());
    std::get<2>(key).push_back({axis.weight, axis.link, atom.size, atom.reduction});
  }
  return graphs_.try_emplace(std::move(key), problem).first->second.CheapestPath(problem.source, problem.target);
}

}  // namespace cleave::ir
