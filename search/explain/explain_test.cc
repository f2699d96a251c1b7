#include "search/explain/explain.h"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json/json.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/pins/pins.h"
#include "search/explain/overview.h"
#include "search/model/cluster/cluster.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// A model with its plan, as the compiler has them.
struct Planned {
  Planned(ir::Graph model, int64_t devices, const SearchOptions& options = {})
      : graph(std::move(model)), cluster(CpuCluster(devices)), execution(options.execution) {
    Diagnostics diagnostics;
    plan = *Search(graph, cluster, pins, options, diagnostics);
    made = *ProgramOf(graph, plan, cluster, execution);
    predicted = Predict(made.program, cluster);
  }

  Explained explained() const {
    return {.graph = graph,
            .plan = plan,
            .cluster = cluster,
            .execution = execution,
            .made = made,
            .predicted = predicted,
            .pins = pins};
  }

  ir::Graph graph;
  Cluster cluster;
  Execution execution;
  ir::Pins pins;
  ir::Plan plan;
  ir::LoweredProgram made;
  Prediction predicted;
};

void ExpectNarrow(const std::string& text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) EXPECT_LE(line.size(), 100u) << line;
}

size_t MarkedRows(const std::string& text) {
  size_t count = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) count += absl::StartsWith(line, "*  ") ? 1u : 0u;
  return count;
}

size_t LinesOf(const std::string& text) { return std::vector<std::string>(absl::StrSplit(text, '\n')).size(); }

TEST(OverviewTest, PinsByTheLinesThatSayThem) {
  ir::Graph graph;
  std::vector<ir::Pin> pins;
  const auto pin = [&](const std::string& name, int line) {
    const ir::OpId id(static_cast<int>(graph.ops.size()));
    graph.ops.push_back({.id = id, .name = name, .line = line});
    pins.push_back({.op = id, .demand = ir::ReplicatePin(), .span = {}});
  };
  EXPECT_EQ(PinsLine(graph, pins), "");
  pin("x.0.w", 14);
  pin("h1.matmul", 8);
  pin("x.1.w", 14);
  EXPECT_EQ(PinsLine(graph, pins), "pins taken: h1.matmul (line 8), x.0..1.w (line 14)\n");
  pin("own", 14);
  EXPECT_EQ(PinsLine(graph, pins), "pins taken: h1.matmul (line 8), x.0.w, … (line 14)\n");
  for (int line = 20; line < 40; ++line) pin("more", line);
  EXPECT_TRUE(absl::StrContains(PinsLine(graph, pins), "and of 14 more lines"));
}

