#include "codegen/source/sizes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace cleave::codegen {

SizeProduct& SizeProduct::operator*=(const SizeProduct& other) {
  number_ *= other.number_;
  symbols_.insert(symbols_.end(), other.symbols_.begin(), other.symbols_.end());
  return *this;
}

std::string SizeProduct::Text() const {
  if (symbols_.empty() || number_ == 0) return absl::StrCat(number_);
  const std::string symbols = absl::StrJoin(
      symbols_, " * ", [](std::string* out, const SymbolOf& symbol) { absl::StrAppend(out, symbol.text); });
  return number_ == 1 ? symbols : absl::StrCat(symbols, " * ", number_);
}

std::string SizeProduct::FactorText() const {
  const bool product = number_ != 0 && symbols_.size() + (number_ != 1) > 1;
  return product ? absl::StrCat("(", Text(), ")") : Text();
}

bool SizeProduct::is_constant() const {
  return std::all_of(symbols_.begin(), symbols_.end(), [](const SymbolOf& symbol) { return symbol.value.has_value(); });
}

int64_t SizeProduct::ConstantFactor() const {
  int64_t factor = number_;
  for (const SymbolOf& symbol : symbols_) factor *= symbol.value.value_or(1);
  return factor;
}

Sizes::Sizes(const ir::Program& program, std::optional<int> rank, Identifiers& identifiers)
    : program_(program), rank_(rank), identifiers_(identifiers) {
  for (const ir::MeshAxis& axis : program.mesh.axes()) axis_names_.push_back(identifiers.Unique(axis.name));
}

bool Sizes::DependsOnTime(const ir::AxisList& axes) const {
  return std::any_of(axes.begin(), axes.end(), [&](ir::AxisId axis) { return axis == program_.time; });
}

bool Sizes::IsFolded(const ir::AxisList& axes) const { return rank_.has_value() && !DependsOnTime(axes); }

int64_t Sizes::FoldedIndex(const ir::AxisList& axes) const {
  return program_.mesh.Index(ir::AtMoment(program_, *rank_), axes);
}

int64_t Sizes::Whole(ir::ValueId value, int d) const {
  return program_.value(value).type.shape[static_cast<size_t>(d)];
}

const ir::AxisList& Sizes::Axes(ir::ValueId value, int d) const {
  return program_.value(value).layout.dimensions[static_cast<size_t>(d)];
}

SizeProduct Sizes::Size(ir::ValueId value, int d) {
  const ir::Window* window = program_.value(value).layout.WindowOf(static_cast<size_t>(d));
  if (window == nullptr) return PieceSize(Whole(value, d), Axes(value, d));
  if (IsFolded(Axes(value, d))) return SizeProduct(FoldedWindow(*window, Axes(value, d)).size);
  return SizeProduct::Symbol(absl::StrCat(WindowName(*window, Axes(value, d)), ".size"));
}

std::string Sizes::Begin(ir::ValueId value, int d) {
  const ir::Window* window = program_.value(value).layout.WindowOf(static_cast<size_t>(d));
  if (window == nullptr) return PieceBegin(Whole(value, d), Axes(value, d));
  if (IsFolded(Axes(value, d))) return absl::StrCat(FoldedWindow(*window, Axes(value, d)).begin);
  return absl::StrCat(WindowName(*window, Axes(value, d)), ".begin");
}

std::string Sizes::RangeText(ir::ValueId value, int d) {
  const std::string begin = Begin(value, d);
  absl::string_view name = begin;
  if (absl::ConsumeSuffix(&name, ".begin")) return std::string(name);
  return absl::StrCat("{", begin, ", ", Size(value, d).Text(), "}");
}

ir::Piece Sizes::FoldedWindow(const ir::Window& window, const ir::AxisList& axes) const {
  return window.Of(ir::PieceOf(window.outer, program_.mesh.Size(axes), FoldedIndex(axes)));
}

SizeProduct Sizes::PieceSize(int64_t elements, const ir::AxisList& axes) {
  if (axes.empty()) return SizeProduct(elements);
  const int64_t pieces = program_.mesh.Size(axes);
  if (IsFolded(axes)) return SizeProduct(ir::PieceOf(elements, pieces, FoldedIndex(axes)).size);
  if (elements % pieces != 0) return SizeProduct::Symbol(absl::StrCat(PieceName(elements, axes), ".size"));
  if (elements == pieces) return SizeProduct(1);
  constants_.insert({elements, pieces});
  return SizeProduct::Symbol(absl::StrCat("k", elements, "By", pieces), elements / pieces);
}

std::string Sizes::PieceBegin(int64_t elements, const ir::AxisList& axes) {
  if (axes.empty()) return "0";
  const int64_t pieces = program_.mesh.Size(axes);
  if (IsFolded(axes)) return absl::StrCat(ir::PieceOf(elements, pieces, FoldedIndex(axes)).begin);
  return absl::StrCat(PieceName(elements, axes), ".begin");
}

const std::string& Sizes::PieceName(int64_t elements, const ir::AxisList& axes) {
  const auto key = std::make_pair(elements, axes);
  const auto found = piece_names_.find(key);
  if (found != piece_names_.end()) return found->second;
  std::string name = absl::StrCat("piece_", elements);
  for (const ir::AxisId axis : axes) absl::StrAppend(&name, "_", AxisName(axis));
  name = identifiers_.Unique(name);
  pieces_.push_back(
      {.name = name,
       .value = absl::StrCat("Piece(", elements, ", ", program_.mesh.Size(axes), ", ", IndexText(axes), ")"),
       .of_micro_batch = DependsOnTime(axes)});
  return piece_names_[key] = name;
}

