// The unknown sizes of a graph: dimensions and factors of ops that its shapes tie together, and the small sizes and
// windows chosen for them.
//
// Sizes that must be equal are one class. The others hang together in four ways, whichever ops they come from:
//   product    a dimension is one factor for one op and several for another
//   sum        a dimension is cut at places (a slice's begin and end, the borders of what is concatenated or padded)
//              into segments, and what is cut out of it is a run of segments
//   sliding    places of a kernel over elements: elements = (places - 1) * stride + span - 2 * padding + rest; so are
//              those of the largest of `stride` pieces of the elements
//   selection  k of n elements: a segment of a dimension
// Parts of one whole that have the same sizes, in the same order, are the same parts.
//
// All classes start with their smallest sizes; those in sums and slidings with numbers that leave the same rest as the
// original ones by the numbers of pieces of all that depends on them, so that what is even stays even in all of them
// together (ChooseModuli). Wherever such an equation does not hold, one of its sizes grows, until all hold. A size
// never becomes larger than the original one; where that does not suffice, the sizes of the equation are fixed to the
// original ones, for which it holds, and all begins again.
#ifndef CLEAVE_IR_PROOF_CHECK_SIZE_CLASSES_H_
#define CLEAVE_IR_PROOF_CHECK_SIZE_CLASSES_H_

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/tensor/rule/rule.h"

namespace cleave::ir {

// An op that reads or writes rows of a table, its first input, at the distinct ones of some numbers.
struct RowAccess {
  OpId op;
  OpId numbers;
};
std::vector<RowAccess> RowAccesses(const Graph& graph);

class SizeClasses {
 public:
  // Ties the factors of every op to those of the ops whose values it reads. `rules` holds one rule per op.
  SizeClasses(const Graph& graph, const std::vector<Rule>& rules);

  // Notes that some step cuts this factor into `pieces`, and on the shortened mesh into `new_pieces`. So are the
  // dimensions cut that the op reads in windows of the factor, before their windows are exchanged.
  void AddCut(OpId op, int factor, int64_t pieces, int64_t new_pieces);
  // Notes that the factor is a part of a compound dimension and must be divisible by `pieces`, which divides its
  // original size.
  void AddDivisor(OpId op, int factor, int64_t pieces);
  // Notes that the factor must keep its size.
  void Keep(OpId op, int factor) { Fix(Node(op, factor)); }

  // Call once, after all AddCut. Without it, all sizes are the original ones.
  void ChooseSizes();

  // The rule of an op with the sizes and windows chosen.
  Rule Resized(OpId op, const Rule& rule) const;

 private:
  struct SizeClass {
    int64_t original = 1;
    int64_t size = 1;
    bool fixed = false;                          // To the original size.
    bool is_given = false;                       // By the kernel that was chosen.
    bool is_segment = false;                     // Only between two places; no dimension has this size.
    bool is_linear = false;                      // In a sum or a sliding.
    bool is_slid = false;                        // In a sliding: strides multiply it.
    std::set<std::pair<int64_t, int64_t>> cuts;  // (pieces, new pieces)
    int64_t divisor = 1;                         // Of the original size and of all that it may become.
    int64_t modulus = 1;                         // The size leaves the same rest by it as the original one.
  };
  struct Product {
    int whole;
    std::vector<int> parts;
  };
  struct Sum {
    int whole;
    std::vector<int> segments;
  };
  // Elements [begin, end) of `whole` are `part`.
  struct Part {
    int whole;
    int part;
    int64_t begin;
    int64_t end;
    std::vector<int> before = {};  // The segments in front of it.
  };
  // The first op that reads these windows of a value: its factor, and its slide if they are those of a kernel.
  struct Reader {
    int factor;
    int slide = -1;
  };
  struct Slide {
    int elements;
    int places;
    int taps;  // -1: the kernel's elements are no dimension.
    Sliding original;
    Sliding sliding;
    int64_t rest;     // Last elements at which the kernel does not look.
    int attempt = 0;  // Of SmallSliding.
  };
  // A dimension that an op reads in windows of a factor, and its place in parts_ or slides_; -1 where it has none.
  struct WindowedInput {
    int elements;
    int factor;
    int part = -1;
    int slide = -1;
  };

