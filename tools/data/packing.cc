#include "tools/data/packing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace cleave::tools {

std::vector<std::vector<uint32_t>> PackBestFit(const std::vector<uint32_t>& lengths, uint32_t room) {
  std::vector<uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<uint32_t>> rows;
  std::map<uint32_t, std::vector<uint32_t>> rows_by_room;  // The room that is left, at least 1.
  for (const uint32_t sample : order) {
    const uint32_t length = lengths[sample];
    uint32_t left = room, row = static_cast<uint32_t>(rows.size());
    const auto best = rows_by_room.lower_bound(length);
    if (best == rows_by_room.end()) {
      rows.emplace_back();
    } else {
      left = best->first;
      row = best->second.back();
      best->second.pop_back();
      if (best->second.empty()) rows_by_room.erase(best);
    }
    rows[row].push_back(sample);
    if (left > length) rows_by_room[left - length].push_back(row);
  }
  for (std::vector<uint32_t>& row : rows) std::sort(row.begin(), row.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace cleave::tools
