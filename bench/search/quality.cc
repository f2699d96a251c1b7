#include <cstdio>
#include <limits>

#include "bench/search/cases.h"
#include "bench/search/tables.h"

namespace cleave::bench {
namespace {

// What is known about the best cost. The mark says: ' ' it is the best, '<' a lower bound, '?' the least that was
// found.
struct Bound {
  double cost = 0;
  char mark = ' ';
};

std::optional<Bound> BoundOf(const std::optional<Found>& exact) {
  if (!exact.has_value()) return std::nullopt;
  const ir::SearchSummary& search = exact->plan.search;
  if (!search.lower_bound.has_value()) return Bound{.cost = search.cost, .mark = '?'};
  return Bound{.cost = *search.lower_bound, .mark = search.cost <= *search.lower_bound * (1 + 1e-9) ? ' ' : '<'};
}

double Over(double cost, double bound) {
  if (bound > 0) return cost / bound;
  return cost > 0 ? std::numeric_limits<double>::infinity() : 1;
}

void PrintRow(const Model& model, const ir::Graph& graph, const search::Cluster& cluster) {
  const std::optional<Found> data_parallel = Find(graph, cluster, ir::SearchAlgorithm::kDataParallel);
  const std::optional<Found> sapp = Find(graph, cluster, ir::SearchAlgorithm::kSapp);
  const std::optional<Found> exact = Find(graph, cluster, ir::SearchAlgorithm::kExact);
  const std::optional<Bound> bound = BoundOf(exact);
  std::printf("%-11s %7lld %-6s", model.name.c_str(), static_cast<long long>(cluster.devices()), cluster.name.c_str());
  for (const std::optional<Found>& found : {data_parallel, sapp, exact}) {
    if (found.has_value()) {
      std::printf(" %13.4e", found->plan.search.cost);
    } else {
      std::printf(" %13s", "-");
    }
  }
  for (const std::optional<Found>& found : {data_parallel, sapp}) {
    if (found.has_value() && bound.has_value()) {
      std::printf(" %9.4f%c", Over(found->plan.search.cost, bound->cost), bound->mark);
    } else {
      std::printf(" %9s ", "-");
    }
  }
  for (const std::optional<Found>& found : {sapp, exact}) {
    if (found.has_value()) {
      std::printf(" %8.3f", found->seconds);
    } else {
      std::printf(" %8s", "-");
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

void PrintQuality(const TableOptions& options) {
  std::printf("%-11s %7s %-6s %13s %13s %13s %9s  %9s  %8s %8s\n", "model", "devices", "link", "data parallel", "sapp",
              "exact", "dp/best", "sapp/best", "sapp s", "exact s");
  for (const Model& model : Models()) {
    if (!options.model.empty() && options.model != model.name) continue;
    const ir::Graph graph = model.make();
    for (const int64_t devices : {2, 6, 8, 12, 16, 64, 256, 1024}) {
      if (devices > options.most_devices) continue;
      PrintRow(model, graph, Flat(devices));
      if (devices > 8) PrintRow(model, graph, Hierarchical(devices));
    }
  }
}

}  // namespace cleave::bench
