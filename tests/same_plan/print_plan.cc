// Prints the plans that a search finds for some models and clusters: everything except the time that the search took.
//
//   print_plan ALGORITHM          "sapp"
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/sharding/layout/layout.h"
#include "search/model/cluster/cluster.h"
#include "search/search.h"
#include "search/testing/image_models.h"
#include "search/testing/models.h"
#include "search/testing/small_graphs.h"

namespace cleave::tests {
namespace {

search::Cluster Hosts(int64_t hosts, int64_t devices) {
  search::Cluster cluster;
  cluster.name = "hosts";
  cluster.links = {{.name = "network", .count = hosts, .bytes_per_second = 1e10},
                   {.name = "host", .count = devices, .bytes_per_second = 1e11}};
  return cluster;
}

// Every bit of the number.
std::string Exactly(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", number);
  return text;
}

void Print(const ir::Strategy& strategy, const ir::Mesh& mesh) {
  for (const ir::AxisList& axes : strategy.cuts) {
    std::cout << " [";
    for (ir::AxisId axis : axes) std::cout << " " << mesh.axis(axis).name;
    std::cout << " ]";
  }
  for (const ir::PassThrough& pass : strategy.passes) {
    std::cout << " pass " << mesh.axis(pass.axis).name << " " << pass.group;
  }
  std::cout << "\n";
}

void Print(const ir::Graph& graph, const ir::Plan& plan) {
  std::cout << plan.mesh.ToString() << " cost " << Exactly(plan.search.cost) << "\n";
  for (const ir::Op& op : graph.ops) {
    const ir::OpPlan& planned = plan.ops[op.id];
    std::cout << op.name << " " << ir::DecidedByName(planned.decided_by) << ": " << planned.reason << "\n";
    Print(planned.strategy, plan.mesh);
    if (planned.output.has_value()) std::cout << "  seen as " << ir::LayoutText(*planned.output, plan.mesh) << "\n";
    for (const ir::Choice& choice : planned.choices) {
      std::cout << "  " << Exactly(choice.cost);
      Print(choice.strategy, plan.mesh);
    }
  }
}

int Run(ir::SearchAlgorithm algorithm) {
  std::vector<ir::Graph> graphs = {search::testing::SeedNetwork(), search::testing::Gpt({}),
                                   search::testing::ResNet({}), search::testing::MixtureOfExperts({})};
  for (uint64_t seed = 1; seed <= 10; ++seed) graphs.push_back(search::testing::RandomSmallGraph(seed));
  for (const ir::Graph& graph : graphs) {
    for (const search::Cluster& cluster : {Hosts(1, 6), Hosts(2, 4)}) {
      Diagnostics diagnostics;
      const std::optional<ir::Plan> plan =
          search::Search(graph, cluster, {}, {.algorithm = algorithm, .dataset = {}}, diagnostics);
      for (const Diagnostic& diagnostic : diagnostics.items()) std::cout << diagnostic.message << "\n";
      if (!plan.has_value()) return 1;
      Print(graph, *plan);
    }
  }
  return 0;
}

}  // namespace
}  // namespace cleave::tests

int main(int argc, char** argv) {
  const std::optional<cleave::ir::SearchAlgorithm> algorithm = cleave::search::ParseAlgorithm(argc > 1 ? argv[1] : "");
  if (!algorithm.has_value()) {
    std::cerr << "usage: print_plan ALGORITHM\n";
    return 2;
  }
  return cleave::tests::Run(*algorithm);
}
