// The arrangements of a few atoms as graphs, in which the cheapest path between any two is found.
//
//   ArrangementGraphs graphs;
//   graphs.CheapestPath(problem).moves
//
// Problems of one tensor type with equal atoms share a graph, and those of all types the moves of an arrangement, which
// are listed once, when a path first comes to it: a size changes only what they cost. For each source Dijkstra's
// algorithm goes on from where it stopped until the target is settled, and what leads to a settled arrangement stays.
// So an answer does not depend on what was asked before. A graph has all arrangements of its atoms, three atoms in four
// dimensions for example about 200 with 20 moves each, and up to as many sources: it is for few atoms. Not thread-safe.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_GRAPH_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/program/redistribute/arrangement.h"
#include "ir/program/redistribute/moves.h"
#include "ir/program/redistribute/path.h"

namespace cleave::ir {

// Of the problems with equal atoms and as many dimensions.
class ArrangementMoves {
 public:
  struct Edge {
    ArrangementMove move;
    size_t to = 0;
  };

  explicit ArrangementMoves(const Problem& problem) : problem_(problem) {}

  size_t NodeOf(const Arrangement& arrangement);
  const Arrangement& arrangement(size_t node) const { return nodes_[node].arrangement; }
  const std::vector<Edge>& EdgesOf(size_t node);

 private:
  struct Node {
    Arrangement arrangement;
    bool is_listed = false;
    std::vector<Edge> edges = {};  // Once they are listed.
  };

  Problem problem_;         // Any of them: moves do not depend on source, target and sizes.
  std::deque<Node> nodes_;  // A deque, because edges are read while more nodes are added.
  absl::flat_hash_map<Arrangement, size_t> index_;
};

// Of the problems of one type with equal atoms.
class ArrangementGraph {
 public:
  // `moves`: of these atoms; it outlives the object.
  ArrangementGraph(const Problem& problem, ArrangementMoves& moves) : problem_(problem), moves_(&moves) {}

  FoundPath CheapestPath(const Arrangement& source, const Arrangement& target);

 private:
  // The best path to an arrangement so far; the best of all once it is settled.
  struct Label {
    PathCost cost;
    PathOrder order;
    size_t before = 0;  // The arrangement from which the last edge leads here.
    size_t edge = 0;
    bool is_reached = false;
    bool is_settled = false;
  };

  // The paths from one source.
  struct Tree {
    struct Entry {
      PathOrder order;
      int64_t number = 0;  // Of equal ones the one that was reached first.
      size_t node = 0;

      auto operator<=>(const Entry&) const = default;
    };

    std::vector<Label> labels;  // By node.
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> reached;
    int64_t entries = 0;  // That `reached` has had.
  };

  // What an arrangement costs, once it is asked for.
  struct Costs {
    std::optional<double> bytes;  // Of the largest local piece.
    std::vector<double> prices;   // Of its edges.
    std::unique_ptr<Tree> tree;   // Of the paths from here.
  };

  Costs& CostsOf(size_t node);
  double BytesOf(size_t node);
  const std::vector<double>& PricesOf(size_t node);
  void Settle(Tree& tree, size_t node);
  void Reach(Tree& tree, size_t node, const Label& label);

  Problem problem_;  // Any of them: prices do not depend on source and target.
  ArrangementMoves* moves_;
  std::deque<Costs> costs_;  // By node; a deque, because they are read while there are more.
};

class ArrangementGraphs {
 public:
  // Of the paths that cost least one with the fewest collectives, of these one with the fewest moves, and of these the
  // one that is found first: arrangements are settled in the order in which they were reached, and each reaches others
  // in the order of MovesFrom. REQUIRES: `problem` is of ProblemSize::kShared; its mesh is that of all problems, and
  // outlives the object.
  FoundPath CheapestPath(const Problem& problem);

 private:
  // What moves and their prices depend on: besides the type of each atom the weight, the link, the size and how it is
  // reduced.
  using Atoms = std::vector<std::tuple<double, std::string, int64_t, Reduction>>;

  absl::flat_hash_map<std::pair<size_t, Atoms>, std::unique_ptr<ArrangementMoves>> moves_;  // By rank and atoms.
  absl::flat_hash_map<std::tuple<DType, Shape, Atoms>, ArrangementGraph> graphs_;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_GRAPH_H_
