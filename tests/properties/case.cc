#include "tests/properties/case.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/row_updates/row_updates.h"
#include "ir/graph/text.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/order/order.h"
#include "ir/program/order/overlap.h"
#include "ir/program/text.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/sharding/stages/stages.h"
#include "ir/testing/optimizers.h"
#include "ir/testing/random_graph.h"
#include "ir/testing/random_plan.h"
#include "ir/transforms/distribute/chunks.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::tests::properties {
namespace {

constexpr int64_t kMostMicroBatches = 4;
// The compiler's proof simulates up to so many ranks, each at all of its moments, as they are.
constexpr int64_t kMostMoments = 16;

// Small graphs find most mistakes and cost least: numbers of ops near 3 are the most frequent.
int RandomOps(int most, ir::Random& random) {
  const int64_t bound = ir::RandomInt(random, 3, std::max(3, most));
  return static_cast<int>(ir::RandomInt(random, 3, bound));
}

std::string AxesText(const ir::AxisList& axes, const ir::Mesh& mesh) {
  return absl::StrJoin(axes, " ", [&](std::string* out, ir::AxisId axis) { *out += mesh.axis(axis).name; });
}

// " cuts(i: m0 m1; k: m2) passes(m3: 0) output([m0, -])"
std::string StrategyText(const PlannedGraph& sample, const ir::Op& op) {
  const ir::Mesh& mesh = sample.plan.mesh;
  const ir::OpPlan& planned = sample.plan.ops[op.id];
  const ir::Rule rule = ir::RuleOf(sample.graph, op);
  std::vector<std::string> cuts, passes;
  for (size_t factor = 0; factor < planned.strategy.cuts.size(); ++factor) {
    const ir::AxisList& axes = planned.strategy.cuts[factor];
    if (!axes.empty()) cuts.push_back(absl::StrCat(rule.factors[factor].name, ": ", AxesText(axes, mesh)));
  }
  for (const ir::PassThrough& pass : planned.strategy.passes) {
    passes.push_back(absl::StrCat(mesh.axis(pass.axis).name, ": ", pass.group));
  }
  std::string text;
  if (!cuts.empty()) absl::StrAppend(&text, " cuts(", absl::StrJoin(cuts, "; "), ")");
  if (!passes.empty()) absl::StrAppend(&text, " passes(", absl::StrJoin(passes, "; "), ")");
  if (planned.output.has_value()) absl::StrAppend(&text, " output(", ir::LayoutText(*planned.output, mesh), ")");
  return text;
}

// The largest number of micro-batches up to `most` in which the plan can take its batch.
int64_t MicroBatches(const PlannedGraph& sample, int64_t most) {
  ir::Plan plan = sample.plan;
  plan.micro_batches = most;
  const absl::StatusOr<ir::Distributed> distributed = ir::Distribute(sample.graph, plan);
  if (!distributed.ok()) return 1;  // FindFailure says why.
  const auto refusal = ir::FindRefusal(distributed->graph, distributed->plan);
  return refusal.has_value() ? refusal->largest : most;
}

// Applies random gradients of tables by rows.
ir::Graph WithRandomRows(ir::Graph graph, ir::Random& random) {
  std::vector<ir::OpId> gradients;
  for (const ir::RowUpdate& update : ir::FindRowUpdates(graph).possible) {
    if (random() % 3 != 0) gradients.push_back(update.gradient);
  }
  return ir::WithRowUpdates(std::move(graph), gradients);
}

ir::Graph RandomGraph(const CaseOptions& options, ir::Random& random) {
  if (options.forward == nullptr) {
    const int ops = RandomOps(options.most_ops, random);
    return ir::RandomTrainingGraph(random,
                                   {.ops = ops, .largest_size = ir::RandomInt(random, 2, options.largest_size)});
  }
  ir::Graph forward = options.forward(random);
  absl::StatusOr<ir::Graph> graph = ir::Differentiate(std::move(forward), ir::RandomOptimizer(random));
  CLEAVE_CHECK(graph.ok()) << graph.status();
  return *std::move(graph);
}

// Lets the backward pass make random values again, or take them from the host's memory.
void Retain(const ir::Graph& graph, const CaseOptions& options, ir::Random& random, ir::Plan& plan) {
  for (const ir::Op& op : graph.ops) {
    const uint64_t choice = random() % 5;
    if (choice == 0 && op.phase == ir::Phase::kForward) plan.ops[op.id].retention = ir::Retention::kRedistribute;
    if (choice < 2 || !ir::CanBeRecomputed(graph, op)) continue;
    const bool offloads = options.offloads && choice == 4;
    plan.ops[op.id].retention = offloads ? ir::Retention::kOffload : ir::Retention::kRecompute;
  }
}

// Computes products in chunks, where that is possible.
void CutIntoChunks(ir::Random& random, PlannedGraph& sample) {
  const auto chunks = static_cast<int64_t>(2 + random() % 3);
  for (const ir::OpId op : ir::ProductsInChunks(sample.graph, sample.plan, chunks)) {
    if (random() % 3 != 0) sample.plan.ops[op].chunks = chunks;
  }
}

// Cuts the forward ops of the graph into stages, at random places.
void CutIntoStages(int stages, ir::Random& random, PlannedGraph& sample) {
  std::vector<ir::OpId> forward, first;
  for (const ir::Op& op : sample.graph.ops) {
    if (op.phase == ir::Phase::kForward) forward.push_back(op.id);
  }
  std::sample(forward.begin(), forward.end(), std::back_inserter(first), stages - 1, random);
  ir::MeshAxis axis{.name = std::string(ir::kStageAxis), .size = static_cast<int64_t>(first.size()) + 1};
  ir::PipelineSchedule schedule = static_cast<ir::PipelineSchedule::Order>(random() % 3);
  const bool can_interleave = axis.size % 2 == 0 && sample.plan.micro_batches % (axis.size / 2) == 0;
  if (can_interleave && random() % 2 == 0) {
    schedule = {ir::PipelineSchedule::kInterleaved, 2};
    axis.size /= 2;
  }
  sample.plan = *ir::WithStages(std::move(sample.plan), axis, schedule, ir::StagesOf(sample.graph, first));
  sample.plan.moves_steps = false;
}

}  // namespace

