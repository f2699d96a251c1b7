#include "search/explain/ledger.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/program/fuse/fuse.h"
#include "ir/transforms/precision/precision.h"
#include "search/knobs/memory/memory.h"
#include "search/model/cluster/machines.h"
#include "search/model/cluster/presets.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// A model with a plan, as it is chosen by a seed.
struct LedgerCase {
  ir::Graph graph;
  Cluster cluster;
  SearchOptions options;
  ir::Pins pins;
  std::string text;
  ir::Plan plan = {};
  ir::LoweredProgram made = {};
  StepPrediction predicted = {};

  Explained explained() const {
    return {.graph = graph,
            .plan = plan,
            .cluster = cluster,
            .execution = options.execution,
            .made = made,
            .predicted = predicted.whole,
            .pins = pins};
  }
};

class Draws {
 public:
  explicit Draws(uint32_t seed) : random_(seed) {}

  template <typename T>
  T OneOf(const std::vector<T>& choices) {
    return choices[random_() % choices.size()];
  }

 private:
  std::mt19937 random_;
};

ir::Graph DrawGraph(Draws& draws) {
  switch (draws.OneOf<int>({0, 1, 2, 3})) {
    case 0:
      return testing::Mlp(256, {512, 1024, 512, 256, 1});
    case 1:
      return testing::MixtureOfExperts({.tokens = 128, .layers = 1});
    default:
      return testing::Gpt({.batch = 16, .seq = 32, .vocab = 64, .width = 64, .heads = 4, .layers = 2});
  }
}

LedgerCase DrawCase(uint32_t seed) {
  Draws draws(seed);
  LedgerCase drawn{.graph = DrawGraph(draws)};
  const auto precision = draws.OneOf<ir::Precision>({ir::Precision::kF32, ir::Precision::kBf16});
  drawn.graph = ir::ApplyPrecision(drawn.graph, precision).graph;
  const auto host = draws.OneOf<std::string>({"cpu", "cpu", "h100x8", "h100x8*2", "v100x8"});
  const int64_t devices = host == "h100x8*2" ? 16 : draws.OneOf<int64_t>({1, 2, 4, 8});
  drawn.cluster = *ClusterOf(*FindPreset(host), devices);
  SearchOptions& options = drawn.options;
  ir::ParallelSettings& settings = drawn.pins.settings;
  options.algorithm =
      draws.OneOf<ir::SearchAlgorithm>({ir::SearchAlgorithm::kSapp, ir::SearchAlgorithm::kDataParallel});
  options.price = ir::Price::kTime;
  options.zero = draws.OneOf<int>({0, 0, 1, 2, 3});
  options.micro_batches = draws.OneOf<int64_t>({1, 1, 2, 4});
  options.recompute = draws.OneOf<ir::Recompute>({ir::Recompute::kAuto, ir::Recompute::kFull});
  options.execution.overlaps = host != "cpu";
  settings.recompute = options.recompute;
  settings.stages = devices > 1 ? draws.OneOf<int64_t>({1, 1, 2}) : 1;
  settings.pipeline_schedule = draws.OneOf<ir::PipelineSchedule>(
      {ir::PipelineSchedule::kGPipe, ir::PipelineSchedule::kOneForwardOneBackward, ir::PipelineSchedule::kZeroBubble});
  drawn.text =
      absl::StrCat("seed ", seed, ": ", drawn.graph.model, " on ", devices, " of ", host, ", zero ", *options.zero,
                   ", ", options.micro_batches, " micro-batches, ", *settings.stages, " stages");
  return drawn;
}

// Whether the case has a plan.
bool FindPlan(LedgerCase& drawn) {
  Diagnostics diagnostics;
  const std::optional<ir::Plan> plan = Search(drawn.graph, drawn.cluster, drawn.pins, drawn.options, diagnostics);
  if (!plan.has_value()) return false;
  drawn.plan = *plan;
  drawn.made = *ProgramOf(drawn.graph, drawn.plan, drawn.cluster, drawn.options.execution);
  drawn.predicted = PredictStep(drawn.made, drawn.cluster, drawn.options.execution);
  return true;
}