std::string WindowText(const ir::Window& window) {
  return absl::StrCat("Window{", window.elements, ", ", window.outer, ", ", window.numerator, ", ", window.denominator,
                      ", ", window.first, ", ", window.last, "}");
}

const std::string& Sizes::WindowName(const ir::Window& window, const ir::AxisList& axes) {
  const std::string& piece = PieceName(window.outer, axes);
  const std::string value = absl::StrCat(WindowText(window), ".Of(", piece, ")");
  const auto found = window_names_.find(value);
  if (found != window_names_.end()) return found->second;
  std::string name = absl::StrCat("window_", window.elements);
  for (const ir::AxisId axis : axes) absl::StrAppend(&name, "_", AxisName(axis));
  name = identifiers_.Unique(name);
  pieces_.push_back({.name = name, .value = value, .of_micro_batch = DependsOnTime(axes)});
  return window_names_[value] = name;
}

std::string Sizes::IndexText(const ir::AxisList& axes) {
  if (IsFolded(axes)) return absl::StrCat(FoldedIndex(axes));
  std::string text;
  for (const ir::AxisId axis : axes) {
    std::string coordinate = AxisName(axis);
    if (IsFolded({axis})) {
      coordinate = absl::StrCat(FoldedIndex({axis}));
    } else if (axis != program_.time) {
      used_axes_.insert(axis);
    }
    if (text.empty()) {
      text = std::move(coordinate);
      continue;
    }
    const bool sum = text.find('+') != std::string::npos;
    text = absl::StrCat(sum ? "(" : "", text, sum ? ")" : "", " * ", program_.mesh.axis(axis).size, " + ", coordinate);
  }
  return text.empty() ? "0" : text;
}

bool Sizes::IsEven(ir::ValueId value) const {
  for (int d = 0; d < program_.value(value).type.rank(); ++d) {
    if (program_.value(value).layout.WindowOf(static_cast<size_t>(d)) != nullptr) return false;
    if (Whole(value, d) % program_.mesh.Size(Axes(value, d)) != 0) return false;
  }
  return true;
}

SizeProduct Sizes::CountOf(ir::ValueId value, int begin, int end) {
  SizeProduct count;
  for (int d = begin; d < end; ++d) count *= Size(value, d);
  return count;
}

SizeProduct Sizes::Count(ir::ValueId value) { return CountOf(value, 0, program_.value(value).type.rank()); }

std::string Sizes::ShapeList(ir::ValueId value, int first) {
  std::vector<std::string> sizes;
  for (int d = first; d < program_.value(value).type.rank(); ++d) sizes.push_back(Size(value, d).Text());
  return absl::StrCat("{", absl::StrJoin(sizes, ", "), "}");
}

std::string Sizes::WholeShapeList(ir::ValueId value, int first) const {
  const absl::Span<const int64_t> shape = program_.value(value).type.shape;
  return absl::StrCat("{", absl::StrJoin(shape.subspan(static_cast<size_t>(first)), ", "), "}");
}

std::string Sizes::BeginList(ir::ValueId value, int first) {
  std::vector<std::string> begins;
  for (int d = first; d < program_.value(value).type.rank(); ++d) begins.push_back(Begin(value, d));
  return absl::StrCat("{", absl::StrJoin(begins, ", "), "}");
}

std::string Sizes::RegionText(ir::ValueId value, int first) {
  bool cut = false;
  for (int d = first; d < program_.value(value).type.rank(); ++d) cut = cut || !Axes(value, d).empty();
  const std::string shape = WholeShapeList(value, first);
  if (!cut) return absl::StrCat("WholeRegion(", shape, ")");
  return absl::StrCat("Region{", shape, ", ", BeginList(value, first), ", ", ShapeList(value, first), "}");
}

std::string Sizes::LayoutText(ir::ValueId value) const {
  const std::string shape = WholeShapeList(value);
  if (program_.is_manual) return absl::StrCat("TensorLayout{.shape = ", shape, ", .is_local = true}");
  const std::string axes = AxesText(value);
  return absl::StrCat("TensorLayout{", shape, axes == "{}" ? "" : absl::StrCat(", ", axes), "}");
}

std::string Sizes::AxesText(ir::ValueId value) const {
  std::vector<std::string> lists;
  size_t cut = 0;  // Dimensions up to the last one that is cut.
  for (int d = 0; d < program_.value(value).type.rank(); ++d) {
    const ir::AxisList& axes = Axes(value, d);
    const auto number = [](std::string* out, ir::AxisId axis) { absl::StrAppend(out, axis.value()); };
    lists.push_back(absl::StrCat("{", absl::StrJoin(axes, ", ", number), "}"));
    if (!axes.empty()) cut = lists.size();
  }
  lists.resize(cut);
  return absl::StrCat("{", absl::StrJoin(lists, ", "), "}");
}

std::vector<Sizes::Constant> Sizes::Constants() const {
  std::vector<Constant> constants;
  for (const auto& [elements, pieces] : constants_) {
    constants.push_back({absl::StrCat("k", elements, "By", pieces), elements, pieces});
  }
  return constants;
}

}  // namespace cleave::codegen
