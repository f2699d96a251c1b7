#include "bench/search/cases.h"

#include <ctime>
#include <utility>

#include "search/testing/image_models.h"
#include "search/testing/models.h"

namespace cleave::bench {
namespace {

constexpr double kFastLink = 2e11;  // Bytes per second; only the ratio to the slow one matters.
constexpr double kSlowLink = 2e10;

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

ir::Graph TwelveLayers() {
  return search::testing::Gpt({.batch = 32, .seq = 1024, .vocab = 50304, .width = 768, .heads = 12, .layers = 12});
}

}  // namespace

const std::vector<Model>& Models() {
  using search::testing::Mlp;
  static const std::vector<Model> models = {
      {"mlp-3", search::testing::SeedNetwork},
      {"mlp-6", [] { return Mlp(1024, std::vector<int64_t>(7, 1024)); }},
      {"mlp-24", [] { return Mlp(4096, std::vector<int64_t>(25, 4096)); }},
      {"resnet-34",
       [] {
         return search::testing::ResNet(
             {.batch = 256, .size = 224, .channels = 64, .blocks = {3, 4, 6, 3}, .classes = 1000});
       }},
      {"unet-4", [] { return search::testing::UNet({.batch = 64, .size = 256, .channels = 64, .levels = 4}); }},
      {"experts-12",
       [] {
         return search::testing::MixtureOfExperts(
             {.tokens = 16384, .width = 1024, .hidden = 4096, .experts = 8, .layers = 12});
       }},
      {"gpt-12", TwelveLayers},
      {"gpt-96", [] { return search::testing::Gpt(search::testing::Gpt3(1536)); }},
  };
  return models;
}

search::Cluster Flat(int64_t devices) {
  return {.name = "flat", .links = {{.name = "host", .count = devices, .bytes_per_second = kFastLink}}};
}

search::Cluster Hierarchical(int64_t devices) {
  int64_t inside = 8;
  while (devices % inside != 0) --inside;
  return {.name = "hosts",
          .links = {{.name = "network", .count = devices / inside, .bytes_per_second = kSlowLink},
                    {.name = "host", .count = inside, .bytes_per_second = kFastLink}}};
}

std::optional<Found> Find(const ir::Graph& graph, const search::Cluster& cluster, ir::SearchAlgorithm algorithm) {
  Diagnostics diagnostics;
  const double start = ThreadSeconds();
  std::optional<ir::Plan> plan =
      search::Search(graph, cluster, {}, {.algorithm = algorithm, .dataset = {}}, diagnostics);
  const double seconds = ThreadSeconds() - start;
  if (!plan.has_value()) return std::nullopt;
  return Found{.plan = *std::move(plan), .seconds = seconds};
}

}  // namespace cleave::bench
