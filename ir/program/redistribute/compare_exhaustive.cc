// Compares the planner with brute force on random meshes, shapes and pairs of layouts.
//
//   compare_exhaustive [PROBLEMS [SEED]]
//       Takes 100 sources, each to all targets, with seed 1, on up to eight ranks, where every plan must be the
//       cheapest. Exits with 1 at the first plan that is not.
//   compare_exhaustive PROBLEMS SEED AXES
//       On AXES axes of two ranks, where the search is bounded above three axes. Prints how many plans are the
//       cheapest, and what the others cost.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/program/redistribute/exhaustive.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {
namespace {

Mesh RandomMesh(std::mt19937& random, size_t axes_of_two) {
  static const std::vector<std::vector<int64_t>> kSizes = {{2},    {3},    {5},    {7},    {2, 2},
                                                           {3, 2}, {2, 3}, {4, 2}, {2, 4}, {2, 2, 2}};
  static const std::vector<double> kWeights = {1, 1, 1, 0.5, 0.3, 0.1, 0.05};
  std::vector<int64_t> sizes(axes_of_two, 2);
  if (axes_of_two == 0) sizes = kSizes[random() % kSizes.size()];
  std::vector<MeshAxis> axes;
  for (int64_t size : sizes) {
    axes.push_back(
        {.name = "m" + std::to_string(axes.size()), .size = size, .weight = kWeights[random() % kWeights.size()]});
  }
  return *Mesh::Create(axes);
}

struct Quality {
  int64_t pairs = 0;
  int64_t cheapest = 0;
  int64_t proven = 0;
  double cost = 0;
  double least = 0;
  double worst = 1;
};

void Measure(RedistributionPlanner& planner, const TensorType& type, const Layout& source,
             const std::map<Layout, Exhaustive::Distance>& distances, Quality& quality) {
  for (const auto& [target, best] : distances) {
    if (!UsesEveryAxis(planner.mesh(), source, target)) continue;
    const absl::StatusOr<Redistribution> plan = planner.Plan(type, source, target);
    const double ratio = best.cost > 0 ? plan->cost / best.cost : 1;
    ++quality.pairs;
    quality.cheapest += ratio < 1 + 1e-9 ? 1 : 0;
    quality.proven += plan->is_cheapest ? 1 : 0;
    quality.cost += plan->cost;
    quality.least += best.cost;
    quality.worst = std::max(quality.worst, ratio);
  }
}

int Main(int problems, unsigned seed, size_t axes_of_two) {
  std::mt19937 random(seed);
  Quality quality;
  for (int i = 0; i < problems; ++i) {
    const Mesh mesh = RandomMesh(random, axes_of_two);
    TensorType type{DType::kF32, Shape(1 + random() % (axes_of_two > 3 ? 2 : 4))};
    for (int64_t& size : type.shape) size = 1 + static_cast<int64_t>(random() % 9) * (random() % 3 == 0 ? 8 : 1);
    if (axes_of_two > 3 && random() % 2 == 0) type.shape.assign(type.shape.size(), int64_t{1} << axes_of_two);
    RedistributionPlanner planner(mesh);
    const Exhaustive exhaustive(mesh, type, {Reduction::kSum});
    const Layout& source = exhaustive.layouts()[random() % exhaustive.layouts().size()];
    const std::map<Layout, Exhaustive::Distance> distances = exhaustive.From(source);
    if (axes_of_two == 0) {
      for (const Layout& target : exhaustive.layouts()) {
        if (!UsesEveryAxis(mesh, source, target)) continue;
        const std::string wrong = Disagreement(planner, type, source, target, distances);
        if (wrong.empty()) continue;
        std::printf("problem %d of seed %u: %s\n", i, seed, wrong.c_str());
        return 1;
      }
    }
    Measure(planner, type, source, distances, quality);
  }
  std::printf("%lld pairs, %.2f%% the cheapest, %.2f%% proven, cost over brute force %.4f in all, %.2f at worst\n",
              static_cast<long long>(quality.pairs),
              100.0 * static_cast<double>(quality.cheapest) / static_cast<double>(quality.pairs),
              100.0 * static_cast<double>(quality.proven) / static_cast<double>(quality.pairs),
              quality.cost / std::max(quality.least, 1e-9), quality.worst);
  return 0;
}

}  // namespace
}  // namespace cleave::ir

int main(int argc, char** argv) {
  return cleave::ir::Main(argc > 1 ? std::atoi(argv[1]) : 100, argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1,
                          argc > 3 ? static_cast<size_t>(std::atoi(argv[3])) : 0);
}
