// The unknown sizes of a graph: factors of ops that its shapes tie together, and the small sizes chosen for them.
#ifndef CLEAVE_IR_PROOF_CHECK_SIZE_CLASSES_H_
#define CLEAVE_IR_PROOF_CHECK_SIZE_CLASSES_H_

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/tensor/rule/rule.h"

namespace cleave::ir {

class SizeClasses {
 public:
  // Ties the factors of every op to those of the ops whose values it reads. `rules` holds one rule per op.
  SizeClasses(const Graph& graph, const std::vector<Rule>& rules);

  // Notes that some step cuts this factor into `pieces`, and on the shortened mesh into `new_pieces`.
  void AddCut(OpId op, int factor, int64_t pieces, int64_t new_pieces);

  // Call once, after all AddCut.
  void ChooseSizes();

  // REQUIRES: ChooseSizes was called.
  int64_t NewSize(OpId op, int factor);

 private:
  // The size of a class may be the product of others: a dimension that is one factor for one op and several for
  // another.
  struct Product {
    int whole;
    std::vector<int> parts;
  };
  struct SizeClass {
    int64_t original = 1;
    int64_t size = 1;
    bool fixed = false;
    std::set<std::pair<int64_t, int64_t>> cuts;  // (pieces, new pieces)
  };

  int Root(int node);
  int Node(OpId op, int factor) const { return first_node_[op] + factor; }
  void Unite(int a, int b);
  void Tie(std::vector<int> a, std::vector<int> b);
  // Ties the dimensions in which `op` reads its input to those in which that value was made.
  void TieInput(const Rule& producer, const Rule& consumer, const Op& op, int input);
  std::vector<int> Nodes(OpId op, const FactorList& factors) const;
  static bool Keeps(const SizeClass& size_class, int64_t size);
  int64_t SmallSize(const SizeClass& size_class) const;
  bool ApplyProducts();
  void Fix(int root);

  IdVector<OpId, int> first_node_;
  std::vector<int> parent_;
  std::vector<SizeClass> classes_;  // By root node.
  std::vector<Product> products_;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_SIZE_CLASSES_H_
