#include "frontend/evaluate/pins/agreement.h"

#include <vector>

namespace cleave::frontend {
namespace {

bool SameCounts(const ir::CountsPin& a, const ir::CountsPin& b) {
  if (a.has_value() != b.has_value()) return !a || !b;  // `auto` agrees with anything.
  if (!a) return true;
  if (a->size() != b->size()) return false;
  for (size_t i = 0; i < a->size(); ++i) {
    if ((*a)[i].value != (*b)[i].value) return false;
  }
  return true;
}

bool AllOnes(const ir::CountsPin& counts) {
  for (const ir::Placed<int64_t>& count : counts.value_or(std::vector<ir::Placed<int64_t>>())) {
    if (count.value != 1) return false;
  }
  return true;
}

}  // namespace

bool Agree(const PinDemand& a, const PinDemand& b) {
  if (const auto* replicate = std::get_if<ir::ReplicatePin>(&b); replicate != nullptr && a.index() != b.index()) {
    return Agree(b, a);
  }
  if (std::holds_alternative<ir::ReplicatePin>(a)) {
    if (const auto* shard = std::get_if<ir::ShardPin>(&b)) {
      for (const ir::CountsPin& counts : shard->in) {
        if (!AllOnes(counts)) return false;
      }
      return AllOnes(shard->out);
    }
    if (const auto* layout = std::get_if<ir::LayoutPin>(&b)) {
      for (const auto& axes : layout->dimensions) {
        if (!axes.empty()) return false;
      }
    }
    return true;
  }
  if (a.index() != b.index() || std::holds_alternative<ir::DataParallelPin>(a)) return true;
  if (const auto* first = std::get_if<ir::ShardPin>(&a)) {
    const auto& second = std::get<ir::ShardPin>(b);
    for (size_t i = 0; i < first->in.size() && i < second.in.size(); ++i) {
      if (!SameCounts(first->in[i], second.in[i])) return false;
    }
    return SameCounts(first->out, second.out);
  }
  const auto& first = std::get<ir::LayoutPin>(a).dimensions;
  const auto& second = std::get<ir::LayoutPin>(b).dimensions;
  for (size_t d = 0; d < first.size() && d < second.size(); ++d) {
    if (first[d].size() != second[d].size()) return false;
    for (size_t i = 0; i < first[d].size(); ++i) {
      if (first[d][i].value != second[d][i].value) return false;
    }
  }
  return true;
}

}  // namespace cleave::frontend
