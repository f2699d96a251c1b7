// Random training graphs that are small enough for a search through all their plans.
#ifndef CLEAVE_SEARCH_TESTING_SMALL_GRAPHS_H_
#define CLEAVE_SEARCH_TESTING_SMALL_GRAPHS_H_

#include <cstdint>

#include "ir/graph/graph.h"

namespace cleave::search::testing {

struct SmallGraphOptions {
  int most_products = 4;      // At least 2.
  int most_light_ops = 3;     // Beside the loss.
  int64_t largest_size = 12;  // Of a dimension.
};

// Matrix products with light ops between them: residuals, branches that meet again, values with several readers,
// weights that are used twice, sizes that no mesh divides. The same seed gives the same graph on any machine.
ir::Graph RandomSmallGraph(uint64_t seed, const SmallGraphOptions& options = {});

}  // namespace cleave::search::testing

#endif  // CLEAVE_SEARCH_TESTING_SMALL_GRAPHS_H_
