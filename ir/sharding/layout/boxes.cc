#include "ir/sharding/layout/boxes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check/check.h"

namespace cleave::ir {
namespace {

// What the owner of one piece needs of a dimension, and how much of that it has.
struct Need {
  int64_t window = 0;
  int64_t owned = 0;

  bool operator==(const Need&) const = default;
};

// The different needs of the pieces of a windowed dimension.
std::vector<Need> NeedsOf(const Window& window, int64_t pieces) {
  std::vector<Need> needs;
  for (int64_t i = 0; i < pieces; ++i) {
    const Piece needed = window.Of(PieceOf(window.outer, pieces, i));
    const Piece has = PieceOf(window.elements, pieces, i);
    const Need need = {.window = needed.size, .owned = Intersection(needed, has).size};
    if (std::find(needs.begin(), needs.end(), need) == needs.end()) needs.push_back(need);
  }
  return needs;
}

}  // namespace

int64_t LargestReceivedElements(const Layout& from, const Layout& to, const Mesh& mesh, const Shape& shape) {
  CLEAVE_CHECK(from == to.WithoutWindows()) << LayoutText(from, mesh) << " and " << LayoutText(to, mesh);
  // Elements of the boxes of the windowed dimensions so far: all combinations of what their pieces need.
  std::vector<Need> boxes = {{.window = 1, .owned = 1}};
  int64_t others = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t pieces = mesh.Size(to.dimensions[d]);
    const Window* window = to.WindowOf(d);
    if (window == nullptr) {
      others *= LargestPiece(shape[d], pieces);
      continue;
    }
    std::vector<Need> next;
    for (const Need& need : NeedsOf(*window, pieces)) {
      for (const Need& box : boxes) next.push_back({box.window * need.window, box.owned * need.owned});
    }
    boxes = std::move(next);
  }
  int64_t most = 0;
  for (const Need& box : boxes) most = std::max(most, box.window - box.owned);
  return most * others;
}

bool IsWithin(const Layout& from, const Layout& to, const Mesh& mesh, const Shape& shape) {
  for (size_t d = 0; d < shape.size(); ++d) {
    const AxisList& before = from.dimensions[d];
    const AxisList& after = to.dimensions[d];
    if (before.size() > after.size() || !std::equal(before.begin(), before.end(), after.begin())) return false;
    const Window* window = to.WindowOf(d);
    if (window == nullptr) continue;
    const int64_t outer_pieces = mesh.Size(before);
    const int64_t pieces = mesh.Size(after);
    for (int64_t i = 0; i < pieces; ++i) {
      const Piece has = PieceOf(shape[d], outer_pieces, i / (pieces / outer_pieces));
      if (!has.Contains(window->Of(PieceOf(window->outer, pieces, i)))) return false;
    }
  }
  return true;
}

AxisList WindowedAxes(const Layout& layout) {
  AxisList axes;
  for (const DimensionWindow& entry : layout.windows) {
    const AxisList& cut = layout.dimensions[static_cast<size_t>(entry.dimension)];
    axes.insert(axes.end(), cut.begin(), cut.end());
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace cleave::ir
