#include <algorithm>
#include <cstdio>
#include <vector>

#include "bench/search/cases.h"
#include "bench/search/tables.h"
#include "search/testing/models.h"

namespace cleave::bench {
namespace {

struct Times {
  double least = 0;
  double median = 0;
};

std::optional<Times> TimesOf(const ir::Graph& graph, const search::Cluster& cluster, ir::SearchAlgorithm algorithm,
                             int repetitions) {
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const std::optional<Found> found = Find(graph, cluster, algorithm);
    if (!found.has_value()) return std::nullopt;
    seconds.push_back(found->seconds);
  }
  std::sort(seconds.begin(), seconds.end());
  return Times{.least = seconds.front(), .median = seconds[seconds.size() / 2]};
}

void PrintRow(int layers, int64_t devices, const TableOptions& options) {
  search::testing::GptShape shape = search::testing::Gpt3(1536);
  shape.layers = layers;
  const ir::Graph graph = search::testing::Gpt(shape);
  std::printf("%6d %6zu %7lld", layers, graph.ops.size(), static_cast<long long>(devices));
  for (const ir::SearchAlgorithm algorithm : {ir::SearchAlgorithm::kSapp, ir::SearchAlgorithm::kExact}) {
    const std::optional<Times> times = TimesOf(graph, Hierarchical(devices), algorithm, options.repetitions);
    if (times.has_value()) {
      std::printf(" %9.3f %9.3f", times->least, times->median);
    } else {
      std::printf(" %9s %9s", "-", "-");
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

void PrintSpeed(const TableOptions& options) {
  std::printf("GPT-3's shape, hosts of 8, seconds of %d searches\n", options.repetitions);
  std::printf("%6s %6s %7s %9s %9s %9s %9s\n", "layers", "ops", "devices", "sapp min", "median", "exact min", "median");
  const std::pair<int, int64_t> cases[] = {{10, 1024}, {100, 1024}, {96, 64}, {96, 1024}, {96, 16384}};
  for (const auto& [layers, devices] : cases) {
    if (devices <= options.most_devices) PrintRow(layers, devices, options);
  }
  std::printf("# published: autoparallel 46.9 s for 32 layers on 64 devices, 29.7 s on 1,024\n");
}

}  // namespace cleave::bench