// The kernels of the program that runs on a rank, counted without their costs.
int64_t KernelsOf(const ir::Program& program, const ir::Fusion& fusion) {
  int64_t kernels = 0;
  for (const ir::FusedStage& stage : fusion.stages) {
    const ir::Step& first = program.steps[static_cast<size_t>(ir::StepsOf(stage).front())];
    const bool is_sum =
        std::holds_alternative<ir::Collective>(first.action) && ir::CommunicationOf(program, first) == nullptr;
    const bool computes =
        ir::ComputeOf(first) != nullptr && (ir::StepsOf(stage).size() > 1 || !fusion.DoesNothing(first));
    if (stage.phase != ir::Phase::kMetric && (computes || is_sum)) kernels += ir::RunsOf(program, first);
  }
  return kernels;
}

void ExpectNear(double a, double b, const char* what) { EXPECT_NEAR(a, b, 1e-9 * std::max(a, b) + 1e-18) << what; }

// No stream does two things at once, and the step ends where the last of them does: later only for what computing loses
// beside communication.
void ExpectTimeline(const Ledger& ledger, bool overlaps) {
  std::map<bool, Seconds> free;  // Of collectives, and of all else.
  Seconds end{0}, seconds{0};
  const Seconds rounding = ledger.step * 1e-9;
  for (const TimedRow& run : ledger.timeline) {
    const LedgerRow& row = ledger.rows[static_cast<size_t>(run.row)];
    if (run.seconds == Seconds(0) || row.kind == WorkKind::kCopy) continue;
    Seconds& own = free[row.kind == WorkKind::kCollective];
    EXPECT_GE(run.begin + rounding, own) << row.names.front();
    own = run.begin + run.seconds;
    end = std::max(end, own);
    seconds += run.seconds;
  }
  EXPECT_LE(end, ledger.step + rounding);
  if (!overlaps) ExpectNear(end.value(), ledger.step.value(), "the end");
  ExpectNear(seconds.value(), (ledger.sum.compute + ledger.sum.communication).value(), "the timeline");
}

void ExpectSums(const LedgerCase& drawn, int rank) {
  const Ledger ledger = LedgerOf(drawn.explained(), rank);
  double compute = 0, communication = 0, copies = 0, sent = 0;
  int64_t kernels = 0;
  for (const LedgerRow& row : ledger.rows) {
    const bool is_sent = row.kind == WorkKind::kCollective, is_copy = row.kind == WorkKind::kCopy;
    (is_sent ? communication : is_copy ? copies : compute) += row.AllSeconds().value();
    sent += row.each.sent * static_cast<double>(row.Runs());
    if (!is_sent && !is_copy && row.kind != WorkKind::kInput && row.kind != WorkKind::kSlice) kernels += row.Runs();
    EXPECT_LE(row.at_peak.value(), row.each.seconds.value() * (1 + 1e-9)) << row.names.front();
    if (row.each.limit == Limit::kLaunch) EXPECT_EQ(row.each.seconds, drawn.cluster.kernel_floor);
    if (row.each.limit == Limit::kMemory && drawn.cluster.caches.empty()) {
      const auto bytes = static_cast<double>(row.each.bytes.value());
      ExpectNear(row.each.seconds.value(), bytes / drawn.cluster.memory_bytes_per_second, "memory");
    }
  }
  ExpectNear(compute, ledger.sum.compute.value(), "compute");
  ExpectNear(communication, ledger.sum.communication.value(), "communication");
  ExpectNear(copies, ledger.sum.host_copies.value(), "copies");
  ExpectNear(sent, ledger.sum.sent_bytes_per_rank, "sent");
  const double step = drawn.predicted.whole.step.value();
  ExpectNear(compute + communication + copies - ledger.beside.value() + ledger.idle.value(), step, "step");
  ExpectNear(ledger.step.value(), step, "step");
  EXPECT_GE(step, compute * (1 - 1e-9)) << "a rank computes one thing after the other";
  EXPECT_GE(ledger.beside.value(), -1e-9 * step);
  EXPECT_GE(ledger.idle.value(), -1e-9 * step);
  EXPECT_LE(ledger.model_at_peak.value(), step);
  const Prediction& whole = drawn.predicted.whole;
  if (drawn.made.parts.empty()) {
    EXPECT_EQ(ledger.sum.compute, whole.compute);
    EXPECT_EQ(ledger.sum.communication, whole.communication);
    EXPECT_EQ(ledger.idle, Seconds(0));
    if (!drawn.options.execution.overlaps) ExpectNear(compute + communication + copies, step, "one after the other");
    ExpectTimeline(ledger, drawn.options.execution.overlaps);
    EXPECT_EQ(kernels, KernelsOf(drawn.made.program, drawn.made.memory.fusion));
  } else {
    EXPECT_LE(ledger.sum.compute, whole.compute);
    EXPECT_LE(ledger.sum.communication, whole.communication);
    const auto part =
        static_cast<size_t>(ir::RankMesh(drawn.made.program).Index(rank, {drawn.made.program.pipeline->axis}));
    EXPECT_EQ(kernels, KernelsOf(drawn.made.parts[part].program, drawn.made.parts[part].memory.fusion));
  }
}

