#include "frontend/evaluate/pins/agreement.h"

#include <vector>

namespace cleave::frontend {
namespace {

bool SameCounts(const CountsPin& a, const CountsPin& b) {
  if (a.has_value() != b.has_value()) return !a || !b;  // `auto` agrees with anything.
  if (!a) return true;
  if (a->size() != b->size()) return false;
  for (size_t i = 0; i < a->size(); ++i) {
    if ((*a)[i].value != (*b)[i].value) return false;
  }
  return true;
}

bool AllOnes(const CountsPin& counts) {
  for (const Placed<int64_t>& count : counts.value_or(std::vector<Placed<int64_t>>())) {
    if (count.value != 1) return false;
  }
  return true;
}

}  // namespace

bool Agree(const PinDemand& a, const PinDemand& b) {
  if (const auto* replicate = std::get_if<ReplicatePin>(&b); replicate != nullptr && a.index() != b.index()) {
    return Agree(b, a);
  }
  if (std::holds_alternative<ReplicatePin>(a)) {
    if (const auto* shard = std::get_if<ShardPin>(&b)) {
      for (const CountsPin& counts : shard->in) {
        if (!AllOnes(counts)) return false;
      }
      return AllOnes(shard->out);
    }
    if (const auto* layout = std::get_if<LayoutPin>(&b)) {
      for (const auto& axes : layout->dimensions) {
        if (!axes.empty()) return false;
      }
    }
    return true;
  }
  if (a.index() != b.index() || std::holds_alternative<DataParallelPin>(a)) return true;
  if (const auto* first = std::get_if<ShardPin>(&a)) {
    const auto& second = std::get<ShardPin>(b);
    for (size_t i = 0; i < first->in.size() && i < second.in.size(); ++i) {
      if (!SameCounts(first->in[i], second.in[i])) return false;
    }
    return SameCounts(first->out, second.out);
  }
  const auto& first = std::get<LayoutPin>(a).dimensions;
  const auto& second = std::get<LayoutPin>(b).dimensions;
  for (size_t d = 0; d < first.size() && d < second.size(); ++d) {
    if (first[d].size() != second[d].size()) return false;
    for (size_t i = 0; i < first[d].size(); ++i) {
      if (first[d][i].value != second[d][i].value) return false;
    }
  }
  return true;
}

}  // namespace cleave::frontend
