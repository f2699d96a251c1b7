#include "ir/sharding/layout/layout.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check/check.h"
#include "base/status/status_macros.h"
#include "ir/sharding/mesh/axis_use.h"

namespace cleave::ir {
namespace {

std::string AxesText(const AxisList& axes, const Mesh& mesh) {
  if (axes.empty()) return "-";
  return absl::StrJoin(axes, " ", [&](std::string* out, AxisId axis) { out->append(mesh.axis(axis).name); });
}

absl::StatusOr<AxisId> FindAxis(absl::string_view name, const Mesh& mesh) {
  const std::optional<AxisId> axis = mesh.Find(name);
  if (!axis.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("no mesh axis `", name, "` in (", mesh.ToString(), ")"));
  }
  return *axis;
}

// "(m2: sum, m3: max)" after the word `partial`.
absl::StatusOr<std::vector<PartialAxis>> ParsePartial(absl::string_view text, const Mesh& mesh) {
  std::vector<PartialAxis> partial;
  if (!absl::ConsumePrefix(&text, "(") || !absl::ConsumeSuffix(&text, ")")) {
    return absl::InvalidArgumentError("expected `partial(<axis>: <reduction>, …)`");
  }
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> words = absl::StrSplit(part, ':');
    if (words.size() != 2)
      return absl::InvalidArgumentError(absl::StrCat("expected `<axis>: <reduction>`, found `", part, "`"));
    CLEAVE_ASSIGN_OR_RETURN(const AxisId axis, FindAxis(absl::StripAsciiWhitespace(words[0]), mesh));
    const std::optional<Reduction> reduction = ParseReduction(absl::StripAsciiWhitespace(words[1]));
    if (!reduction.has_value()) return absl::InvalidArgumentError(absl::StrCat("no reduction `", words[1], "`"));
    partial.push_back({axis, *reduction});
  }
  std::sort(partial.begin(), partial.end(), [](const PartialAxis& a, const PartialAxis& b) { return a.axis < b.axis; });
  return partial;
}

void AppendWindow(std::string* out, const DimensionWindow& entry) {
  const Window& window = entry.window;
  absl::StrAppend(out, entry.dimension, ": ", window.elements, " from ", window.outer, ", ", window.numerator, "/",
                  window.denominator, ", ", window.first, "..", window.last);
}

// "(0: 28 from 14, 2/1, -1..1, 1: …)" after the word `windows`.
absl::StatusOr<std::vector<DimensionWindow>> ParseWindows(absl::string_view text) {
  const absl::Status wrong =
      absl::InvalidArgumentError("expected `windows(<dimension>: <elements> from <outer>, <n>/<d>, <first>..<last>)`");
  if (!absl::ConsumePrefix(&text, "(") || !absl::ConsumeSuffix(&text, ")")) return wrong;
  std::vector<int64_t> numbers;
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(":, /."), absl::SkipEmpty())) {
    if (word == "from") continue;
    if (!absl::SimpleAtoi(word, &numbers.emplace_back())) return wrong;
  }
  if (numbers.empty() || numbers.size() % 7 != 0) return wrong;
  std::vector<DimensionWindow> windows;
  for (size_t i = 0; i < numbers.size(); i += 7) {
    windows.push_back({.dimension = static_cast<int>(numbers[i]),
                       .window = {.elements = numbers[i + 1],
                                  .outer = numbers[i + 2],
                                  .numerator = numbers[i + 3],
                                  .denominator = numbers[i + 4],
                                  .first = numbers[i + 5],
                                  .last = numbers[i + 6]}});
  }
  return windows;
}

// Of dimension `d`.
int64_t LargestPieceOf(const Layout& layout, const Mesh& mesh, const Shape& shape, size_t d) {
  const int64_t pieces = mesh.Size(layout.dimensions[d]);
  const Window* window = layout.WindowOf(d);
  if (window == nullptr) return LargestPiece(shape[d], pieces);
  int64_t largest = 0;
  for (int64_t i = 0; i < pieces; ++i) {
    largest = std::max(largest, window->Of(PieceOf(window->outer, pieces, i)).size);
  }
  return largest;
}

}  // namespace

