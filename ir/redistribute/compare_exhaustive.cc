// Compares the planner with brute force on random meshes of up to eight ranks, shapes and pairs of layouts.
//
//   compare_exhaustive [PROBLEMS [SEED]]    100 sources, each to all targets, seed 1. Exits with 1 at the first that differs.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "ir/redistribute/exhaustive.h"

namespace cleave {
namespace {

Mesh RandomMesh(std::mt19937& random) {
  static const std::vector<std::vector<int64_t>> kSizes = {{2},    {3},    {5},    {7},    {2, 2}, {3, 2},
                                                           {2, 3}, {4, 2}, {2, 4}, {2, 2, 2}};
  static const std::vector<double> kWeights = {1, 1, 1, 0.5, 0.3, 0.1, 0.05};
  std::vector<MeshAxis> axes;
  for (int64_t size : kSizes[random() % kSizes.size()]) {
    axes.push_back({.name = "m" + std::to_string(axes.size()), .size = size, .weight = kWeights[random() % 7]});
  }
  return *Mesh::Create(axes);
}

int Main(int problems, unsigned seed) {
  std::mt19937 random(seed);
  int64_t pairs = 0;
  for (int i = 0; i < problems; ++i) {
    const Mesh mesh = RandomMesh(random);
    TensorType type{DType::kF32, Shape(1 + random() % 4)};
    for (int64_t& size : type.shape) size = 1 + static_cast<int64_t>(random() % 9) * (random() % 3 == 0 ? 8 : 1);
    const Exhaustive exhaustive(mesh, type, {Reduction::kSum, Reduction::kMax});
    const Layout& source = exhaustive.layouts()[random() % exhaustive.layouts().size()];
    const auto distances = exhaustive.From(source);
    for (const Layout& target : exhaustive.layouts()) {
      ++pairs;
      const std::string wrong = Disagreement(mesh, type, source, target, distances);
      if (wrong.empty()) continue;
      std::printf("problem %d of seed %u: %s\n", i, seed, wrong.c_str());
      return 1;
    }
  }
  std::printf("%lld pairs, all as cheap as by brute force\n", static_cast<long long>(pairs));
  return 0;
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) {
  return cleave::Main(argc > 1 ? std::atoi(argv[1]) : 100, argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1);
}
