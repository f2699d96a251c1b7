// Private to tools/page: what the page shows, as JSON that page.js reads.
#ifndef CLEAVE_TOOLS_PAGE_DATA_H_
#define CLEAVE_TOOLS_PAGE_DATA_H_

#include "base/json/json.h"
#include "tools/page/page.h"

namespace cleave::tools {

// Of at most so many ranks the page shows which slices they hold.
inline constexpr int kMostRanksShown = 256;

// Times are seconds, sizes bytes; times of the timeline are whole nanoseconds. Equal layers are one entry, with a
// `count` and names as in base/layer_names.
Json PageData(const PageFacts& facts);

// The field `plans`, which takes the searches of search/explain/plans.h: what other settings give, and which give no
// plan; null for a manual model.
Json PlansData(const search::Explained& explained);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PAGE_DATA_H_
