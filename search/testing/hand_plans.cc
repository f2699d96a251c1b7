#include "search/testing/hand_plans.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/ops.h"
#include "search/knobs/aside.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/options.h"
#include "search/knobs/stage_plans.h"
#include "search/knobs/zero/zero.h"
#include "search/model/facts/facts.h"
#include "search/price/cost/cost.h"
#include "search/price/cost/time_prices.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/reasons.h"
#include "search/solve/sapp/starts.h"

namespace cleave::search::testing {
namespace {

// The first forward op of each stage but the first.
std::vector<ir::OpId> FirstOps(const GptShape& shape, const ir::Graph& graph, int64_t stages) {
  std::vector<ir::OpId> first;
  for (int64_t stage = 1; stage < stages; ++stage) {
    const std::string prefix = absl::StrCat("x.", stage * shape.layers / stages, ".");
    const auto found = std::find_if(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) {
      const bool is_source = ir::DefinitionOf(op.kind).op_class == ir::OpClass::kSource;
      return op.phase == ir::Phase::kForward && !is_source && absl::StartsWith(op.name, prefix);
    });
    CLEAVE_CHECK(found != graph.ops.end()) << prefix;
    first.push_back(found->id);
  }
  return first;
}

// The values of blocks that are made again from the blocks' inputs.
std::map<ir::OpId, ir::Retention> InsideOfBlocks(const ir::Graph& graph) {
  std::map<ir::OpId, ir::Retention> inside;
  for (const ir::Op& op : graph.ops) {
    const bool is_source = ir::DefinitionOf(op.kind).op_class == ir::OpClass::kSource;
    if (op.phase != ir::Phase::kForward || is_source || !absl::StartsWith(op.name, "x.")) continue;
    if (!absl::EndsWith(op.name, ".end")) inside[op.id] = ir::Retention::kRecompute;
  }
  return inside;
}

// The plan of the ranks of one stage.
ir::Plan PlanOfStage(const ir::Graph& graph, const HandPlan& hand, const Cluster& machines) {
  std::vector<ir::NamedAxis> axes;
  if (hand.data > 1) axes.push_back({.name = "data", .size = hand.data, .span = {}});
  if (hand.tensor > 1) axes.push_back({.name = "tensor", .size = hand.tensor, .span = {}});
  Diagnostics diagnostics;
  const std::optional<ir::Mesh> mesh = MeshFor(machines, axes, Span(), diagnostics);
  CLEAVE_CHECK(mesh.has_value());
  const GraphFacts facts = FactsOf(graph, hand.micro_batches);
  Assignment assignment(facts, *mesh, {.dataset = {}}, {});
  StartUniform(assignment, static_cast<int>(AxesNamed(*mesh, "data").size()));
  ir::Plan plan{.cluster = machines.name, .mesh = *mesh, .ops = {}, .micro_batches = hand.micro_batches, .search = {}};
  for (const ir::Op& op : graph.ops) plan.ops.push_back(OpPlanOf(assignment, op.id));
  FollowParameters(facts, {}, plan);
  FollowAside(facts, {}, /*data_is_placed=*/false, plan);
  ShardReplicas(facts, {}, hand.zero, plan);
  return hand.remakes_blocks ? WithAsked(std::move(plan), InsideOfBlocks(graph)) : plan;
}

}  // namespace

std::string HandPlanText(const HandPlan& plan) {
  return absl::StrCat("t ", plan.tensor, ", p ", plan.stages, ", d ", plan.data, ", K ", plan.micro_batches,
                      plan.zero > 0 ? absl::StrCat(", ZeRO ", plan.zero) : "");
}

std::vector<HandPlan> HandPlansOf(const GptShape& shape, int64_t devices) {
  std::vector<HandPlan> plans;
  for (int64_t tensor = 1; tensor <= devices; ++tensor) {
    for (int64_t stages = 1; tensor * stages <= devices; ++stages) {
      if (devices % (tensor * stages) != 0 || shape.heads % tensor != 0 || shape.layers % stages != 0) continue;
      const int64_t data = devices / (tensor * stages);
      for (int64_t count = 1; data * count <= shape.batch; ++count) {
        if (shape.batch % (data * count) != 0) continue;
        plans.push_back({.tensor = tensor, .stages = stages, .data = data, .micro_batches = count});
      }
    }
  }
  return plans;
}

std::optional<HandPrediction> PredictByHand(const GptShape& shape, const ir::Graph& graph, const HandPlan& hand,
                                            ir::PipelineSchedule schedule, const Cluster& cluster,
                                            const Execution& execution) {
  const std::optional<StageMachines> machines = MachinesOfStage(cluster, hand.stages);
  if (!machines.has_value()) return std::nullopt;
  ir::Plan plan = PlanOfStage(graph, hand, machines->cluster);
  if (hand.stages > 1) {
    plan = *ir::WithStages(std::move(plan), machines->axis, schedule,
                           ir::StagesOf(graph, FirstOps(shape, graph, hand.stages * schedule.stages_per_rank)));
  }
  Execution order = execution;
  order.overlaps = execution.overlaps && hand.orders_layers;
  const absl::StatusOr<ir::LoweredProgram> program = ProgramOf(graph, plan, cluster, order);
  CLEAVE_CHECK(program.ok()) << program.status();
  return HandPrediction{.step = StepOf(*program, cluster, execution), .peak = program->memory.use.prediction.peak};
}

std::optional<Seconds> PriceByHand(const ir::Graph& graph, const HandPlan& hand, const Cluster& cluster,
                                   const Execution& execution) {
  const std::optional<StageMachines> machines = MachinesOfStage(cluster, hand.stages);
  if (!machines.has_value()) return std::nullopt;
  ir::Plan plan = PlanOfStage(graph, hand, machines->cluster);
  plan.gradient_weight = GradientWeight({.price = ir::Price::kTime,
                                         .dataset = {},
                                         .zero = hand.zero,
                                         .micro_batches = hand.micro_batches,
                                         .execution = execution});
  const GraphFacts facts = FactsOf(graph, hand.micro_batches);
  return Seconds(PlanCost(facts, plan, TimePrices(facts, machines->cluster, plan.mesh, execution.fuse)).price);
}

}  // namespace cleave::search::testing
