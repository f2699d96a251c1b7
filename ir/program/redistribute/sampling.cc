#include "ir/program/redistribute/sampling.h"

#include <algorithm>
#include <set>
#include <utility>

namespace cleave::ir {

std::vector<Layout> AllLayouts(const Mesh& mesh, int rank, const std::vector<Reduction>& reductions) {
  std::vector<Layout> layouts = {Layout::Replicated(rank)};
  std::set<Layout> seen(layouts.begin(), layouts.end());
  const auto add = [&](Layout layout) {
    if (VerifyLayout(layout, mesh, rank).ok() && seen.insert(layout).second) layouts.push_back(std::move(layout));
  };
  for (size_t i = 0; i < layouts.size(); ++i) {
    for (AxisId axis : mesh.AxisIds()) {
      for (size_t d = 0; d < static_cast<size_t>(rank); ++d) {
        Layout next = layouts[i];
        next.dimensions[d].push_back(axis);
        add(std::move(next));
      }
      for (Reduction reduction : reductions) {
        Layout next = layouts[i];
        next.partial.push_back({axis, reduction});
        add(std::move(next));
      }
    }
  }
  return layouts;
}

Layout RandomLayout(const Mesh& mesh, size_t rank, bool may_be_partial, std::mt19937& random) {
  AxisList axes = mesh.AxisIds();
  std::shuffle(axes.begin(), axes.end(), random);
  Layout layout = Layout::Replicated(static_cast<int>(rank));
  for (AxisId axis : axes) {
    const size_t place = random() % (rank + 2);
    if (place < rank) layout.dimensions[place].push_back(axis);
    if (place == rank && may_be_partial) layout.partial.push_back({axis, Reduction::kSum});
  }
  std::sort(layout.partial.begin(), layout.partial.end(),
            [](const PartialAxis& a, const PartialAxis& b) { return a.axis < b.axis; });
  return layout;
}

}  // namespace cleave::ir
