#include "ir/layout/layout.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check/check.h"
#include "base/status/status_macros.h"
#include "ir/mesh/axis_use.h"

namespace cleave {
namespace {

std::string AxesText(const std::vector<AxisId>& axes, const Mesh& mesh) {
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

}  // namespace

Piece PieceOf(int64_t elements, int64_t count, int64_t index) {
  CLEAVE_CHECK(index >= 0 && index < count) << "piece " << index << " of " << count;
  // 128 bits: elements up to 2^63 times up to 2^20 pieces.
  const auto bound = [&](int64_t i) { return static_cast<int64_t>(static_cast<__int128>(elements) * i / count); };
  const int64_t begin = bound(index);
  return {.begin = begin, .size = bound(index + 1) - begin};
}

int64_t LargestPiece(int64_t elements, int64_t count) { return elements / count + (elements % count != 0 ? 1 : 0); }

std::vector<AxisId> Layout::PartialAxes() const {
  std::vector<AxisId> axes;
  for (const PartialAxis& entry : partial) axes.push_back(entry.axis);
  return axes;
}

bool Layout::operator<(const Layout& other) const {
  if (dimensions != other.dimensions) return dimensions < other.dimensions;
  return std::lexicographical_compare(partial.begin(), partial.end(), other.partial.begin(), other.partial.end(),
                                      [](const PartialAxis& a, const PartialAxis& b) {
                                        return std::tie(a.axis, a.reduction) < std::tie(b.axis, b.reduction);
                                      });
}

absl::Status VerifyLayout(const Layout& layout, const Mesh& mesh, int rank) {
  if (static_cast<int>(layout.dimensions.size()) != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("the layout has ", layout.dimensions.size(), " dimensions, the tensor ", rank));
  }
  AxisUse use(mesh);
  for (const std::vector<AxisId>& axes : layout.dimensions) {
    for (AxisId axis : axes) CLEAVE_RETURN_IF_ERROR(use.Add(axis));
  }
  for (size_t i = 0; i < layout.partial.size(); ++i) {
    CLEAVE_RETURN_IF_ERROR(use.Add(layout.partial[i].axis));
    if (i > 0 && layout.partial[i].axis < layout.partial[i - 1].axis) {
      return absl::InvalidArgumentError("the partial axes are not in mesh order");
    }
  }
  return absl::OkStatus();
}

std::vector<Piece> SliceOf(const Layout& layout, const Mesh& mesh, const Shape& shape, int rank) {
  CLEAVE_CHECK(layout.dimensions.size() == shape.size()) << LayoutText(layout, mesh) << " for " << ShapeText(shape);
  std::vector<Piece> slice;
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::vector<AxisId>& axes = layout.dimensions[d];
    slice.push_back(PieceOf(shape[d], mesh.Size(axes), mesh.Index(rank, axes)));
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
  for (size_t d = 0; d < shape.size(); ++d) local.push_back(LargestPiece(shape[d], mesh.Size(layout.dimensions[d])));
  return local;
}

std::vector<int64_t> CutCounts(const Layout& layout, const Mesh& mesh) {
  std::vector<int64_t> counts;
  for (const std::vector<AxisId>& axes : layout.dimensions) counts.push_back(mesh.Size(axes));
  return counts;
}

std::string LayoutText(const Layout& layout, const Mesh& mesh) {
  std::string text = absl::StrCat(
      "[",
      absl::StrJoin(layout.dimensions, ", ",
                    [&](std::string* out, const std::vector<AxisId>& axes) { out->append(AxesText(axes, mesh)); }),
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
      std::vector<AxisId>& axes = layout.dimensions.emplace_back();
      dimension = absl::StripAsciiWhitespace(dimension);
      if (dimension == "-") continue;
      for (absl::string_view name : absl::StrSplit(dimension, ' ', absl::SkipWhitespace())) {
        CLEAVE_ASSIGN_OR_RETURN(const AxisId axis, FindAxis(name, mesh));
        axes.push_back(axis);
      }
      if (axes.empty()) return absl::InvalidArgumentError("a dimension without axes is written `-`");
    }
  }
  if (absl::ConsumePrefix(&rest, "partial")) {
    CLEAVE_ASSIGN_OR_RETURN(layout.partial, ParsePartial(absl::StripAsciiWhitespace(rest), mesh));
  } else if (!rest.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("expected the end of the layout, found `", rest, "`"));
  }
  CLEAVE_RETURN_IF_ERROR(VerifyLayout(layout, mesh, static_cast<int>(layout.dimensions.size())));
  return layout;
}

}  // namespace cleave
