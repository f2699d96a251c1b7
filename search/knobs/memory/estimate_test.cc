#include "search/knobs/memory/estimate.h"

#include <cstdint>
#include <optional>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/recompute/recompute.h"
#include "search/price/cost/predict.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

ir::Plan DataParallelPlan(const ir::Graph& graph, const Cluster& cluster, int zero, int64_t micro_batches) {
  Diagnostics diagnostics;
  const SearchOptions options{
      .algorithm = ir::SearchAlgorithm::kDataParallel, .dataset = {}, .zero = zero, .micro_batches = micro_batches};
  return *Search(graph, cluster, {}, options, diagnostics);
}

TEST(EstimatorTest, IsNearToWhatTheProgramOfAllLayersTakes) {
  const Cluster cluster = CpuCluster(4);
  // Gradients of one layer fill messages, or those of several layers share one, or those of all.
  for (const int64_t width : {1024, 256, 32}) {
    const ir::Graph graph = testing::Gpt({.batch = 16, .seq = 64, .width = width, .layers = 18});
    for (const int zero : {0, 1, 2, 3}) {
      for (const int64_t micro_batches : {1, 2}) {
        const ir::Plan plan = DataParallelPlan(graph, cluster, zero, micro_batches);
        const bool overlaps = zero % 2 == 1;
        SCOPED_TRACE(::testing::Message() << "width " << width << ", zero " << zero << ", " << micro_batches
                                          << " parts, overlap " << overlaps);
        const Execution execution{.overlaps = overlaps};
        const SearchedGraph model(graph);
        Estimator estimator(model, cluster, execution);
        const Estimate* const estimate = estimator.Of(plan);
        ASSERT_NE(estimate, nullptr);
        const ir::LoweredProgram all = *ProgramOf(graph, plan, cluster, execution);
        const auto peak = static_cast<double>(all.memory.use.prediction.peak.value());
        // Gaps in the arena are a larger part of what small layers take.
        EXPECT_NEAR(static_cast<double>(estimate->peak.value()), peak, (width < 256 ? 0.2 : 0.02) * peak);
        const double step = Predict(all.program, all.memory.fusion, cluster, overlaps).step.value();
        EXPECT_NEAR(estimate->step.value(), step, 0.02 * step);
        Recomputation recomputation(all.distributed, all.program, all.memory, cluster, {}, {});
        EXPECT_LE(static_cast<double>(estimate->least.value()),
                  1.02 * static_cast<double>(recomputation.Smallest().peak.value()));
        EXPECT_GE(estimate->least, LeastMemory(graph, plan));
      }
    }
  }
}

// Against the choice for all layers.
TEST(EstimatorTest, TellsHowLongAStepTakesWithinALimit) {
  const ir::Graph graph = testing::Gpt({.batch = 64, .seq = 256, .width = 512, .layers = 18});
  const Cluster cluster = CpuCluster(4);
  const Execution execution;
  for (const int zero : {0, 3}) {
    ir::Plan plan = DataParallelPlan(graph, cluster, zero, 1);
    plan.moves_steps = true;
    const ir::LoweredProgram all = *ProgramOf(graph, plan);
    const Bytes peak = all.memory.use.prediction.peak;
    Recomputation recomputation(all.distributed, all.program, all.memory, cluster, {}, {});
    const Bytes besides = peak - recomputation.PeakAsAsked();
    const SearchedGraph model(graph);
    Estimator estimator(model, cluster, execution);
    const Estimate* const estimate = estimator.Of(plan);
    ASSERT_NE(estimate, nullptr);
    EXPECT_LE(estimate->AtLeast().value(), (recomputation.LeastPeak() + besides).value() * 1.05);
    for (const int percent : {90, 75, 60, 45}) {
      SCOPED_TRACE(::testing::Message() << "zero " << zero << ", " << percent << " %");
      const Bytes limit(peak.value() * percent / 100);
      const std::optional<RecomputeChoice> choice = recomputation.Cheapest(limit - besides);
      const std::optional<RecomputeChoice> own = estimate->ChoiceWithin(limit);
      ASSERT_TRUE(choice.has_value());
      ASSERT_TRUE(own.has_value());
      const std::optional<Estimator::Taken> taken = estimator.With(plan, *own);
      ASSERT_TRUE(taken.has_value());
      const double expected = (StepOf(all, cluster, execution) + choice->seconds).value();
      EXPECT_NEAR(taken->step.value(), expected, 0.05 * expected);
      // The program of all layers that make the same again.
      const ir::LoweredProgram thrifty = *ProgramOf(graph, estimator.WholeWith(plan, *own));
      const auto measured_peak = static_cast<double>(thrifty.memory.use.prediction.peak.value());
      EXPECT_LE(measured_peak, 1.03 * static_cast<double>(limit.value()));
      EXPECT_NEAR(static_cast<double>(taken->peak.value()), measured_peak, 0.05 * measured_peak);
      const double measured = StepOf(thrifty, cluster, execution).value();
      EXPECT_NEAR(taken->step.value(), measured, 0.002 * measured);
    }
    EXPECT_FALSE(estimate->ChoiceWithin(Bytes(estimate->AtLeast().value() / 2)).has_value());
  }
}

