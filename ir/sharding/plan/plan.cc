#include "ir/sharding/plan/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"

namespace cleave::ir {
namespace {

constexpr std::array<std::pair<DecidedBy, const char*>, 6> kDecidedBy = {{{DecidedBy::kSearch, "search"},
                                                                          {DecidedBy::kPin, "pin"},
                                                                          {DecidedBy::kPropagation, "propagation"},
                                                                          {DecidedBy::kForwardOp, "forward_op"},
                                                                          {DecidedBy::kFallback, "fallback"},
                                                                          {DecidedBy::kManual, "manual"}}};

// The rank axes of a manual model are those of the mesh, or the mesh divides them further.
std::vector<std::string> VerifyRanks(const std::vector<RankAxis>& rank_axes, const Mesh& mesh) {
  int64_t ranks = 1;
  for (const RankAxis& axis : rank_axes) ranks *= axis.size;
  if (ranks != mesh.rank_count()) {
    return {absl::StrCat("the plan is for ", mesh.rank_count(), " ranks, the model has ", ranks)};
  }
  auto next = mesh.axes().begin();
  for (const RankAxis& axis : rank_axes) {
    int64_t size = 1;
    while (size < axis.size && next != mesh.axes().end()) size *= (next++)->size;
    if (size != axis.size) return {absl::StrCat("the mesh ", mesh.ToString(), " does not have the axis ", axis.name)};
  }
  return {};
}

bool UsesAxis(const OpPlan& planned, AxisId axis) {
  const auto has = [&](const AxisList& axes) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  const Strategy& strategy = planned.strategy;
  return std::any_of(strategy.cuts.begin(), strategy.cuts.end(), has) ||
         std::any_of(strategy.passes.begin(), strategy.passes.end(),
                     [&](const PassThrough& pass) { return pass.axis == axis; }) ||
         (planned.output.has_value() &&
          std::any_of(planned.output->dimensions.begin(), planned.output->dimensions.end(), has));
}

// Numbers of axes, behind one more.
void Shift(AxisList& axes) {
  for (AxisId& axis : axes) axis = AxisId(axis.value() + 1);
}

void Shift(Strategy& strategy) {
  for (AxisList& axes : strategy.cuts) Shift(axes);
  for (PassThrough& pass : strategy.passes) pass.axis = AxisId(pass.axis.value() + 1);
}

}  // namespace

absl::string_view DecidedByName(DecidedBy decided_by) {
  for (const auto& [value, name] : kDecidedBy) {
    if (value == decided_by) return name;
  }
  return "";
}

std::optional<DecidedBy> ParseDecidedBy(absl::string_view name) {
  for (const auto& [value, candidate] : kDecidedBy) {
    if (name == candidate) return value;
  }
  return std::nullopt;
}

absl::string_view RetentionName(Retention retention) {
  switch (retention) {
    case Retention::kKeep:
      return "keep";
    case Retention::kRedistribute:
      return "gather_again";
    case Retention::kRecompute:
      return "recompute";
    case Retention::kOffload:
      return "offload";
  }
  return "";
}

bool CanBeRecomputed(const Graph& graph, const Op& op) {
  const bool is_of_forward_pass = op.phase == Phase::kForward && !op.inherits.has_value();
  return is_of_forward_pass && DefinitionOf(op.kind).op_class != OpClass::kSource && !graph.is_manual();
}

absl::Status VerifyIn(const Plan& plan, const Strategy& strategy, const Rule& rule) {
  return plan.micro_batches > 1 ? VerifyCuts(strategy, rule, plan.mesh) : VerifyStrategy(strategy, rule, plan.mesh);
}

std::vector<OpId> GradientsByRows(const Plan& plan) {
  std::vector<OpId> gradients;
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    const OpId op(static_cast<int64_t>(i));
    if (plan.ops[op].by_rows) gradients.push_back(op);
  }
  return gradients;
}

std::vector<std::pair<OpId, int64_t>> LossParts(const Plan& plan) {
  std::vector<std::pair<OpId, int64_t>> parts;
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    const OpId op(static_cast<int64_t>(i));
    if (plan.ops[op].parts != 0) parts.emplace_back(op, plan.ops[op].parts);
  }
  return parts;
}

std::vector<OpId> RingAttention(const Plan& plan) {
  std::vector<OpId> attention;
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    const OpId op(static_cast<int64_t>(i));
    if (plan.ops[op].ring) attention.push_back(op);
  }
  return attention;
}

int StageCount(const Plan& plan) {
  if (!plan.pipeline.has_value()) return 1;
  return static_cast<int>(plan.mesh.axis(plan.pipeline->axis).size) * plan.pipeline->schedule.stages_per_rank;
}