TEST(ExplainTest, ThePlanIsShownUnderEveryPriceWithItsMemoryAndCollectives) {
  const Planned planned(testing::SeedNetwork(), 8);
  const std::string text = ExplainPlan(planned.explained());
  ExpectNarrow(text);
  for (const char* part : {"mesh      m0=2 m1=2 m2=2 (host, weight 1)", "298,547 under the price bytes", "classic ",
                           "time ", "optimizer", "largest", "h0 ", "by search: ", "share"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
  }
  for (const ir::Step& step : planned.made.program.steps) {
    const auto* collective = std::get_if<ir::Collective>(&step.action);
    if (collective == nullptr || step.phase == ir::Phase::kMetric) continue;
    EXPECT_TRUE(absl::StrContains(text, ir::CollectiveKindName(collective->kind))) << text;
  }
}

TEST(ExplainTest, TheCopyOfACheckpointIsPartOfTheMemory) {
  Planned planned(testing::SeedNetwork(), 8);
  EXPECT_FALSE(absl::StrContains(ExplainPlan(planned.explained()), "checkpoint"));
  planned.made.memory.use.prediction.checkpoint = Bytes(1000);
  EXPECT_TRUE(absl::StrContains(ExplainPlan(planned.explained()), ", checkpoint 1000 B"));
  planned.made.memory.use.prediction.host = Bytes(1500);
  EXPECT_TRUE(absl::StrContains(ExplainPlan(planned.explained()), "; on the host 1.5 KiB, of it checkpoint 1000 B"));
}

TEST(ExplainTest, BoundAndGapWhereTheyAreKnown) {
  Planned planned(testing::SeedNetwork(), 8);
  planned.plan.search.lower_bound = planned.plan.search.cost / 1.25;
  EXPECT_TRUE(absl::StrContains(ExplainPlan(planned.explained()), "(gap 25.00%)"));
  planned.plan.search.algorithm = "exact";
  EXPECT_TRUE(absl::StrContains(ExplainPlan(planned.explained()), "not closed"));
  planned.plan.search.lower_bound.reset();
  EXPECT_FALSE(absl::StrContains(ExplainPlan(planned.explained()), "gap"));
  EXPECT_TRUE(absl::StrContains(ExplainPlan(planned.explained()), "no bound: there are too many"));
  planned.plan.search.algorithm = "propagate";
  EXPECT_TRUE(absl::StrContains(ExplainPlan(planned.explained()), "no bound is known"));
  planned.plan.search.algorithm = "sapp";
  EXPECT_FALSE(absl::StrContains(ExplainPlan(planned.explained()), "no bound"));
}

TEST(ExplainTest, EqualLayersStandThereOnce) {
  testing::GptShape shape;
  SearchOptions options;
  options.algorithm = ir::SearchAlgorithm::kDataParallel;
  shape.layers = 12;
  const Planned many(testing::Gpt(shape), 4, options);
  shape.layers = 6;
  const Planned few(testing::Gpt(shape), 4, options);
  const std::string text = ExplainPlan(many.explained());
  ExpectNarrow(text);
  EXPECT_TRUE(absl::StrContains(text, " x 1")) << text;
  // A model with twice the layers has about as many lines.
  EXPECT_LE(LinesOf(text), LinesOf(ExplainPlan(few.explained())) + 6) << text;
}

TEST(ExplainTest, OneRankHasNothingToExplain) {
  const Planned planned(testing::SeedNetwork(), 1);
  const std::string text = ExplainPlan(planned.explained());
  EXPECT_TRUE(absl::StrContains(text, "one rank")) << text;
  EXPECT_TRUE(absl::StrContains(text, "no collectives")) << text;
}

TEST(ExplainTest, MemoryAgainstTimeMarksThePlanAndSaysWhatItMakesAgain) {
  SearchOptions options;
  const Planned kept(testing::Gpt({.layers = 3}), 2, options);
  const std::string all = ExplainMemory(kept.explained());
  ExpectNarrow(all);
  EXPECT_TRUE(absl::StrContains(all, "* chosen: no limit of memory is known, so nothing is made again\n")) << all;
  EXPECT_FALSE(absl::StrContains(all, "does not wait")) << all;
  EXPECT_GT(LinesOf(all), 9u) << all;

  options.recompute = ir::Recompute::kFull;
  Planned full(testing::Gpt({.layers = 3}), 2, options);
  full.pins.settings.recompute = ir::Recompute::kFull;
  const std::string least = ExplainMemory(full.explained());
  ExpectNarrow(least);
  EXPECT_TRUE(absl::StrContains(least, "* chosen: `recompute = full` asks for ")) << least;
  EXPECT_TRUE(absl::StrContains(least, "does not wait")) << least;
  EXPECT_EQ(MarkedRows(all), 1u) << all;
  EXPECT_EQ(MarkedRows(least), 1u) << least;
}

TEST(ExplainTest, TimeShowsKernelsTotalsAndTheStep) {
  const Planned planned(testing::Gpt({.layers = 12}), 4);
  const std::string text = ExplainTime(planned.explained(), 3);
  ExpectNarrow(text);
  for (const char* part : {"of rank 3", "x.0..11.", "collectives", "norms", "update", "matmul [", "of the peak"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
  }
  EXPECT_FALSE(absl::StrContains(text, "\nidle")) << "it is no pipeline";
  EXPECT_TRUE(absl::StrContains(text, absl::StrCat("\nstep      ", FormatSeconds(planned.predicted.step)))) << text;
}

// Every op of the program that takes time is in one kernel, and all together take what the step takes alone.
TEST(ExplainTest, KernelsAreTheRowsOfTimeAsJson) {
  const Planned planned(testing::Gpt({.layers = 3}), 4);
  const std::string text = ExplainKernels(planned.explained(), 1);
  double seconds = 0;
  std::set<std::string> ops;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const Json kernel = *ParseStrictJson(line);
    seconds += kernel["runs"].get<double>() * kernel["seconds"].get<double>();
    for (const Json& op : kernel["ops"]) EXPECT_TRUE(ops.insert(op.get<std::string>()).second) << op;
  }
  EXPECT_NEAR(seconds, planned.predicted.Alone().value(), 1e-9 * seconds);
  for (const char* op : {"start", "x.0.qkv", "x.0.mixed", "logits"}) EXPECT_EQ(ops.count(op), 1u) << op;
  EXPECT_EQ(ops.count("x.2.qkv"), 0u) << "layers that are equal are one";
}

// The two lines of the first row in which the settings stand.
std::string RowOf(const std::string& text, absl::string_view flags) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (size_t i = 1; i < lines.size(); ++i) {
    if (absl::StrContains(lines[i], flags)) return absl::StrCat(lines[i - 1], "\n", lines[i]);
  }
  return "";
}

