#include "ir/program/redistribute/graph.h"

#include <algorithm>

#include "base/check/check.h"

namespace cleave::ir {

size_t ArrangementMoves::NodeOf(const Arrangement& arrangement) {
  const auto [found, is_new] = index_.try_emplace(arrangement, nodes_.size());
  if (is_new) nodes_.push_back({.arrangement = arrangement});
  return found->second;
}

const std::vector<ArrangementMoves::Edge>& ArrangementMoves::EdgesOf(size_t index) {
  Node& node = nodes_[index];
  if (node.is_listed) return node.edges;
  node.is_listed = true;
  std::vector<ArrangementMove> moves = MovesFrom(problem_, node.arrangement, MoveChoice::kAll);
  node.edges.reserve(moves.size());
  for (ArrangementMove& move : moves) {
    const size_t to = NodeOf(move.result);
    node.edges.push_back({.move = std::move(move), .to = to});
  }
  return node.edges;
}

FoundPath ArrangementGraph::CheapestPath(const Arrangement& source, const Arrangement& target) {
  const size_t first = moves_->NodeOf(source), last = moves_->NodeOf(target);
  std::unique_ptr<Tree>& tree = CostsOf(first).tree;
  if (tree == nullptr) {
    tree = std::make_unique<Tree>();
    Reach(*tree, first, {});
  }
  Settle(*tree, last);
  const PathCost& cost = tree->labels[last].cost;
  FoundPath path{.moves = {}, .cost = cost.bytes, .collectives = cost.collectives, .is_cheapest = true};
  for (size_t node = last; node != first; node = tree->labels[node].before) {
    const Label& label = tree->labels[node];
    path.moves.push_back(moves_->EdgesOf(label.before)[label.edge].move);
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
    const std::vector<ArrangementMoves::Edge>& edges = moves_->EdgesOf(node);
    const std::vector<double>& prices = PricesOf(node);
    for (size_t i = 0; i < edges.size(); ++i) {
      const PathCost next = cost.After(edges[i].move, prices[i]);
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

ArrangementGraph::Costs& ArrangementGraph::CostsOf(size_t node) {
  if (node >= costs_.size()) costs_.resize(node + 1);
  return costs_[node];
}

double ArrangementGraph::BytesOf(size_t node) {
  std::optional<double>& bytes = CostsOf(node).bytes;
  if (!bytes.has_value()) bytes = problem_.LocalBytes(moves_->arrangement(node));
  return *bytes;
}

const std::vector<double>& ArrangementGraph::PricesOf(size_t node) {
  const std::vector<ArrangementMoves::Edge>& edges = moves_->EdgesOf(node);
  std::vector<double>& prices = CostsOf(node).prices;
  if (prices.size() == edges.size()) return prices;
  prices.reserve(edges.size());
  const double bytes = BytesOf(node);
  for (const ArrangementMoves::Edge& edge : edges) {
    prices.push_back(PriceOf(problem_, edge.move, bytes, BytesOf(edge.to)));
  }
  return prices;
}

FoundPath ArrangementGraphs::CheapestPath(const Problem& problem) {
  Atoms atoms;
  for (const Atom& atom : problem.atoms) {
    const MeshAxis& axis = problem.mesh.axis(atom.axes.front());
    atoms.push_back({axis.weight, axis.link, atom.size, atom.reduction});
  }
  auto graph = graphs_.find(std::tie(problem.type.dtype, problem.type.shape, atoms));
  if (graph == graphs_.end()) {
    std::unique_ptr<ArrangementMoves>& moves = moves_[{problem.type.shape.size(), atoms}];
    if (moves == nullptr) moves = std::make_unique<ArrangementMoves>(problem);
    graph = graphs_.try_emplace({problem.type.dtype, problem.type.shape, std::move(atoms)}, problem, *moves).first;
  }
  return graph->second.CheapestPath(problem.source, problem.target);
}

}  // namespace cleave::ir