absl::StatusOr<Plan> WithStages(Plan plan, const MeshAxis& axis, PipelineSchedule schedule,
                                const IdVector<OpId, int>& stage) {
  std::vector<MeshAxis> axes = plan.mesh.axes();
  axes.insert(axes.begin(), axis);
  CLEAVE_ASSIGN_OR_RETURN(plan.mesh, Mesh::Create(std::move(axes)));
  plan.pipeline = Pipeline{.axis = AxisId(0), .schedule = schedule};
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    OpPlan& planned = plan.ops[OpId(static_cast<int64_t>(i))];
    planned.stage = stage[OpId(static_cast<int64_t>(i))];
    Shift(planned.strategy);
    for (Choice& choice : planned.choices) Shift(choice.strategy);
    if (!planned.output.has_value()) continue;
    for (AxisList& cut : planned.output->dimensions) Shift(cut);
    for (PartialAxis& partial : planned.output->partial) partial.axis = AxisId(partial.axis.value() + 1);
  }
  return plan;
}

std::vector<std::string> VerifyPlan(const Graph& graph, const Plan& plan) {
  if (plan.ops.size() != graph.ops.size()) {
    return {absl::StrCat("the plan has ", plan.ops.size(), " ops, the graph ", graph.ops.size())};
  }
  if (plan.micro_batches < 1 || plan.micro_batches > kMostMicroBatches) {
    return {absl::StrCat("the plan has ", plan.micro_batches, " micro-batches")};
  }
  std::vector<std::string> errors;
  if (graph.is_manual() && plan.pipeline.has_value()) return {"a manual model is a pipeline"};
  if (graph.is_manual() && plan.micro_batches > 1) return {"a manual model has micro-batches"};
  if (graph.is_manual()) errors = VerifyRanks(graph.rank_axes, plan.mesh);
  if (!errors.empty()) return errors;
  RuleTable rules;
  for (const Op& op : graph.ops) {
    const OpPlan& planned = plan.ops[op.id];
    const Rule& rule = rules.Of(graph, op);
    if (const absl::Status valid = VerifyIn(plan, planned.strategy, rule); !valid.ok()) {
      errors.push_back(absl::StrCat("`", op.name, "`: ", valid.message()));
      continue;
    }
    if (graph.is_manual() && (planned.strategy != Strategy::Replicated(rule) || planned.output.has_value())) {
      errors.push_back(absl::StrCat("`", op.name, "` is cut, and the model says itself what each rank computes"));
    }
    if (planned.retention == Retention::kRecompute && !CanBeRecomputed(graph, op)) {
      errors.push_back(absl::StrCat("`", op.name, "` cannot be computed again in the backward pass"));
    }
    if (planned.retention == Retention::kOffload && !CanBeRecomputed(graph, op)) {
      errors.push_back(absl::StrCat("`", op.name, "` cannot wait in the host's memory"));
    }
    const bool by_rows = op.attributes.IsSet(attribute::kByRows);
    if (planned.by_rows != by_rows) {
      errors.push_back(
          absl::StrCat("`", op.name, "` is applied by rows ", by_rows ? "in the graph" : "in the plan", " alone"));
    }
    const bool is_loss = op.kind == OpKind::kCrossEntropy;
    if (planned.parts != 0 && !(is_loss && op.attributes.Get(attribute::kParts) == planned.parts)) {
      errors.push_back(absl::StrCat("`", op.name, "` has ", planned.parts, " parts in the plan alone"));
    }
    const bool is_chunked = planned.chunks != 0;
    if (is_chunked && (op.kind != OpKind::kMatmul || planned.chunks < 2 || planned.chunks > kMostChunks)) {
      errors.push_back(absl::StrCat("`", op.name, "` is computed in ", planned.chunks, " chunks"));
    }
    if (plan.pipeline.has_value() && by_rows) {
      errors.push_back(absl::StrCat("`", op.name, "` of a pipeline is applied by rows"));
    }
    if (plan.pipeline.has_value() && UsesAxis(planned, plan.pipeline->axis)) {
      errors.push_back(absl::StrCat("`", op.name, "` is cut by the axis of stages"));
    }
    if (plan.pipeline.has_value() && planned.retention == Retention::kOffload) {
      errors.push_back(absl::StrCat("`", op.name, "` of a pipeline waits in the host's memory"));
    }
    if (!planned.output.has_value()) continue;
    if (const absl::Status valid = VerifyLayout(*planned.output, plan.mesh, op.type.rank()); !valid.ok()) {
      errors.push_back(absl::StrCat("`", op.name, "` (output): ", valid.message()));
    }
  }
  if (!errors.empty()) return errors;
  if (plan.pipeline.has_value() && plan.pipeline->schedule.stages_per_rank > 1 &&
      plan.micro_batches % plan.mesh.axis(plan.pipeline->axis).size != 0) {
    return {absl::StrCat(PipelineScheduleName(plan.pipeline->schedule), " of ", plan.micro_batches,
                         " micro-batches, which are no multiple of ", plan.mesh.axis(plan.pipeline->axis).size)};
  }
  IdVector<OpId, int> stage;
  for (const OpPlan& planned : plan.ops) stage.push_back(planned.stage);
  return VerifyStages(graph, stage, StageCount(plan));
}

}  // namespace cleave::ir
