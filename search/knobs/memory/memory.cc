#include "search/knobs/memory/memory.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/graph/row_updates/row_updates.h"
#include "ir/sharding/layout/layout.h"
#include "search/price/cost/bucket_sizes.h"
#include "search/price/cost/communicators.h"
#include "search/price/cost/pipeline.h"
#include "search/price/cost/predict.h"
#include "search/price/cost/shared_programs.h"
#include "search/price/cost/time_prices.h"

namespace cleave::search {
namespace {

// How many tensors of the op's size a rank keeps because of its value.
int CopiesHeld(const GraphFacts& facts, ir::OpId op) {
  const ir::Op& info = facts.op(op);
  if (info.kind == ir::OpKind::kParameter) {
    // The optimizer's state has the layout of the parameter; a parameter that is trained has a gradient.
    const std::vector<ir::OpId>& group = facts.update_groups[op];
    const auto states =
        std::count_if(group.begin(), group.end(), [&](ir::OpId id) { return facts.op(id).kind == ir::OpKind::kState; });
    const bool by_rows =
        std::any_of(group.begin(), group.end(), [&](ir::OpId id) { return facts.touched_rows[id] > 0; });
    return 1 + (group.empty() || by_rows ? 0 : 1) + static_cast<int>(states);
  }
  if (info.phase != ir::Phase::kForward || facts.classes[op] == ir::OpClass::kSource) return 0;
  const std::vector<Read>& reads = facts.reads[op];
  const bool kept = std::any_of(reads.begin(), reads.end(),
                                [&](const Read& read) { return facts.op(read.reader).phase == ir::Phase::kBackward; });
  return kept ? 1 : 0;
}

// The op whose memory holds the value: reshapes have none of their own.
ir::OpId OwnerOf(const ir::Graph& graph, ir::OpId op) {
  while (ir::DefinitionOf(graph.op(op).kind).is_alias) op = graph.op(op).inputs[0];
  return op;
}

}  // namespace

absl::StatusOr<ir::LoweredProgram> ProgramOf(const ir::Graph& training_graph, const ir::Plan& plan,
                                             const Cluster& cluster, const Execution& execution, double layers) {
  ir::LowerOptions options = {.fuse = execution.fuse, .checkpoint = execution.checkpoint, .layers = layers};
  const bool in_seconds = plan.search.price == "time" && !cluster.links.empty();
  if (in_seconds) options.price = SecondsOfCollectives(cluster, plan.mesh);
  if (execution.shared != nullptr) options.shared = &execution.shared->Of(cluster, plan.mesh, in_seconds);
  if (execution.overlaps) {
    options.stage_times = [&](const ir::Program& program, const ir::Fusion& fusion) {
      return StageTimes(program, fusion, cluster);
    };
    options.bucket_sizes = [&](const ir::Program& program, const ir::Fusion& fusion,
                               const std::vector<Seconds>& stage_times) {
      return SizesOfBuckets(program, fusion, stage_times, cluster);
    };
    options.step_time = [&](const ir::Program& program) { return Predict(program, cluster, execution).step; };
  }
  return ir::Lower(training_graph, plan, options);
}

absl::StatusOr<ir::LoweredProgram> ProgramOf(const ir::Graph& training_graph, const ir::Plan& plan,
                                             const Execution& execution) {
  CLEAVE_CHECK(!execution.overlaps);
  return ProgramOf(training_graph, plan, Cluster(), execution);
}

StepPrediction PredictStep(const ir::LoweredProgram& made, const Cluster& cluster, const Execution& execution) {
  if (made.parts.empty()) {
    return {.whole = Predict(made.program, made.memory.fusion, cluster, execution.overlaps)};
  }
  PipelinePrediction pipeline = PredictPipeline(made.parts, cluster, execution.overlaps);
  return {.whole = pipeline.whole, .pipeline = std::move(pipeline)};
}

Seconds StepOf(const ir::LoweredProgram& made, const Cluster& cluster, const Execution& execution) {
  return PredictStep(made, cluster, execution).whole.step;
}

ir::MemoryUse EstimateMemory(const ir::Graph& training_graph, const ir::Plan& plan, const Execution& execution) {
  absl::StatusOr<ir::LoweredProgram> made = ProgramOf(training_graph, plan, execution);
  CLEAVE_CHECK(made.ok()) << made.status();
  return std::move(made->memory.use);
}

Bytes LeastMemory(const ir::Graph& training_graph, const ir::Plan& plan, const OpTimes& times) {
  const auto times_of = [&](ir::OpId op) { return times.empty() ? 1 : times[op]; };
  Bytes bytes;
  ir::RuleTable rules;
  std::map<ir::OpId, Bytes> gradients;  // That the update reads, by the op that has the memory.
  for (const ir::Op& op : training_graph.ops) {
    if (op.kind == ir::OpKind::kParameter || op.kind == ir::OpKind::kState || op.kind == ir::OpKind::kInput) {
      const ir::Layout layout = ir::OutputLayout(plan.ops[op.id].strategy, rules.Of(training_graph, op));
      bytes += ir::LargestLocalBytes(layout, plan.mesh, op.type) * times_of(op.id);
    }
    if (op.phase != ir::Phase::kUpdate) continue;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const ir::Op& input = training_graph.op(op.inputs[i]);
      if (input.phase != ir::Phase::kBackward || ir::IsByRows(input)) continue;
      const ir::Layout made = ir::OutputLayout(plan.ops[input.id].strategy, rules.Of(training_graph, input));
      const ir::Layout read =
          ir::InputLayout(plan.ops[op.id].strategy, rules.Of(training_graph, op), static_cast<int>(i));
      const Bytes least = std::min(ir::LargestLocalBytes(made, plan.mesh, input.type),
                                   ir::LargestLocalBytes(read, plan.mesh, input.type));
      const auto [found, is_new] = gradients.emplace(OwnerOf(training_graph, input.id), least);
      found->second = std::min(found->second, least);
    }
  }
  for (const auto& [owner, size] : gradients) bytes += size * times_of(owner);
  return bytes;
}

