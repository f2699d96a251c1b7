#include "runtime/data/interleave.h"

#include <functional>
#include <queue>
#include <tuple>

namespace cleave::runtime {

std::vector<uint32_t> Interleaved(const std::vector<int64_t>& counts) {
  using Next = std::tuple<double, uint32_t, int64_t>;  // Of a row its place, its number, and how many were taken.
  std::priority_queue<Next, std::vector<Next>, std::greater<>> rows;
  const auto add = [&](uint32_t row, int64_t taken) {
    const int64_t count = counts[row];
    if (taken < count) rows.emplace((static_cast<double>(taken) + 0.5) / static_cast<double>(count), row, taken);
  };
  for (uint32_t row = 0; row < counts.size(); ++row) add(row, 0);
  std::vector<uint32_t> order;
  while (!rows.empty()) {
    const auto [place, row, taken] = rows.top();
    rows.pop();
    order.push_back(row);
    add(row, taken + 1);
  }
  return order;
}

}  // namespace cleave::runtime
