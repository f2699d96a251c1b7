#include "search/price/cost/prices.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "ir/sharding/micro_batches/micro_batches.h"

namespace cleave::search {

bool MayLeaveIdle(const ir::Graph& training_graph, int64_t ranks, int64_t micro_batches, std::optional<bool> asked) {
  if (asked.has_value()) return *asked;
  const std::optional<int64_t> batch = ir::BatchOf(training_graph);
  return batch.has_value() && *batch < ranks * micro_batches;
}

std::string CostText(const Prices& prices, double cost) {
  if (prices.is_seconds) return FormatSeconds(Seconds(cost));
  return absl::StrCat(FormatCount(std::llround(cost)), " weighted bytes");
}

}  // namespace cleave::search
