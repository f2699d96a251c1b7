#include "search/cost/prices.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "base/units/units.h"

namespace cleave::search {

bool MayLeaveIdle(const ir::Graph& training_graph, int64_t ranks, int64_t micro_batches, std::optional<bool> asked) {
  if (asked.has_value()) return *asked;
  int64_t samples = 1;
  for (const ir::Op& op : training_graph.ops) {
    if (op.kind == ir::OpKind::kInput && op.type.rank() > 0) samples = std::max(samples, op.type.shape[0]);
  }
  return samples < ranks * micro_batches;
}

std::string CostText(const Prices& prices, double cost) {
  if (prices.is_seconds) return FormatSeconds(Seconds(cost));
  return absl::StrCat(FormatCount(std::llround(cost)), " weighted bytes");
}

}  // namespace cleave::search
