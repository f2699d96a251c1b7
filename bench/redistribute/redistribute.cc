// Question: how long does it take to plan a redistribution, and how far from the cheapest can its path be?
//
//   redistribute [PAIRS [SEED]]    1000 pairs of random layouts per line, seed 1.
//
// Meshes of 8 to 1,024 ranks, with axes of one link and with an outer link ten times as expensive; tensors that are cut
// evenly and unevenly. Times are processor times, of pairs that are planned one by one; `kept us` is the mean time
// where one planner plans all pairs of a line. `proven`: plans that are known to be the cheapest. `over bound`: cost
// over the lower bound (over the cost where that is proven) summed over all plans, an upper limit of their loss;
// `worst`: the same of the worst plan that has a bound. Where pieces are unequal the bound is loose, and says little
// about the plans.
#include "ir/program/redistribute/redistribute.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/program/redistribute/sampling.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"

namespace cleave::bench {
namespace {

// The outer half of the axes crosses a link of weight 1, the others one of `inner_weight`.
ir::Mesh MeshOf(const std::vector<int64_t>& sizes, double inner_weight) {
  std::vector<ir::MeshAxis> axes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    axes.push_back(
        {.name = "m" + std::to_string(i), .size = sizes[i], .weight = 2 * i < sizes.size() ? 1 : inner_weight});
  }
  return *ir::Mesh::Create(std::move(axes));
}

// Processor time, so that other programs on the machine do not count.
double ThreadMicroseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

struct Measurements {
  std::vector<double> microseconds;
  double kept_microseconds = 0;
  double cost = 0;
  double bound = 0;
  double worst = 1;
  int proven = 0;
};

void Measure(const ir::Mesh& mesh, const ir::TensorType& type, bool may_be_partial, int pairs, std::mt19937& random,
             Measurements& all) {
  ir::RedistributionPlanner planner(mesh);
  for (int i = 0; i < pairs; ++i) {
    const ir::Layout source = ir::RandomLayout(mesh, type.shape.size(), may_be_partial, random);
    const ir::Layout target = ir::RandomLayout(mesh, type.shape.size(), false, random);
    const double start = ThreadMicroseconds();
    const absl::StatusOr<ir::Redistribution> plan = ir::PlanRedistribution(mesh, type, source, target);
    const double end = ThreadMicroseconds();
    all.microseconds.push_back(end - start);
    (void)planner.Plan(type, source, target);
    all.kept_microseconds += ThreadMicroseconds() - end;
    const double bound = ir::CostAtLeast(mesh, type, source, target);
    all.cost += plan->cost;
    all.bound += plan->is_cheapest ? plan->cost : bound;
    if (!plan->is_cheapest && bound > 0) all.worst = std::max(all.worst, plan->cost / bound);
    all.proven += plan->is_cheapest ? 1 : 0;
  }
}

void Run(int pairs, unsigned seed) {
  const std::pair<const char*, std::vector<int64_t>> meshes[] = {
      {"8 = 2^3", {2, 2, 2}},
      {"64 = 2^6", {2, 2, 2, 2, 2, 2}},
      {"96 = 3*2^5", {3, 2, 2, 2, 2, 2}},
      {"256 = 2^8", {2, 2, 2, 2, 2, 2, 2, 2}},
      {"320 = 5*2^6", {5, 2, 2, 2, 2, 2, 2}},
      {"1024 = 2^10", {2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
  };
  const ir::Shape shapes[] = {{30720, 30720}, {30720, 1024, 15360}, {1000, 30522}, {64, 512, 12, 64}};
  std::printf("%-12s %-7s %-20s %8s %9s %9s %9s %8s %11s %7s\n", "ranks", "partial", "shape", "inner w", "median us",
              "max us", "kept us", "proven", "over bound", "worst");
  std::mt19937 random(seed);
  for (const auto& [name, sizes] : meshes) {
    for (const bool may_be_partial : {false, true}) {
      for (const double inner_weight : {1.0, 0.1}) {
        for (const ir::Shape& shape : shapes) {
          Measurements all;
          Measure(MeshOf(sizes, inner_weight), {ir::DType::kF32, shape}, may_be_partial, pairs, random, all);
          std::sort(all.microseconds.begin(), all.microseconds.end());
          std::printf("%-12s %-7s %-20s %8.1f %9.0f %9.0f %9.1f %7.1f%% %11.3f %7.2f\n", name,
                      may_be_partial ? "yes" : "no", ir::ShapeText(shape).c_str(), inner_weight,
                      all.microseconds[all.microseconds.size() / 2], all.microseconds.back(),
                      all.kept_microseconds / pairs, 100.0 * all.proven / pairs,
                      all.bound > 0 ? all.cost / all.bound : 1, all.worst);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  cleave::bench::Run(argc > 1 ? std::atoi(argv[1]) : 1000, argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1);
}