PlannedGraph RandomCaseOn(const ir::Mesh& mesh, uint64_t seed, const CaseOptions& options) {
  ir::Random random(seed);
  ir::Graph graph = RandomGraph(options, random);
  graph = ir::ApplyPrecision(graph, options.precision).graph;
  if (ir::Random(seed + 1)() % 2 == 0) graph.sums = ir::DType::kF32;
  if (options.most_stages == 1) graph = WithRandomRows(std::move(graph), random);
  ir::Plan plan = ir::RandomPlan(graph, mesh, random);
  for (const ir::Op& op : graph.ops) plan.ops[op.id].by_rows = ir::IsByRows(op);
  if (random() % 3 == 0) Retain(graph, options, random, plan);
  // No merging, few tensors in one collective, or all.
  constexpr int64_t kBuckets[] = {100, 1000, 0};
  const ir::PartitionOptions partition{.merge_collectives = random() % 4 != 0,
                                       .buckets = ir::BucketSizes::All(Bytes(kBuckets[random() % 3]))};
  PlannedGraph sample = {.graph = std::move(graph), .plan = std::move(plan), .partition = partition};
  const int64_t most = std::clamp<int64_t>(kMostMoments / mesh.rank_count(), 1, kMostMicroBatches);
  sample.plan.micro_batches = MicroBatches(sample, ir::RandomInt(random, 1, most));
  sample.plan.moves_steps = random() % 2 == 0;
  if (random() % 2 == 0) sample.seconds = random();
  CutIntoChunks(random, sample);
  return sample;
}

PlannedGraph RandomCase(uint64_t seed, const CaseOptions& options) {
  ir::Random random(~seed);
  PlannedGraph sample =
      RandomCaseOn(ir::RandomMesh(ir::RandomInt(random, 1, options.most_ranks), random), seed, options);
  if (options.most_stages > 1) {
    CutIntoStages(static_cast<int>(ir::RandomInt(random, 2, options.most_stages)), random, sample);
  }
  return sample;
}

absl::StatusOr<Compiled> Compile(const PlannedGraph& sample) {
  CLEAVE_ASSIGN_OR_RETURN(ir::Distributed distributed, ir::Distribute(sample.graph, sample.plan));
  CLEAVE_ASSIGN_OR_RETURN(ir::Program program, ir::Partition(distributed.graph, distributed.plan, sample.partition));
  if (sample.seconds.has_value()) {
    ir::Random random(*sample.seconds);
    const ir::Fusion fusion = ir::Fuse(program);
    std::vector<Seconds> seconds;
    for (size_t i = 0; i < fusion.stages.size(); ++i) seconds.emplace_back(random() % 4);
    program = ir::OrderForOverlap(std::move(program), fusion, seconds);
  }
  if (sample.plan.moves_steps) {
    ir::MemoryPlan memory = ir::PlanMemory(distributed.graph, program);
    ir::OrderForMemory(distributed.graph, program, memory);
  }
  return Compiled{.distributed = std::move(distributed), .program = std::move(program)};
}

std::string CaseText(const PlannedGraph& sample) {
  std::string text =
      absl::StrCat("mesh ", sample.plan.mesh.ToString(), ", micro_batches ", sample.plan.micro_batches, "\n");
  absl::StrAppend(&text, ir::GraphText(sample.graph, [&](const ir::Op& op) { return StrategyText(sample, op); }));
  const absl::StatusOr<Compiled> compiled = Compile(sample);
  if (compiled.ok()) absl::StrAppend(&text, ir::ProgramText(compiled->program, /*rank=*/0));
  return text;
}

}  // namespace cleave::tests::properties
