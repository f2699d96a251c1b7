#include "ir/program/redistribute/windows.h"

#include "ir/sharding/layout/boxes.h"

namespace cleave::ir {

std::vector<WindowEntry> EntriesInto(const Mesh& mesh, const Shape& shape, const Layout& target) {
  std::vector<WindowEntry> entries;
  // A bit for each windowed dimension that is whole before. There are few of them.
  for (size_t whole = 0; whole < (size_t{1} << target.windows.size()); ++whole) {
    WindowEntry entry{.before = target.WithoutWindows(),
                      .move = {.collective = std::nullopt, .axes = {}, .result = target}};
    for (size_t i = 0; i < target.windows.size(); ++i) {
      if ((whole >> i & 1) == 0) continue;
      AxisList& cut = entry.before.dimensions[static_cast<size_t>(target.windows[i].dimension)];
      entry.move.axes.insert(entry.move.axes.end(), cut.begin(), cut.end());
      cut.clear();
    }
    if (!IsWithin(entry.before, target, mesh, shape)) {
      if (whole != 0) continue;
      entry.move.collective = CollectiveKind::kNeighborExchange;
      entry.move.axes = WindowedAxes(target);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace cleave::ir