  int AddNode(int64_t original, bool fixed);
  int Root(int node) const;
  SizeClass& Class(int node) { return classes_[static_cast<size_t>(Root(node))]; }
  const SizeClass& Class(int node) const { return classes_[static_cast<size_t>(Root(node))]; }
  int Node(OpId op, int factor) const { return first_node_[op] + factor; }
  std::vector<int> Nodes(OpId op, const FactorList& factors) const;
  void Unite(int a, int b);
  void Tie(std::vector<int> a, std::vector<int> b);
  // Ties the rows of a table to those of its states: the same distinct numbers choose them.
  void TieRows(const Graph& graph, const std::vector<Rule>& rules);
  // Ties the dimensions in which `op` reads its input to those in which that value was made.
  void TieInput(const Rule& producer, const Rule& consumer, const Op& op, int input);
  // Where an op selects some of the candidates of all pieces: as many as each piece gives.
  void TieCandidates(const Rule& producer, const Rule& consumer, const Op& op, int input, const Selection& selection);
  void TieWindow(const InputWindow& entry, const Op& op, int factor, std::vector<int> made);
  int AddSelection(int part, int whole, int64_t begin);  // Returns its place in parts_.
  int AddPart(const Window& window, int factor, int elements);
  int AddSlide(const InputWindow& entry, const Op& op, int factor, int elements);
  void AddLargestPiece(const Sliding& sliding, int elements, int largest);
  void AddReader(int slide, Reader& first);
  // Where a part of parts_ begins, with the sizes chosen.
  int64_t BeginOf(int part) const;

  // Unites parts that are the same part of the same dimension: where a dimension is broken up in the same way twice.
  void UniteEqualParts();
  // Cuts every dimension of which there are parts into segments.
  void AddSegments();
  // Chooses small kernels; false if that fixed a size.
  bool ChooseSlidings();
  // Gives an equation that cannot hold another kernel; false if it has its original one.
  bool TryAnother(const Slide& slide);

  static int64_t KeptCuts(const SizeClass& size_class, int64_t size);
  int64_t SmallSize(const SizeClass& size_class, int64_t least) const;
  // Finds the rests that sizes in sums and slidings must keep so that sums, products and multiples of them are cut as
  // the original ones. Numbers of pieces are the moduli of what is cut. From there they spread, to all sizes of a sum,
  // from the elements under a kernel to its places, and from a whole to its parts, without what a stride or another
  // part brings. What nothing that is cut depends on keeps no rest. On a shortened mesh nothing does: the same pieces
  // are other numbers there.
  void ChooseModuli();
  // Where no sizes keep all cuts: whether it helps to keep fewer.
  bool Relax();
  void Fix(int node);

  // Each returns false if the equation cannot hold with the sizes that are fixed.
  bool Grow(int node, int64_t least);
  bool Solve(const Product& product);
  bool Solve(const Sum& sum);
  bool Solve(const Slide& slide);
  // Tries to make all equations hold. Fixes sizes and returns false where that fails.
  bool SolveAll();

  IdVector<OpId, int> first_node_;
  std::vector<int> parent_;
  std::vector<SizeClass> classes_;  // By root node.
  std::vector<Product> products_;
  std::vector<Part> parts_;
  std::vector<Sum> sums_;
  std::vector<Slide> slides_;
  // By op, input and dimension.
  std::map<std::tuple<OpId, int, int>, WindowedInput> windows_;
  // Places in parts_, by op; in the order of its selections.
  std::map<OpId, std::vector<int>> selections_;
  // By the value's op, its dimension and the window. Who reads the same windows has as many of them.
  std::map<std::tuple<OpId, int, std::vector<int64_t>>, Reader> readers_;
  bool is_shortened_ = false;
  bool is_relaxed_ = false;  // Linear sizes need not keep their cuts.
  bool changed_ = false;     // Since the last round of equations.
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_SIZE_CLASSES_H_