AxisList Layout::PartialAxes() const {
  AxisList axes;
  for (const PartialAxis& entry : partial) axes.push_back(entry.axis);
  return axes;
}

const Window* Layout::WindowOf(size_t dimension) const {
  for (const DimensionWindow& entry : windows) {
    if (static_cast<size_t>(entry.dimension) == dimension) return &entry.window;
  }
  return nullptr;
}

bool Layout::operator<(const Layout& other) const {
  if (dimensions != other.dimensions) return dimensions < other.dimensions;
  if (partial != other.partial) {
    return std::lexicographical_compare(partial.begin(), partial.end(), other.partial.begin(), other.partial.end(),
                                        [](const PartialAxis& a, const PartialAxis& b) {
                                          return std::tie(a.axis, a.reduction) < std::tie(b.axis, b.reduction);
                                        });
  }
  const auto fields = [](const DimensionWindow& entry) {
    const Window& w = entry.window;
    return std::tie(entry.dimension, w.elements, w.outer, w.numerator, w.denominator, w.first, w.last);
  };
  return std::lexicographical_compare(
      windows.begin(), windows.end(), other.windows.begin(), other.windows.end(),
      [&](const DimensionWindow& a, const DimensionWindow& b) { return fields(a) < fields(b); });
}

absl::Status VerifyLayout(const Layout& layout, const Mesh& mesh, int rank) {
  if (static_cast<int>(layout.dimensions.size()) != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("the layout has ", layout.dimensions.size(), " dimensions, the tensor ", rank));
  }
  AxisUse use(mesh);
  for (const AxisList& axes : layout.dimensions) {
    for (AxisId axis : axes) CLEAVE_RETURN_IF_ERROR(use.Add(axis));
  }
  for (size_t i = 0; i < layout.partial.size(); ++i) {
    CLEAVE_RETURN_IF_ERROR(use.Add(layout.partial[i].axis));
    if (i > 0 && layout.partial[i].axis < layout.partial[i - 1].axis) {
      return absl::InvalidArgumentError("the partial axes are not in mesh order");
    }
  }
  int last = -1;
  for (const auto& [dimension, window] : layout.windows) {
    if (dimension <= last || dimension >= rank) {
      return absl::InvalidArgumentError("the windows are not in the order of the tensor's dimensions");
    }
    if (window.denominator < 1 || window.numerator < 0) {
      return absl::InvalidArgumentError(absl::StrCat("a window moves by ", window.numerator, "/", window.denominator));
    }
    last = dimension;
  }
  return absl::OkStatus();
}

std::vector<Piece> SliceOf(const Layout& layout, const Mesh& mesh, const Shape& shape, int rank) {
  CLEAVE_CHECK(layout.dimensions.size() == shape.size()) << LayoutText(layout, mesh) << " for " << ShapeText(shape);
  std::vector<Piece> slice;
  for (size_t d = 0; d < shape.size(); ++d) {
    const AxisList& axes = layout.dimensions[d];
    const Window* window = layout.WindowOf(d);
    const Piece piece = PieceOf(window == nullptr ? shape[d] : window->outer, mesh.Size(axes), mesh.Index(rank, axes));
    slice.push_back(window == nullptr ? piece : window->Of(piece));
  }
  return slice;
}

Shape LocalShape(const Layout& layout, const Mesh& mesh, const Shape& shape, int rank) {
  Shape local;
  for (const Piece& piece : SliceOf(layout, mesh, shape, rank)) local.push_back(piece.size);
  return local;
}

