// What is measured: models, machines, and one search on them.
#ifndef CLEAVE_BENCH_SEARCH_CASES_H_
#define CLEAVE_BENCH_SEARCH_CASES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/plan/plan.h"
#include "search/cluster/cluster.h"
#include "search/search.h"

namespace cleave {

struct Model {
  std::string name;
  std::function<Graph()> make;
};

const std::vector<Model>& Models();

// One link for all.
Cluster Flat(int64_t devices);

// Hosts of as many devices as divide `devices` and are at most 8; between hosts a tenth of the bandwidth.
Cluster Hierarchical(int64_t devices);

struct Found {
  Plan plan;
  double seconds = 0;  // Of the whole call of Search; of the processor, so that what else runs does not count.
};

// nullopt where the algorithm has no plan.
std::optional<Found> Find(const Graph& graph, const Cluster& cluster, SearchAlgorithm algorithm);

}  // namespace cleave

#endif  // CLEAVE_BENCH_SEARCH_CASES_H_