double HeldBytes(const GraphFacts& facts, const ir::Mesh& mesh, ir::OpId op, const ir::Strategy& strategy) {
  const int copies = CopiesHeld(facts, op);
  if (copies == 0) return 0;
  const Bytes local = ir::LargestLocalBytes(ir::OutputLayout(strategy, facts.rule(op)), mesh, facts.value_type(op));
  return static_cast<double>(local.value()) * copies;
}

Prices WithMemoryWeight(const GraphFacts& facts, const ir::Mesh& mesh, double weight, Prices prices) {
  if (weight == 0) return prices;
  // Ops of one kind must hold equally many copies, and must have been of one kind before.
  constexpr int kMostCopies = 16;
  const auto local = prices.local;
  const auto local_kind = prices.local_kind;
  prices.local = [=, &facts, &mesh](ir::OpId op, const ir::Strategy& strategy) {
    const bool is_priced = local != nullptr && local_kind(op) != 0;
    return (is_priced ? local(op, strategy) : 0) + weight * HeldBytes(facts, mesh, op, strategy);
  };
  prices.local_kind = [=, &facts](ir::OpId op) {
    const int copies = CopiesHeld(facts, op);
    CLEAVE_CHECK(copies < kMostCopies) << facts.op(op).name;
    return (local == nullptr ? 0 : local_kind(op) * kMostCopies) + copies;
  };
  return prices;
}

std::optional<MemoryLimit> MemoryLimitOf(const ir::ParallelSettings& settings, const Cluster& cluster) {
  if (settings.memory.has_value()) {
    return MemoryLimit{.bytes = Bytes(settings.memory->value), .span = settings.memory->span, .source = "`memory`"};
  }
  if (cluster.memory_per_device == Bytes(0)) return std::nullopt;
  const Bytes reserved = std::min(ReservedForCommunicators(cluster), cluster.memory_per_device);
  return MemoryLimit{.bytes = cluster.memory_per_device - reserved,
                     .span = {},
                     .source = absl::StrCat("the memory of `", cluster.name, "`",
                                            reserved > Bytes(0) ? " without that of communicators" : "")};
}

}  // namespace cleave::search