TEST(ExplainTest, OtherPlansAreThoseThatTheirSettingsGive) {
  const auto with = [](const std::function<void(SearchOptions&)>& set) {
    SearchOptions options = OptionsFrom(ir::ParallelSettings());
    set(options);
    return Planned(testing::SeedNetwork(), 8, options);
  };
  const std::string text = ExplainPlans(with([](SearchOptions&) {}).explained());
  ExpectNarrow(text);
  EXPECT_EQ(MarkedRows(text), 1u) << text;
  const auto expect_row = [&](absl::string_view flags, const Planned& planned) {
    const std::string row = RowOf(text, flags);
    EXPECT_TRUE(absl::StrContains(row, FormatSeconds(planned.predicted.step))) << flags << "\n" << text;
    EXPECT_TRUE(absl::StrContains(row, FormatBytes(planned.made.memory.use.prediction.peak))) << flags << "\n" << text;
  };
  expect_row("    this plan", with([](SearchOptions&) {}));
  expect_row("    --set zero=1", with([](SearchOptions& options) { options.zero = 1; }));
  expect_row("--set cost=bytes", with([](SearchOptions& options) { options.price = ir::Price::kBytes; }));
  expect_row("--search replicate",
             with([](SearchOptions& options) { options.algorithm = ir::SearchAlgorithm::kReplicate; }));
  EXPECT_TRUE(absl::StrContains(RowOf(text, "--search replicate"), " more computation")) << text;
}

TEST(ExplainTest, SettingsWithoutAPlanAreNamedWithWhatRefusesThem) {
  Planned planned(testing::SeedNetwork(), 8);
  planned.pins.settings.memory = ir::Placed<int64_t>{.value = int64_t{1} << 22, .span = {}};
  const std::string text = ExplainPlans(planned.explained());
  ExpectNarrow(text);
  const std::string refused = text.substr(text.find("\nno plan:\n"));
  EXPECT_TRUE(absl::StrContains(refused, "    --search replicate: no plan fits into `memory`, 4.0 MiB")) << text;
}

// The driver refuses them before a search; so does whoever searches without it.
TEST(ExplainTest, MicroBatchesThatTheBatchDoesNotHaveAreNoPlan) {
  const Planned planned(testing::Mlp(2, {8, 4}), 2);
  const std::string text = ExplainPlans(planned.explained());
  EXPECT_TRUE(absl::StrContains(text, "--set micro_batches=4: the batch cannot be taken in 4 micro-batches: ")) << text;
}

