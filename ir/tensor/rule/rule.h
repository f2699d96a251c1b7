// Sharding rules: an op's index factors, as in einsum. For a matmul of [i, k] and [k, j] the rule is "i k, k j -> i j".
//
// From the rule alone follow the strategies that an op has, which results are partial, and how a layout passes through
// the op. A tensor dimension is a list of factors, major first: usually one; several for a compound dimension such as
// the `(a b)` of a reshape; none for a dimension of size 1 that is broadcast.
#ifndef CLEAVE_IR_TENSOR_RULE_RULE_H_
#define CLEAVE_IR_TENSOR_RULE_RULE_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "ir/tensor/piece/piece.h"
#include "ir/tensor/piece/sliding.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

enum class FactorKind {
  kParallel,  // In the output: cutting it cuts the work.
  kReduced,   // Only in inputs: cutting it leaves each rank a partial result.
  kWhole,     // Must not be cut: the op has no form along it.
  kInner,  // Cut only in the op's distributed form (OpDefinition::distribute), which reduces inside: a softmax's row.
           // In the output or not; axes that cut it repeat the work on outputs that do not have it.
};

struct Factor {
  std::string name;  // "i", "j", "k", "b" for matmul; short, unique in the rule.
  FactorKind kind = FactorKind::kParallel;
  int64_t size = 1;
  Reduction reduction = Reduction::kSum;  // Of a reduced factor.
  // The meaning of the op depends on this exact size (the two halves of a rope), so the proof never shrinks it.
  bool fixed_size = false;
  // Into more pieces it must not be cut: the distributed form would have a value that is too large to be counted.
  int64_t max_pieces = std::numeric_limits<int64_t>::max();
  bool equal_pieces = false;  // Of which it is cut into, all have one size: their number divides that of elements.

  bool operator==(const Factor&) const = default;
};

// Indexes into Rule::factors, major first.
using FactorList = absl::InlinedVector<int, 4>;

// Why a dimension is read in windows. It says how the size of the dimension, that of its factor and the numbers of the
// window belong together.
enum class WindowCause {
  kShift,    // One of the two is a part of the other, from where the window says: slice, pad, concat.
  kKernel,   // The factor counts the places of a kernel that slides over the dimension.
  kPlaces,   // The dimension counts the places of a kernel that slides over the factor: the gradient of kKernel.
  kPieces,   // The factor counts pieces of the dimension.
  kPieceOf,  // The dimension counts pieces of the factor.
};

// An input's dimension that is read in windows of its factor: the axes that cut the factor (a convolution's output
// rows) cut what is read of the dimension (its input rows). The dimension names that one factor alone, and its size is
// the window's.
struct InputWindow {
  int input = 0;
  int dimension = 0;
  Window window;
  WindowCause cause = WindowCause::kShift;
  // Of a kernel. Of pieces, where `taps` are the elements of the largest one: its stride is the number of pieces.
  Sliding sliding = {};
  // The factor that counts the kernel's elements, or with kPieces and kPieceOf what is taken of the dimension; -1
  // where there is none.
  int taps = -1;

  bool operator==(const InputWindow&) const = default;
};

// The windows through which places of a kernel read `elements` elements, and elements their places.
InputWindow KernelWindow(int input, int dimension, const Sliding& sliding, int64_t elements, int64_t places);
InputWindow PlacesWindow(int input, int dimension, const Sliding& sliding, int64_t elements, int64_t places);

// Factor `part` counts elements of factor `whole` from `begin` on, perhaps in another order: the k largest of n.
struct Selection {
  int part = 0;
  int whole = 0;
  int64_t begin = 0;

  bool operator==(const Selection&) const = default;
};

struct Rule {
  std::vector<Factor> factors;
  std::vector<std::vector<FactorList>> inputs;  // [input][dimension]
  std::vector<FactorList> output;               // [dimension]
  // Groups of inputs in which the op is linear while the other inputs are constant. A partial sum of all inputs of one
  // group at once passes through and makes the output partial. add: {{0, 1}}; mul: {{0}, {1}}; matmul: {{0}, {1}};
  // relu: {}.
  std::vector<std::vector<int>> linear;
  std::vector<InputWindow> windows = {};  // Ordered by input and dimension.
  std::vector<Selection> selections = {};

  // Null where the dimension is read by pieces.
  const Window* WindowOf(int input, size_t dimension) const;

  // Whether the factor may have another size while all other numbers stay as they are.
  bool IsFree(int factor) const;

  // The sizes of the dimensions of an input, and of the output.
  Shape InputShape(int input) const;
  Shape OutputShape() const;

  // "i k, k j -> i j"; compound dimensions stand in parentheses, broadcast ones are "1", windowed ones "h~".
  std::string ToString() const;

  bool operator==(const Rule&) const = default;
};

// Checks that every factor has the same size in every tensor that names it, that reduced factors are in no output and
// parallel ones are in the output, and that the sizes of dimensions are the products of their factors, or the sizes of
// their windows. Returns what is wrong, or an empty string.
std::string FindRuleError(const Rule& rule, const std::vector<Shape>& inputs, const Shape& output);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TENSOR_RULE_RULE_H_
