#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/search/tables.h"
#include "ir/transforms/precision/precision.h"
#include "search/model/cluster/machines.h"
#include "search/model/cluster/presets.h"
#include "search/testing/hand_plans.h"
#include "search/testing/models.h"

namespace cleave::bench {
namespace {

using search::testing::GptShape;
using search::testing::HandPlan;

// A run whose settings and speed were published. All are GPTs in 16 bits on hosts of eight A100 with 80 GB, with
// sequences of 2,048 tokens of 51,200, and make all blocks again in the backward pass.
struct PublishedRun {
  std::string source;
  std::string model;
  int64_t width = 0;
  int64_t heads = 0;
  int layers = 0;
  int64_t batch = 0;  // Sequences.
  HandPlan plan;
  double seconds = 0;  // Of a step.
  ir::PipelineSchedule schedule = {};

  int64_t devices() const { return plan.tensor * plan.stages * plan.data; }
  GptShape shape() const {
    return {.batch = batch, .seq = 2048, .vocab = 51200, .width = width, .heads = heads, .layers = layers};
  }
};

HandPlan PlanOf(int64_t tensor, int64_t stages, int64_t data, int64_t micro_batches, int zero = 0) {
  return {.tensor = tensor,
          .stages = stages,
          .data = data,
          .micro_batches = micro_batches,
          .zero = zero,
          .remakes_blocks = true,
          .orders_layers = false};
}

// Where what was published are operations per second and device, by their number in a step (Narayanan et al. 2021,
// equation 3).
PublishedRun ByRate(PublishedRun run, double tera_per_second) {
  const GptShape shape = run.shape();
  const auto width = static_cast<double>(shape.width);
  const double operations = 96.0 * static_cast<double>(shape.batch) * static_cast<double>(shape.seq) * shape.layers *
                            width * width *
                            (1 + static_cast<double>(shape.seq) / (6 * width) +
                             static_cast<double>(shape.vocab) / (16 * shape.layers * width));
  run.seconds = operations / (static_cast<double>(run.devices()) * tera_per_second * 1e12);
  return run;
}

std::vector<PublishedRun> Runs() {
  const auto run = [](std::string source, std::string model, int64_t width, int64_t heads, int layers, int64_t batch,
                      HandPlan plan, double seconds = 0, ir::PipelineSchedule schedule = {}) {
    return PublishedRun{std::move(source), std::move(model), width, heads, layers, batch, plan, seconds, schedule};
  };
  constexpr ir::PipelineSchedule kThreeStages(ir::PipelineSchedule::kInterleaved, 3);
  const std::string table5 = "Korthikanti et al. 2022, table 5", table2 = "Narayanan et al. 2021, table 2";
  const auto gpt3 = [&](HandPlan plan) { return run(table2, "175B", 12288, 96, 96, 1536, plan); };
  const auto turing = [&](int64_t batch, HandPlan plan) { return run(table2, "530B", 20480, 128, 105, batch, plan); };
  return {run(table5, "22B", 6144, 64, 48, 4, PlanOf(8, 1, 1, 1), 1.42),
          run(table5, "175B", 12288, 96, 96, 64, PlanOf(8, 8, 1, 64), 18.13, kThreeStages),
          run(table5, "530B", 20480, 128, 105, 280, PlanOf(8, 35, 1, 280), 49.05, kThreeStages),
          run(table5, "1T", 25600, 160, 128, 512, PlanOf(8, 64, 1, 512), 94.42),
          ByRate(gpt3(PlanOf(8, 12, 4, 384)), 153),
          ByRate(gpt3(PlanOf(8, 12, 8, 192)), 149),
          ByRate(gpt3(PlanOf(8, 12, 16, 96)), 141),
          ByRate(turing(2240, PlanOf(8, 35, 2, 1120)), 171),
          ByRate(turing(2240, PlanOf(8, 35, 4, 560)), 167),
          ByRate(turing(2240, PlanOf(8, 35, 8, 280)), 159),
          ByRate(gpt3(PlanOf(1, 1, 384, 1, 3)), 144),
          ByRate(gpt3(PlanOf(1, 1, 768, 1, 3)), 88),
          ByRate(gpt3(PlanOf(1, 1, 1536, 1, 3)), 44),
          ByRate(turing(2560, PlanOf(1, 1, 640, 1, 3)), 138),
          ByRate(turing(2240, PlanOf(1, 1, 1120, 1, 3)), 98),
          ByRate(turing(2240, PlanOf(1, 1, 2240, 1, 3)), 48)};
}

// Predicted over measured.
double PrintRow(const PublishedRun& run) {
  const int64_t hosts = run.devices() / 8;
  const std::string machines = hosts > 1 ? absl::StrCat("a100x8*", hosts) : "a100x8";
  const search::Cluster cluster = *search::ClusterOf(*search::FindPreset(machines), run.devices());
  const ir::Graph graph = ir::ApplyPrecision(search::testing::Gpt(run.shape()), ir::Precision::kBf16).graph;
  const auto seconds_of = [&](const HandPlan& plan) {
    const search::Execution execution = {.overlaps = true};
    return search::testing::PredictByHand(run.shape(), graph, plan, run.schedule, cluster, execution)->step.value();
  };
  const double predicted = seconds_of(run.plan);
  HandPlan ordered = run.plan;
  ordered.orders_layers = true;
  const double ratio = predicted / run.seconds;
  const std::string schedule = run.plan.stages > 1 ? ir::PipelineScheduleName(run.schedule) : "";
  std::printf("| %s | %s | %lld | %s | %s | %.2f | %.2f | %.2f | %.2f |\n", run.source.c_str(), run.model.c_str(),
              static_cast<long long>(run.devices()), search::testing::HandPlanText(run.plan).c_str(), schedule.c_str(),
              run.seconds, predicted, ratio, seconds_of(ordered));
  std::fflush(stdout);
  return ratio;
}

}  // namespace

void PrintPublished(const TableOptions& options) {
  std::printf("| source | model | GPUs | plan | schedule | measured, s | predicted, s | ratio | ordered, s |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  std::vector<double> errors;
  for (const PublishedRun& run : Runs()) {
    if (run.devices() <= options.most_devices && (options.model.empty() || options.model == run.model)) {
      errors.push_back(std::abs(PrintRow(run) - 1));
    }
  }
  if (errors.empty()) return;
  std::sort(errors.begin(), errors.end());
  std::printf("\nrelative errors: median %.0f %%, largest %.0f %%\n", 100 * errors[errors.size() / 2],
              100 * errors.back());
}

}  // namespace cleave::bench
