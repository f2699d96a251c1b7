#include "search/price/cost/kernel_share.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "base/check/check.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/program/program.h"
#include "ir/sharding/plan/plan.h"

namespace cleave::search {
namespace {

// Without the steps that are aside: what they read is stored for them only.
ir::Program TrainingOfOneRank(const GraphFacts& facts) {
  const ir::Graph& graph = *facts.graph;
  ir::Plan plan{.mesh = ir::Mesh::OfDevices(1), .ops = {}, .search = {}};
  for (const ir::Op& op : graph.ops) {
    plan.ops.push_back(
        {.strategy = ir::Strategy::Replicated(facts.rule(op.id)), .output = std::nullopt, .reason = "", .choices = {}});
  }
  absl::StatusOr<ir::Program> program = ir::Partition(graph, plan);
  CLEAVE_CHECK(program.ok()) << program.status();
  const auto is_aside = [&](const ir::Step& step) {
    const ir::Compute* const compute = ir::ComputeOf(step);
    return compute == nullptr || facts.roles[compute->op] == Role::kAside;
  };
  std::vector<ir::Step>& steps = program->steps;
  steps.erase(std::remove_if(steps.begin(), steps.end(), is_aside), steps.end());
  program->metrics.clear();
  return *std::move(program);
}

}  // namespace

IdVector<ir::OpId, KernelShare> KernelSharesOf(const GraphFacts& facts, const ir::FuseOptions& fuse) {
  IdVector<ir::OpId, KernelShare> shares(facts.graph->ops.size());
  for (const ir::Op& op : facts.graph->ops) shares[op.id].reads.assign(op.inputs.size(), 1);
  const ir::Program program = TrainingOfOneRank(facts);
  const ir::Fusion fusion = ir::Fuse(program, fuse);
  for (const ir::FusedStage& stage : fusion.stages) {
    const ir::StageSteps steps = ir::StepsOf(stage);
    if (steps.size() == 1) {
      const ir::Step& step = program.steps[static_cast<size_t>(steps.front())];
      if (!fusion.DoesNothing(step)) continue;
      KernelShare& share = shares[ir::ComputeOf(step)->op];
      share = {.reads = std::vector<uint8_t>(share.reads.size(), 0), .writes = false, .ops = 0};
      continue;
    }
    std::set<ir::ValueId> known;  // Read from memory before, or made by the kernel itself.
    for (int step : steps) {
      const ir::Compute& compute = *ir::ComputeOf(program.steps[static_cast<size_t>(step)]);
      KernelShare& share = shares[compute.op];
      share.ops = static_cast<int>(steps.size());
      share.writes = !fusion.inside.contains(compute.output);
      for (size_t i = 0; i < compute.inputs.size(); ++i) {
        const ir::ValueId input = compute.inputs[i];
        share.reads[i] = !fusion.inside.contains(input) && known.insert(input).second;
      }
      known.insert(compute.output);
    }
  }
  return shares;
}

}  // namespace cleave::search