// The same estimate, whether all layers are there or one stands for many of them.
TEST(EstimatorTest, NeedsOnlyTheLayersThatAreSearched) {
  const ir::Graph graph = testing::Gpt({.batch = 64, .seq = 256, .width = 512, .layers = 40});
  const Cluster cluster = CpuCluster(4);
  const Execution execution;
  const SearchedGraph all(graph), few = SearchedGraph::WithFewLayers(graph, 13);
  Estimator of_all(all, cluster, execution), of_few(few, cluster, execution);
  ir::Plan plan = DataParallelPlan(graph, cluster, 3, 1);
  plan.moves_steps = true;
  const Estimate* const expected = of_all.Of(plan);
  const Estimate* const estimate = of_few.Of(few.Searched(plan));
  ASSERT_TRUE(expected != nullptr && estimate != nullptr);
  EXPECT_EQ(estimate->peak, expected->peak);
  EXPECT_EQ(estimate->least, expected->least);
  EXPECT_NEAR(estimate->step.value(), expected->step.value(), 1e-9 * expected->step.value());
  const Bytes limit(expected->peak.value() / 2);
  const ir::Plan own = of_few.WholeWith(few.Searched(plan), *estimate->ChoiceWithin(limit));
  const ir::Plan other = of_all.WholeWith(plan, *expected->ChoiceWithin(limit));
  for (const ir::Op& op : graph.ops) {
    EXPECT_EQ(own.ops[op.id].strategy, other.ops[op.id].strategy) << op.name;
    EXPECT_EQ(own.ops[op.id].retention, other.ops[op.id].retention) << op.name;
  }
}

TEST(EstimatorTest, NeedsManyLayersThatThePlanTreatsAlike) {
  const ir::Graph graph = testing::Gpt({.layers = 18});
  const Cluster cluster = CpuCluster(4);
  const Execution execution;
  const SearchedGraph model(graph);
  Estimator estimator(model, cluster, execution);
  ir::Plan plan = DataParallelPlan(graph, cluster, 0, 1);
  EXPECT_NE(estimator.Of(plan), nullptr);
  for (const ir::Op& op : graph.ops) {
    if (absl::EndsWith(op.name, "12.gelu")) plan.ops[op.id].retention = ir::Retention::kRecompute;
  }
  EXPECT_EQ(estimator.Of(plan), nullptr);
  const ir::Graph shallow = testing::Gpt({.layers = 8});
  const SearchedGraph few(shallow);
  EXPECT_EQ(Estimator(few, cluster, execution).Of(DataParallelPlan(shallow, cluster, 0, 1)), nullptr);
}

}  // namespace
}  // namespace cleave::search
