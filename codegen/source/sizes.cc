#include "codegen/source/sizes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace cleave::codegen {

SizeProduct& SizeProduct::operator*=(const SizeProduct& other) {
  number_ *= other.number_;
  symbols_.insert(symbols_.end(), other.symbols_.begin(), other.symbols_.end());
  return *this;
}

cpp::Expr SizeProduct::Value() const {
  if (symbols_.empty() || number_ == 0) return number_;
  cpp::Expr product = symbols_.front().symbol;
  for (size_t i = 1; i < symbols_.size(); ++i) product = product * symbols_[i].symbol;
  return number_ == 1 ? product : product * number_;
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
  return SizeProduct::Symbol(WindowName(*window, Axes(value, d)).Member("size"));
}

cpp::Expr Sizes::Begin(ir::ValueId value, int d) {
  const ir::Window* window = program_.value(value).layout.WindowOf(static_cast<size_t>(d));
  if (window == nullptr) return PieceBegin(Whole(value, d), Axes(value, d));
  if (IsFolded(Axes(value, d))) return FoldedWindow(*window, Axes(value, d)).begin;
  return WindowName(*window, Axes(value, d)).Member("begin");
}

cpp::Expr Sizes::Range(ir::ValueId value, int d) {
  const cpp::Expr begin = Begin(value, d);
  const cpp::Expr::Node& node = begin.node();
  if (node.kind == cpp::Expr::Kind::kMember) return node.operands[0];
  return cpp::Braces({begin, Size(value, d).Value()});
}

ir::Piece Sizes::FoldedWindow(const ir::Window& window, const ir::AxisList& axes) const {
  return window.Of(ir::PieceOf(window.outer, program_.mesh.Size(axes), FoldedIndex(axes)));
}

SizeProduct Sizes::PieceSize(int64_t elements, const ir::AxisList& axes) {
  if (axes.empty()) return SizeProduct(elements);
  const int64_t pieces = program_.mesh.Size(axes);
  if (IsFolded(axes)) return SizeProduct(ir::PieceOf(elements, pieces, FoldedIndex(axes)).size);
  if (elements % pieces != 0) return SizeProduct::Symbol(PieceName(elements, axes).Member("size"));
  if (elements == pieces) return SizeProduct(1);
  constants_.insert({elements, pieces});
  return SizeProduct::Symbol(cpp::Name(absl::StrCat("k", elements, "By", pieces)), elements / pieces);
}

cpp::Expr Sizes::PieceBegin(int64_t elements, const ir::AxisList& axes) {
  if (axes.empty()) return 0;
  if (IsFolded(axes)) return ir::PieceOf(elements, program_.mesh.Size(axes), FoldedIndex(axes)).begin;
  return PieceName(elements, axes).Member("begin");
}

cpp::Expr Sizes::Declared(absl::string_view kind, int64_t elements, const ir::AxisList& axes, cpp::Expr value) {
  std::string name = absl::StrCat(kind, "_", elements);
  for (const ir::AxisId axis : axes) absl::StrAppend(&name, "_", AxisName(axis));
  pieces_.push_back(
      {.name = identifiers_.Unique(name), .value = std::move(value), .of_micro_batch = DependsOnTime(axes)});
  return cpp::Name(pieces_.back().name);
}

const cpp::Expr& Sizes::PieceName(int64_t elements, const ir::AxisList& axes) {
  const auto key = std::make_pair(elements, axes);
  const auto found = piece_names_.find(key);
  if (found != piece_names_.end()) return found->second;
  const cpp::Expr value = cpp::Call("Piece", {elements, program_.mesh.Size(axes), Index(axes)});
  return piece_names_[key] = Declared("piece", elements, axes, value);
}

cpp::Expr WindowOf(const ir::Window& window) {
  return cpp::Braces(cpp::Name("Window"),
                     {window.elements, window.outer, window.numerator, window.denominator, window.first, window.last});
}

