#include <cstdio>
#include <set>

#include "bench/search/cases.h"
#include "bench/search/tables.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::bench {
namespace {

struct Division {
  int64_t ranks = 1;    // Ranks that differ on an axis which cuts some product.
  double evenness = 1;  // Work of the products, divided by the number of ranks times the largest share of a rank; 1:
                        // divided perfectly.
};

// The largest share of a rank, as a part of the product.
double LargestShare(const ir::Rule& rule, const ir::Strategy& strategy, const ir::Mesh& mesh) {
  double share = 1;
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    const int64_t size = rule.factors[factor].size, pieces = mesh.Size(strategy.cuts[factor]);
    share *= static_cast<double>((size + pieces - 1) / pieces) / static_cast<double>(size);
  }
  return share;
}

Division DivisionOf(const ir::Graph& graph, const ir::Plan& plan) {
  std::set<ir::AxisId> used;
  double work = 0, largest = 0;
  for (const ir::Op& op : graph.ops) {
    const ir::OpDefinition& definition = ir::DefinitionOf(op);
    if (op.phase != ir::Phase::kForward || definition.op_class != ir::OpClass::kProduct) continue;
    const ir::Strategy& strategy = plan.ops[op.id].strategy;
    for (const ir::AxisList& axes : strategy.cuts) used.insert(axes.begin(), axes.end());
    const double flops =
        static_cast<double>(definition.flops(ir::InputTypes(graph, op), op.type, op.attributes).value());
    work += flops;
    largest += flops * LargestShare(ir::RuleOf(graph, op), strategy, plan.mesh);
  }
  return {.ranks = plan.mesh.Size(ir::AxisList(used.begin(), used.end())),
          .evenness = work / (largest * plan.mesh.rank_count())};
}

void PrintRow(const Model& model, const ir::Graph& graph, int64_t devices) {
  const std::optional<Found> data_parallel = Find(graph, Flat(devices), ir::SearchAlgorithm::kDataParallel);
  const std::optional<Found> sapp = Find(graph, Flat(devices), ir::SearchAlgorithm::kSapp);
  std::printf("%-11s %7lld", model.name.c_str(), static_cast<long long>(devices));
  if (!sapp.has_value() || !data_parallel.has_value()) {
    std::printf(" no plan\n");
    return;
  }
  for (const ir::Plan* plan : {&data_parallel->plan, &sapp->plan}) {
    const Division division = DivisionOf(graph, *plan);
    std::printf(" %8lld %7.1f%% %12.4e", static_cast<long long>(division.ranks), 100 * division.evenness,
                plan->search.cost);
  }
  std::printf(" %8.4f %8.3f\n", sapp->plan.search.cost / data_parallel->plan.search.cost, sapp->seconds);
  std::fflush(stdout);
}

}  // namespace

void PrintOdd(const TableOptions& options) {
  std::printf("%-11s %7s %8s %8s %12s %8s %8s %12s %8s %8s\n", "model", "devices", "dp ranks", "even", "dp cost",
              "ranks", "even", "sapp cost", "sapp/dp", "sapp s");
  for (const Model& model : Models()) {
    if (!options.model.empty() && options.model != model.name) continue;
    const ir::Graph graph = model.make();
    for (const int64_t devices : {3, 5, 6, 7, 10, 12, 24, 96, 100, 1000, 1023}) {
      if (devices <= options.most_devices) PrintRow(model, graph, devices);
    }
  }
}

}  // namespace cleave::bench
