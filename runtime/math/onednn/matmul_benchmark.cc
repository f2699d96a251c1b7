// GFLOP/s of the products of a dense layer: forward, gradient of the input, gradient of the weight.
#include <benchmark/benchmark.h>

#include <vector>

#include "runtime/math/math.h"

namespace cleave::runtime {
namespace {

void Product(benchmark::State& state) {
  const MatMulShape shape = {.m = state.range(0),
                             .n = state.range(1),
                             .k = state.range(2),
                             .transpose_a = state.range(3) != 0,
                             .transpose_b = state.range(4) != 0};
  std::vector<float> a(static_cast<size_t>(shape.m * shape.k), 1.0f);
  std::vector<float> b(static_cast<size_t>(shape.k * shape.n), 1.0f);
  std::vector<float> c(static_cast<size_t>(shape.m * shape.n));
  for (auto _ : state) MatMul(shape, a.data(), b.data(), c.data());
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(shape.m * shape.n * shape.k),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Product)
    ->ArgNames({"m", "n", "k", "ta", "tb"})
    ->Args({256, 512, 784, 0, 1})
    ->Args({256, 784, 512, 0, 0})
    ->Args({512, 784, 256, 1, 0})
    ->Args({256, 10, 512, 0, 1})
    ->Args({10, 512, 256, 1, 0})
    ->Args({1024, 1024, 1024, 0, 0})
    ->UseRealTime();

}  // namespace
}  // namespace cleave::runtime

BENCHMARK_MAIN();