TEST(LedgerTest, RowsAddUpToThePredictedStep) {
  std::map<std::string, int> seen;
  for (uint32_t seed = 1; seed <= 16; ++seed) {
    LedgerCase drawn = DrawCase(seed);
    SCOPED_TRACE(drawn.text);
    if (!FindPlan(drawn)) continue;
    const int last = drawn.plan.mesh.rank_count() - 1;
    for (const int rank : {0, last}) ExpectSums(drawn, rank);
    ++seen[drawn.options.execution.overlaps ? "cuda" : "cpu"];
    if (!drawn.made.parts.empty()) ++seen["pipeline"];
    if (drawn.options.micro_batches > 1) ++seen["micro-batches"];
    if (drawn.options.zero > 0 && last > 0) ++seen["zero"];
    if (drawn.options.recompute == ir::Recompute::kFull) ++seen["recompute"];
  }
  for (const char* const kind : {"cuda", "cpu", "pipeline", "micro-batches", "zero", "recompute"}) {
    EXPECT_GE(seen[kind], 2) << kind;
  }
}

// Three products of each layer, but that by the images.
TEST(LedgerTest, ProductsOfAnMlpAreThoseOfTheFormula) {
  const std::vector<int64_t> widths = {64, 128, 32, 1};
  constexpr int64_t kBatch = 256;
  LedgerCase mlp{.graph = testing::Mlp(kBatch, widths), .cluster = CpuCluster(1)};
  ASSERT_TRUE(FindPlan(mlp));
  double flops = -2.0 * kBatch * 64 * 128;
  for (size_t i = 1; i < widths.size(); ++i) flops += 6.0 * kBatch * static_cast<double>(widths[i - 1] * widths[i]);
  const Ledger ledger = LedgerOf(mlp.explained(), 0);
  EXPECT_DOUBLE_EQ(ledger.model.value(), flops);
  EXPECT_DOUBLE_EQ(ledger.model_at_peak.value(), flops / mlp.cluster.peak.f32);
  int64_t products = 0;
  double at_peak = 0;
  for (const LedgerRow& row : ledger.rows) {
    if (row.kind == WorkKind::kProduct) products += row.Runs();
    at_peak += row.at_peak.value() * static_cast<double>(row.Runs());
  }
  EXPECT_EQ(products, 8);
  EXPECT_DOUBLE_EQ(at_peak, ledger.model_at_peak.value());
}

TEST(LedgerTest, EqualLayersAreOneRow) {
  const auto rows = [](int layers) {
    LedgerCase gpt{.graph = testing::Gpt({.layers = layers}), .cluster = CpuCluster(1)};
    EXPECT_TRUE(FindPlan(gpt));
    return LedgerOf(gpt.explained(), 0).rows.size();
  };
  EXPECT_EQ(rows(4), rows(8));
}

TEST(LedgerTest, WhatBoundsAProductIsSaid) {
  LedgerCase mlp{.graph = testing::Mlp(4096, {4096, 4096, 1}), .cluster = *ClusterOf(*FindPreset("h100x8"), 1)};
  ASSERT_TRUE(FindPlan(mlp));
  const std::vector<LedgerRow> rows = LedgerOf(mlp.explained(), 0).rows;
  const auto large = std::max_element(rows.begin(), rows.end(),
                                      [](const auto& a, const auto& b) { return a.each.flops < b.each.flops; });
  EXPECT_EQ(large->each.limit, Limit::kArithmetic);
  EXPECT_EQ(large->kind, WorkKind::kProduct);
  EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.each.limit == Limit::kLaunch; }));
}

}  // namespace
}  // namespace cleave::search