// Nothing is divided among replicas, made again or cut into micro-batches where nothing is trained.
TEST(ExplainTest, SettingsOfTrainingAreNotTriedWithoutIt) {
  ir::GraphBuilder builder;
  const ir::OpId x = builder.Add(ir::OpKind::kInput, {},
                                 {{ir::attribute::kDType, ir::DType::kF32},
                                  {ir::attribute::kShape, ir::Shape{8, 16}},
                                  {ir::attribute::kData, std::string("x")}},
                                 "x");
  builder.Add(ir::OpKind::kRelu, {x}, {}, "y");
  const Planned planned(std::move(builder).Build(), 2);
  const std::string text = ExplainPlans(planned.explained());
  EXPECT_NE(RowOf(text, "--search replicate"), "") << text;
  for (const char* const flag : {"zero", "recompute", "micro_batches", "stages"})
    EXPECT_EQ(RowOf(text, flag), "") << text;
}

// What pins cost is seen beside the plan that they lead to.
TEST(ExplainTest, ThePlanWithoutPinsIsLookedAtWhereThereAreSome) {
  Planned planned(testing::SeedNetwork(), 4);
  EXPECT_EQ(RowOf(ExplainPlans(planned.explained()), "without its pins"), "");
  planned.pins.pins.push_back({.op = *planned.graph.Find("h1"), .demand = ir::ReplicatePin(), .span = {}});
  EXPECT_NE(RowOf(ExplainPlans(planned.explained()), "without its pins"), "");
}

TEST(ExplainTest, AnOpShowsEveryChoiceWithItsPartsAndWhatWouldHaveToChange) {
  const Planned planned(testing::SeedNetwork(), 8);
  const absl::StatusOr<std::string> text = ExplainOp(planned.explained(), "h1");
  ASSERT_TRUE(text.ok()) << text.status();
  ExpectNarrow(*text);
  const std::vector<ir::Choice>& choices = planned.plan.ops[*planned.graph.Find("h1")].choices;
  ASSERT_GE(choices.size(), 3u);
  size_t marked = 0, lines = 0;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (absl::StartsWith(line, "* ")) ++marked;
    if (absl::StrContains(line, "collective") && absl::StrContains(line, "; ")) ++lines;
  }
  EXPECT_EQ(marked, 1u) << *text;
  EXPECT_EQ(lines, choices.size()) << *text;
  EXPECT_TRUE(absl::StrContains(*text, "what would have to change")) << *text;
  EXPECT_TRUE(absl::StrContains(*text, "costs less ")) << *text;
}

TEST(ExplainTest, EveryOpCanBeExplained) {
  const Planned planned(testing::Gpt({}), 4);
  for (const ir::Op& op : planned.graph.ops) {
    const absl::StatusOr<std::string> text = ExplainOp(planned.explained(), op.name);
    ASSERT_TRUE(text.ok()) << op.name;
    ExpectNarrow(*text);
    EXPECT_TRUE(absl::StartsWith(*text, op.name)) << *text;
  }
}

// The plan was changed after the search, so nothing is said about other choices.
TEST(ExplainTest, AShardedOptimizerIsNotFollowedByConditions) {
  SearchOptions options;
  options.zero = 1;
  options.algorithm = ir::SearchAlgorithm::kDataParallel;
  const Planned planned(testing::SeedNetwork(), 4, options);
  const absl::StatusOr<std::string> text = ExplainOp(planned.explained(), "h1");
  ASSERT_TRUE(text.ok());
  EXPECT_FALSE(absl::StrContains(*text, "costs less")) << *text;
  EXPECT_TRUE(absl::StrContains(*text, "is not known")) << *text;
}

TEST(ExplainTest, UnknownOpGetsTheNearestName) {
  const Planned planned(testing::SeedNetwork(), 2);
  const absl::StatusOr<std::string> text = ExplainOp(planned.explained(), "hh1");
  ASSERT_FALSE(text.ok());
  EXPECT_TRUE(absl::StrContains(text.status().message(), "no op `hh1`, did you mean `h"));
}

}  // namespace
}  // namespace cleave::search
