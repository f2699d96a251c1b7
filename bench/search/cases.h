// The models and machines that are measured, and one search on them.
#ifndef CLEAVE_BENCH_SEARCH_CASES_H_
#define CLEAVE_BENCH_SEARCH_CASES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"
#include "search/model/cluster/cluster.h"
#include "search/search.h"

namespace cleave::bench {

struct Model {
  std::string name;
  std::function<ir::Graph()> make;
};

const std::vector<Model>& Models();

// All devices share one kind of link.
search::Cluster Flat(int64_t devices);

// Hosts whose number of devices divides `devices` and is at most 8; between hosts a tenth of the bandwidth.
search::Cluster Hierarchical(int64_t devices);

struct Found {
  ir::Plan plan;
  double seconds = 0;  // Processor time of the whole call of Search, so that other programs do not count.
};

// nullopt if the algorithm has no plan.
std::optional<Found> Find(const ir::Graph& graph, const search::Cluster& cluster, ir::SearchAlgorithm algorithm);

}  // namespace cleave::bench

#endif  // CLEAVE_BENCH_SEARCH_CASES_H_
