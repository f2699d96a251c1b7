// Expressions for sizes and places of local pieces.
//
// A dimension that no axis cuts is a number. One that is cut evenly is a constant that all ranks share, `k256By4`;
// where pieces differ, or their beginning is needed, it is a Range of the rank, `piece_256_m0`, computed from the
// rank's coordinates; so is the part of a dimension that a rank reads in windows, `window_28_m0`. When the program is
// for one rank alone, everything is a number. A Range of samples changes with the micro-batch.
#ifndef CLEAVE_CODEGEN_SOURCE_SIZES_H_
#define CLEAVE_CODEGEN_SOURCE_SIZES_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/cpp/cpp.h"
#include "ir/program/program.h"

namespace cleave::codegen {

// A product of sizes: a number times symbols.
class SizeProduct {
 public:
  SizeProduct() = default;
  explicit SizeProduct(int64_t number) : number_(number) {}

  SizeProduct& operator*=(const SizeProduct& other);
  friend SizeProduct operator*(SizeProduct a, const SizeProduct& b) { return a *= b; }
  // `value` is known where it is a constant of the program.
  static SizeProduct Symbol(cpp::Expr symbol, std::optional<int64_t> value = std::nullopt) {
    SizeProduct product;
    product.symbols_.push_back({std::move(symbol), value});
    return product;
  }

  cpp::Expr Value() const;  // "k256By4 * 512", "131072"
  bool is_one() const { return number_ == 1 && symbols_.empty(); }

  // Whether it is a constant, the same on every rank.
  bool is_constant() const;
  // Whether it is known to be a multiple of `divisor` on every rank.
  bool IsMultipleOf(int64_t divisor) const { return ConstantFactor() % divisor == 0; }

 private:
  struct SymbolOf {
    cpp::Expr symbol;
    std::optional<int64_t> value;
  };
  int64_t ConstantFactor() const;

  int64_t number_ = 1;
  std::vector<SymbolOf> symbols_;
};

// A Window of runtime/mesh: "Window{28, 14, 2, 1, -1, 1}".
cpp::Expr WindowOf(const ir::Window& window);

// "a + number - b", with whole numbers put together and without what is 0.
cpp::Expr Difference(const cpp::Expr& a, const cpp::Expr& number, const cpp::Expr& b);

// "{0, 1}"
cpp::Expr AxisListOf(const ir::AxisList& axes);

class Sizes {
 public:
  Sizes(const ir::Program& program, std::optional<int> rank, Identifiers& identifiers);

  // The number of elements of dimension `d` of the value's local piece, and the index of its first element in the whole
  // tensor.
  SizeProduct Size(ir::ValueId value, int d);
  cpp::Expr Begin(ir::ValueId value, int d);
  int64_t Whole(ir::ValueId value, int d) const;  // Elements of the dimension in the whole tensor.

  // Both, as a Range of the runtime: "window_28_m0", "{0, 28}".
  cpp::Expr Range(ir::ValueId value, int d);

  // The same for `elements` cut by `axes`, major first.
  SizeProduct PieceSize(int64_t elements, const ir::AxisList& axes);
  cpp::Expr PieceBegin(int64_t elements, const ir::AxisList& axes);

  // Whether all ranks hold local pieces of the same size.
  bool IsEven(ir::ValueId value) const;

  SizeProduct Count(ir::ValueId value);                        // Elements of the local piece.
  SizeProduct CountOf(ir::ValueId value, int begin, int end);  // Of dimensions [begin, end) of it.
  // Lists of the dimensions from `first` on.
  cpp::Expr ShapeList(ir::ValueId value, int first = 0);             // "{k256By4, 512}"
  cpp::Expr WholeShapeList(ir::ValueId value, int first = 0) const;  // "{256, 512}"
  cpp::Expr BeginList(ir::ValueId value, int first = 0);
  cpp::Expr Region(ir::ValueId value, int first = 0);  // A Region of runtime/mesh.
  cpp::Expr LayoutOf(ir::ValueId value) const;         // "TensorLayout{{256, 512}, {{0}}}"

  // The rank's row-major index on the axes: "m0 * 2 + m1".
  cpp::Expr Index(const ir::AxisList& axes);

  // The name of an axis's coordinate.
  const std::string& AxisName(ir::AxisId axis) const { return axis_names_[static_cast<size_t>(axis.value())]; }

  // What the expressions so far use.
  struct Constant {
    std::string name;
    int64_t elements;
    int64_t pieces;
  };
  std::vector<Constant> Constants() const;
  struct PieceDeclaration {
    std::string name;
    cpp::Expr value;  // "Piece(256, 4, m0 * 2 + m1)"
    bool of_micro_batch = false;
  };
  const std::vector<PieceDeclaration>& Pieces() const { return pieces_; }
  const std::set<ir::AxisId>& UsedAxes() const { return used_axes_; }  // Of ranks.
  bool folded() const { return rank_.has_value(); }
  std::optional<int> rank() const { return rank_; }

 private:
  bool DependsOnTime(const ir::AxisList& axes) const;
  // Whether what these axes cut is a number.
  bool IsFolded(const ir::AxisList& axes) const;
  // The rank's index on the axes. REQUIRES: IsFolded.
  int64_t FoldedIndex(const ir::AxisList& axes) const;
  const ir::AxisList& Axes(ir::ValueId value, int d) const;
  const cpp::Expr& PieceName(int64_t elements, const ir::AxisList& axes);
  const cpp::Expr& WindowName(const ir::Window& window, const ir::AxisList& axes);
  // Declares a Range of the rank. Returns its name.
  cpp::Expr Declared(absl::string_view kind, int64_t elements, const ir::AxisList& axes, cpp::Expr value);
  // The part of a dimension that the rank reads. REQUIRES: folded().
  ir::Piece FoldedWindow(const ir::Window& window, const ir::AxisList& axes) const;

  const ir::Program& program_;
  std::optional<int> rank_;
  Identifiers& identifiers_;
  std::vector<std::string> axis_names_;
  std::set<std::pair<int64_t, int64_t>> constants_;  // Elements, number of pieces.
  std::map<std::pair<int64_t, ir::AxisList>, cpp::Expr> piece_names_;
  std::map<std::string, cpp::Expr> window_names_;  // By the initializer.
  std::vector<PieceDeclaration> pieces_;
  std::set<ir::AxisId> used_axes_;
};

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_SIZES_H_
