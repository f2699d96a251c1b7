#include "search/cost/prices.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "base/units/units.h"

namespace cleave::search {

std::string CostText(const Prices& prices, double cost) {
  if (prices.is_seconds) return FormatSeconds(Seconds(cost));
  return absl::StrCat(FormatCount(std::llround(cost)), " weighted bytes");
}

}  // namespace cleave::search
