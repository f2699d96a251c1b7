// The calls of the runtime that compute an op, as values. The definition of an op says which function is called with
// which arguments. Only codegen knows the names of tensors, sizes and places in a program, and writes the text
// (codegen/source/kernels.cc).
//
//   std::vector<KernelCall> SoftmaxCalls(const CallSite& site) {
//     return {{"Softmax", {Pointer{0}, site.Rows(0), site.Columns(0), Pointer{kResult}}}};
//   }
//
// A tensor is named by its place among the inputs, and the computed value by kResult. Sizes and indexes are those of
// the piece that a rank holds, which follow from the plan: a definition names the dimension, and never the number.
#ifndef CLEAVE_IR_GRAPH_OPS_KERNEL_CALL_H_
#define CLEAVE_IR_GRAPH_OPS_KERNEL_CALL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

// The value that the op computes, used in place of the number of an input.
inline constexpr int kResult = -1;

// The value of a companion of the op, by its place among OpDefinition::companions. Tensors that only companions read
// are numbered behind the inputs of the op. A call names both in a Pointer only.
constexpr int ResultOf(int companion) { return kResult - 1 - companion; }

// The number of the companion whose value ResultOf names; nullopt for other tensors.
constexpr std::optional<int> CompanionOf(int tensor) {
  return tensor < kResult ? std::optional<int>(kResult - 1 - tensor) : std::nullopt;
}

// Dimension `dimension` of a tensor's local piece.
struct LocalDimension {
  int tensor = 0;
  int dimension = 0;
};

// The product of the sizes of these dimensions; 1 without any.
struct LocalSize {
  std::vector<LocalDimension> dimensions;
};
LocalSize operator*(LocalSize a, const LocalSize& b);

// The place of the local piece of a tensor. In a repeated call, each repetition moves on by `step` elements.
struct Pointer {
  int tensor = 0;
  std::optional<LocalSize> step = {};
};

// The first of these tensors that the call reads or writes, of which some may be there in its place of others; a null
// pointer where none is.
struct FirstPointer {
  std::vector<int> tensors;
};

// Pointer to the value of a companion that comes early (Companion::comes_early); a null pointer in a pass without
// gradients, which must leave what that value would be written over as it is. Where the companion is of the pass of the
// op itself, it is a Pointer like others.
struct ResultWithGradients {
  int companion = 0;
};

// In place of a tensor that is not there: a null pointer.
struct NoTensor {};

// A scalar input, which the function takes as a place or as a number: for a constant it needs no memory.
struct ScalarInput {
  int input = 0;
};

// The index of the piece's first element in the whole dimension.
struct FirstIndex {
  LocalDimension of;
};

// First index and size of the piece, as a Range of the runtime.
struct LocalRange {
  LocalDimension of;
};

// The first index of `from`, plus `number`, less the first index of `to`.
struct IndexDifference {
  LocalDimension from;
  int64_t number = 0;
  LocalDimension to;
};

// The pieces, out of `pieces` of a whole, that the rank has because axes cut factor `factor` of the op's rule: the
// number of the first, and how many there are.
struct FirstPiece {
  int factor = 0;
  int64_t pieces = 1;
};
struct PieceCount {
  int factor = 0;
  int64_t pieces = 1;
};

// The sizes of all dimensions of the local piece.
struct LocalSizes {
  int tensor = 0;
};

// The channels of a small block, of images that lie in blocks of channels: [n, c / 16, h, w, 16] instead of [n, c, h,
// w].
inline constexpr int64_t kBlockChannels = 16;

// The sizes of all dimensions of the local piece as it lies in memory, also of an image in blocks of channels.
struct StoredSizes {
  int tensor = 0;
};

// Which of the images that the function takes lie in blocks of channels, as ImageBlocks of the runtime. Those of one
// side lie alike. As the last argument it is left out where none do.
struct ImageSides {
  std::vector<int> x;
  std::vector<int> y;
  bool in_small_blocks = true;  // Also in blocks of kBlockChannels; else only in one block of all channels.
};

// The whole shape, first indexes and sizes, as a Region of the runtime, of the dimensions from `first_dimension` on.
struct LocalRegion {
  int tensor = 0;
  int first_dimension = 0;
};

// A number for each rank; `name` is its name if the program keeps a table.
struct RankNumber {
  std::vector<int64_t> by_rank;
  std::string name;
};

// Zero in the element type of a tensor.
struct ZeroElement {
  int tensor = 0;
};

// A real number that the function takes in f32, or in double.
struct FloatNumber {
  double value = 0;
};
struct DoubleNumber {
  double value = 0;
};

// Values that every program has.
enum class RunValue { kSeed, kStep };

struct Field;

// Values in braces.
struct BracedList {
  std::vector<Field> fields;
};

using CallArgument =
    std::variant<Pointer, FirstPointer, ResultWithGradients, NoTensor, ScalarInput, LocalSize, FirstIndex, LocalRange,
                 IndexDifference, FirstPiece, PieceCount, LocalSizes, StoredSizes, ImageSides, LocalRegion, RankNumber,
                 ZeroElement, FloatNumber, DoubleNumber, RunValue, bool, int64_t, std::string, BracedList>;

// One value in braces: `.stride = 2`. A field whose default in the runtime is `default_number` is left out if it has
// that value.
struct Field {
  CallArgument value;
  std::string name = {};  // Empty: by its place.
  std::optional<int64_t> default_number = {};
};

struct KernelCall {
  std::string function;
  std::vector<CallArgument> arguments;
  LocalSize repetitions = {};  // How often the call is made.
  std::string header = {};     // The model's own header that declares it; empty for functions of the runtime.
  // The function that can also add to what the result holds, where there is one: before the same arguments it takes
  // whether the result holds nothing yet.
  std::string accumulating = {};
};

// What a definition knows about the op for which it gives the calls.
struct CallSite {
  absl::Span<const TensorType> inputs;  // Whole, as are all types here.
  const TensorType& output;
  const Attributes& attributes;
  bool is_manual = false;  // The op belongs to a manual model: every rank has its own whole tensors.
  // The companions that the call computes as well, by OpDefinition::companions; empty: none.
  absl::Span<const std::optional<int>> companions = {};

  bool Has(int companion) const {
    return !companions.empty() && companions[static_cast<size_t>(companion)].has_value();
  }

  const TensorType& type(int tensor) const { return tensor == kResult ? output : inputs[static_cast<size_t>(tensor)]; }
  // The number of elements of a tensor's piece: in the dimensions [begin, end), in all, in all except the last, in the
  // last.
  LocalSize Elements(int tensor, int begin, int end) const;
  LocalSize Elements(int tensor) const { return Elements(tensor, 0, type(tensor).rank()); }
  LocalSize Rows(int tensor) const { return Elements(tensor, 0, type(tensor).rank() - 1); }
  LocalSize Columns(int tensor) const { return {{Last(tensor)}}; }
  LocalDimension Last(int tensor) const { return {tensor, type(tensor).rank() - 1}; }
  // Pointers to all inputs, in order.
  std::vector<CallArgument> Inputs() const;
};

// Numbers in braces: "{0, 2}".
BracedList NumberList(absl::Span<const int64_t> numbers);

// For OpDefinition::calls of ops over the rows of their first input: function(inputs…, rows, columns, more…, result).
std::vector<KernelCall> RowsCall(const CallSite& site, std::string function,
                                 const std::vector<CallArgument>& more = {});

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_KERNEL_CALL_H_