const cpp::Expr& Sizes::WindowName(const ir::Window& window, const ir::AxisList& axes) {
  const cpp::Expr value = WindowOf(window).Call("Of", {PieceName(window.outer, axes)});
  const auto [found, is_new] = window_names_.try_emplace(value.Text());
  if (is_new) found->second = Declared("window", window.elements, axes, value);
  return found->second;
}

cpp::Expr Sizes::Index(const ir::AxisList& axes) {
  if (IsFolded(axes)) return FoldedIndex(axes);
  std::optional<cpp::Expr> index;
  for (const ir::AxisId axis : axes) {
    cpp::Expr coordinate = cpp::Name(AxisName(axis));
    if (IsFolded({axis})) {
      coordinate = FoldedIndex({axis});
    } else if (axis != program_.time) {
      used_axes_.insert(axis);
    }
    index = index.has_value() ? *index * program_.mesh.axis(axis).size + coordinate : coordinate;
  }
  return index.value_or(0);
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

cpp::Expr Sizes::ShapeList(ir::ValueId value, int first) {
  std::vector<cpp::Expr> sizes;
  for (int d = first; d < program_.value(value).type.rank(); ++d) sizes.push_back(Size(value, d).Value());
  return cpp::Braces(std::move(sizes));
}

cpp::Expr Sizes::WholeShapeList(ir::ValueId value, int first) const {
  const absl::Span<const int64_t> shape = program_.value(value).type.shape;
  return cpp::Numbers(shape.subspan(static_cast<size_t>(first)));
}

cpp::Expr Sizes::BeginList(ir::ValueId value, int first) {
  std::vector<cpp::Expr> begins;
  for (int d = first; d < program_.value(value).type.rank(); ++d) begins.push_back(Begin(value, d));
  return cpp::Braces(std::move(begins));
}

cpp::Expr Sizes::Region(ir::ValueId value, int first) {
  bool cut = false;
  for (int d = first; d < program_.value(value).type.rank(); ++d) cut = cut || !Axes(value, d).empty();
  const cpp::Expr shape = WholeShapeList(value, first);
  if (!cut) return cpp::Call("WholeRegion", {shape});
  return cpp::Braces(cpp::Name("Region"), {shape, BeginList(value, first), ShapeList(value, first)});
}

cpp::Expr Sizes::LayoutOf(ir::ValueId value) const {
  const cpp::Expr type = cpp::Name("TensorLayout");
  const cpp::Expr shape = WholeShapeList(value);
  if (program_.is_manual) return cpp::Fields(type, {{"shape", shape}, {"is_local", cpp::Bool(true)}});
  std::vector<cpp::Expr> lists;
  size_t cut = 0;  // Dimensions up to the last one that is cut.
  for (int d = 0; d < program_.value(value).type.rank(); ++d) {
    const ir::AxisList& axes = Axes(value, d);
    lists.push_back(AxisListOf(axes));
    if (!axes.empty()) cut = lists.size();
  }
  lists.resize(cut);
  if (lists.empty()) return cpp::Braces(type, {shape});
  return cpp::Braces(type, {shape, cpp::Braces(std::move(lists))});
}

cpp::Expr Difference(const cpp::Expr& a, const cpp::Expr& number, const cpp::Expr& b) {
  int64_t known = 0;
  std::optional<cpp::Expr> sum;
  for (const cpp::Expr& term : {a, number}) {
    if (term.number().has_value()) {
      known += *term.number();
    } else {
      sum = sum.has_value() ? *sum + term : term;
    }
  }
  known -= b.number().value_or(0);
  const cpp::Expr difference = sum.has_value() ? cpp::Shifted(*sum, known) : known;
  return b.number().has_value() ? difference : difference - b;
}

cpp::Expr AxisListOf(const ir::AxisList& axes) {
  std::vector<cpp::Expr> numbers;
  for (const ir::AxisId axis : axes) numbers.push_back(axis.value());
  return cpp::Braces(std::move(numbers));
}

std::vector<Sizes::Constant> Sizes::Constants() const {
  std::vector<Constant> constants;
  for (const auto& [elements, pieces] : constants_) {
    constants.push_back({absl::StrCat("k", elements, "By", pieces), elements, pieces});
  }
  return constants;
}

}  // namespace cleave::codegen