Shape LargestLocalShape(const Layout& layout, const Mesh& mesh, const Shape& shape) {
  CLEAVE_CHECK(layout.dimensions.size() == shape.size()) << LayoutText(layout, mesh) << " for " << ShapeText(shape);
  Shape local;
  local.reserve(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) local.push_back(LargestPieceOf(layout, mesh, shape, d));
  return local;
}

Bytes LargestLocalBytes(const Layout& layout, const Mesh& mesh, const TensorType& type) {
  CLEAVE_CHECK(layout.dimensions.size() == type.shape.size())
      << LayoutText(layout, mesh) << " for " << ShapeText(type.shape);
  int64_t elements = 1;
  for (size_t d = 0; d < type.shape.size(); ++d) elements *= LargestPieceOf(layout, mesh, type.shape, d);
  return ElementSize(type.dtype) * elements;
}

std::vector<int64_t> CutCounts(const Layout& layout, const Mesh& mesh) {
  std::vector<int64_t> counts;
  for (const AxisList& axes : layout.dimensions) counts.push_back(mesh.Size(axes));
  return counts;
}

std::string LayoutText(const Layout& layout, const Mesh& mesh) {
  std::string text =
      absl::StrCat("[",
                   absl::StrJoin(layout.dimensions, ", ",
                                 [&](std::string* out, const AxisList& axes) { out->append(AxesText(axes, mesh)); }),
                   "]");
  if (layout.is_partial()) {
    absl::StrAppend(&text, " partial(",
                    absl::StrJoin(layout.partial, ", ",
                                  [&](std::string* out, const PartialAxis& entry) {
                                    absl::StrAppend(out, mesh.axis(entry.axis).name, ": ",
                                                    ReductionName(entry.reduction));
                                  }),
                    ")");
  }
  if (!layout.windows.empty()) {
    absl::StrAppend(&text, " windows(", absl::StrJoin(layout.windows, ", ", AppendWindow), ")");
  }
  return text;
}

absl::StatusOr<Layout> ParseLayout(absl::string_view text, const Mesh& mesh) {
  text = absl::StripAsciiWhitespace(text);
  const size_t close = text.find(']');
  if (!absl::ConsumePrefix(&text, "[") || close == absl::string_view::npos) {
    return absl::InvalidArgumentError("expected a layout such as `[m0 m1, -]`");
  }
  const absl::string_view dimensions = absl::StripAsciiWhitespace(text.substr(0, close - 1));
  absl::string_view rest = absl::StripAsciiWhitespace(text.substr(close));
  Layout layout;
  if (!dimensions.empty()) {
    for (absl::string_view dimension : absl::StrSplit(dimensions, ',')) {
      AxisList& axes = layout.dimensions.emplace_back();
      dimension = absl::StripAsciiWhitespace(dimension);
      if (dimension == "-") continue;
      for (absl::string_view name : absl::StrSplit(dimension, ' ', absl::SkipWhitespace())) {
        CLEAVE_ASSIGN_OR_RETURN(const AxisId axis, FindAxis(name, mesh));
        axes.push_back(axis);
      }
      if (axes.empty()) return absl::InvalidArgumentError("a dimension without axes is written `-`");
    }
  }
  if (const size_t windows = rest.find("windows"); windows != absl::string_view::npos) {
    const absl::string_view text_of_windows = rest.substr(windows + absl::string_view("windows").size());
    CLEAVE_ASSIGN_OR_RETURN(layout.windows, ParseWindows(text_of_windows));
    rest = absl::StripTrailingAsciiWhitespace(rest.substr(0, windows));
  }
  if (absl::ConsumePrefix(&rest, "partial")) {
    CLEAVE_ASSIGN_OR_RETURN(layout.partial, ParsePartial(absl::StripAsciiWhitespace(rest), mesh));
  } else if (!rest.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("expected the end of the layout, found `", rest, "`"));
  }
  CLEAVE_RETURN_IF_ERROR(VerifyLayout(layout, mesh, static_cast<int>(layout.dimensions.size())));
  return layout;
}

}  // namespace cleave::ir
