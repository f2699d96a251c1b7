#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/json/document_writer.h"
#include "base/json/json.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/program/plan_json/plan_json.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {
namespace {

std::string Text(absl::string_view text) { return std::string(text); }

Json AxisNames(const AxisList& axes, const Mesh& mesh) {
  Json names = Json::array();
  for (AxisId axis : axes) names.push_back(mesh.axis(axis).name);
  return names;
}

Json LayoutJson(const Layout& layout, const Mesh& mesh) {
  Json dimensions = Json::array();
  for (const AxisList& axes : layout.dimensions) dimensions.push_back(AxisNames(axes, mesh));
  return dimensions;
}

Json PartialJson(const Layout& layout, const Mesh& mesh) {
  Json partial = Json::object();
  for (const PartialAxis& axis : layout.partial)
    partial[mesh.axis(axis.axis).name] = Text(ReductionName(axis.reduction));
  return partial;
}

Json FactorsJson(const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  Json factors = Json::object();
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    factors[rule.factors[factor].name] = AxisNames(strategy.cuts[factor], mesh);
  }
  return factors;
}

Json ChoiceJson(const Choice& choice, const Rule& rule, const Mesh& mesh) {
  Json json = JsonObject(
      {{"factors", FactorsJson(choice.strategy, rule, mesh)}, {"cost", choice.cost}, {"chosen", choice.chosen}});
  if (!choice.parts.has_value()) return json;
  const CostParts& parts = *choice.parts;
  json["parts"] = JsonObject({{"inside", parts.inside},
                              {"inputs", parts.inputs},
                              {"output", parts.output},
                              {"backward", parts.backward},
                              {"gradients", parts.gradients},
                              {"elsewhere", parts.elsewhere},
                              {"collectives", parts.collectives}});
  return json;
}

Json OpJson(const Graph& graph, const Plan& plan, const Op& op, const Rule& rule) {
  const OpPlan& planned = plan.ops[op.id];
  Json inputs = Json::array();
  for (OpId input : op.inputs) inputs.push_back(graph.op(input).name);
  Json passes = Json::array();
  for (const PassThrough& pass : planned.strategy.passes) {
    passes.push_back({{"axis", plan.mesh.axis(pass.axis).name}, {"group", pass.group}});
  }
  Json choices = Json::array();
  for (const Choice& choice : planned.choices) choices.push_back(ChoiceJson(choice, rule, plan.mesh));
  Json json =
      JsonObject({{"name", op.name},
                  {"kind", Text(OpKindName(op.kind))},
                  {"phase", Text(PhaseName(op.phase))},
                  {"line", op.line},
                  {"inputs", std::move(inputs)},
                  {"output", op.name},
                  {"factors", FactorsJson(planned.strategy, rule, plan.mesh)},
                  {"in_strategy", InStrategy(planned.strategy, rule, plan.mesh)},
                  {"out_strategy", OutStrategy(planned.strategy, rule, plan.mesh)},
                  {"partial", PartialJson(OutputLayout(planned.strategy, rule), plan.mesh)},
                  {"passes", std::move(passes)},
                  {"out_layout", planned.output.has_value() ? LayoutJson(*planned.output, plan.mesh) : Json(nullptr)},
                  {"gather_again", planned.retention == Retention::kRedistribute},
                  {"recompute", planned.retention == Retention::kRecompute},
                  {"decided_by", Text(DecidedByName(planned.decided_by))},
                  {"reason", planned.reason},
                  {"choices", std::move(choices)}});
  if (planned.retention == Retention::kOffload) json["offload"] = true;
  if (planned.by_rows) json["by_rows"] = true;
  if (planned.ring) json["ring"] = true;
  if (planned.parts != 0) json["parts"] = planned.parts;
  if (planned.chunks != 0) json["chunks"] = planned.chunks;
  if (plan.pipeline.has_value() && !IsOnEveryStage(op)) json["stage"] = planned.stage;
  return json;
}

std::string RoleOf(const Graph& graph, const Op& op) {
  if (op.kind == OpKind::kInput) return "input";
  if (op.kind == OpKind::kParameter) return "parameter";
  if (op.kind == OpKind::kState) return op.phase == Phase::kForward ? "cache" : "optimizer";
  if (graph.loss == op.id) return "loss";
  for (const Metric& metric : graph.metrics) {
    if (metric.value == op.id) return "metric";
  }
  return op.gradient_of.has_value() ? "gradient" : "activation";
}

Json TensorJson(const Graph& graph, const Plan& plan, const Op& op, const Rule& rule) {
  const Layout layout = plan.ops[op.id].output.value_or(OutputLayout(plan.ops[op.id].strategy, rule));
  return JsonObject({{"name", op.name},
                     {"role", RoleOf(graph, op)},
                     {"dtype", Text(DTypeName(op.type.dtype))},
                     {"shape", op.type.shape},
                     {"local_shape", LargestLocalShape(layout, plan.mesh, op.type.shape)},
                     {"layout", LayoutJson(layout, plan.mesh)},
                     {"partial", PartialJson(layout, plan.mesh)},
                     {"line", op.line}});
}

// The names of the ops that the program computes, also of ops in distributed forms.
std::map<OpId, std::string> ComputedNames(const Program& program) {
  std::map<OpId, std::string> names;
  for (const Step& step : program.steps) {
    if (const auto* compute = std::get_if<Compute>(&step.action))
      names[compute->op] = program.value(compute->output).name;
    // What goes round is computed by being sent.
    if (const auto* sent = std::get_if<Collective>(&step.action); sent != nullptr && sent->turn != 0) {
      const Value& value = program.value(sent->transfers.front().output);
      names[value.origin] = value.name;
    }
  }
  if (!program.is_manual) return names;
  // For the communicating ops of a manual model the last of their steps writes their value.
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    for (ValueId value : Writes(*step)) names.emplace(program.value(value).origin, program.value(value).name);
  }
  return names;
}

Json CollectiveJson(const std::map<OpId, std::string>& names, const Program& program, const Step& step,
                    const Collective& collective) {
  Json tensors = Json::array();
  for (const Transfer& transfer : collective.transfers) {
    tensors.push_back(names.at(program.value(transfer.output).origin));
  }
  const TensorType& type = program.value(collective.transfers.front().input).type;
  return JsonObject({{"kind", Text(CollectiveKindName(collective.kind))},
                     {"phase", Text(PhaseName(step.phase))},
                     {"tensors", std::move(tensors)},
                     {"axes", AxisNames(collective.axes, program.mesh)},
                     {"group_size", program.mesh.Size(collective.axes)},
                     {"dtype", Text(DTypeName(type.dtype))},
                     {"bytes", CollectiveBytes(program, collective).value()},
                     {"sent_bytes", SentBytes(program, collective)},
                     {"times", RunsOf(program, step)},
                     {"line", step.line},
                     {"why", collective.why}});
}

Json PredictedJson(const PlanFacts& facts) {
  const MemoryPrediction& memory = facts.memory;
  Json json = {{"step_seconds", facts.predicted_step.value()},
               {"compute_seconds", facts.predicted_compute.value()},
               {"communication_seconds", facts.predicted_communication.value()},
               {"sent_bytes_per_rank", facts.sent_bytes_per_rank},
               {"memory_per_rank",
                {{"parameters", memory.parameters.value()},
                 {"gradients", memory.gradients.value()},
                 {"optimizer", memory.optimizer.value()},
                 {"activations", memory.activations.value()},
                 {"buffers", memory.buffers.value()},
                 {"peak", memory.peak.value()}}}};
  if (memory.cache > Bytes(0)) json["memory_per_rank"]["cache"] = memory.cache.value();
  if (memory.checkpoint > Bytes(0)) json["memory_per_rank"]["checkpoint"] = memory.checkpoint.value();
  if (memory.host > Bytes(0)) json["memory_per_rank"]["host"] = memory.host.value();
  if (facts.communicators > Bytes(0)) json["memory_per_rank"]["communicators"] = facts.communicators.value();
  json["kernels"] = facts.kernels;
  return json;
}

Json WarningsJson(const PlanFacts& facts) {
  Json warnings = Json::array();
  if (facts.warnings == nullptr) return warnings;
  for (const Diagnostic& diagnostic : facts.warnings->items()) {
    if (diagnostic.severity != Severity::kWarning) continue;
    int line = 0;
    for (const Label& label : diagnostic.labels) {
      const Span& span = label.span;
      const bool is_in_file = facts.sources != nullptr && facts.sources->IsIn(TextOrigin::kFile, span);
      if (is_in_file && line == 0) line = facts.sources->file(*span.file).Locate(span.begin).line;
    }
    warnings.push_back({{"code", Text(CodeName(diagnostic.code))}, {"line", line}, {"message", diagnostic.message}});
  }
  return warnings;
}

Json SearchJson(const Plan& plan) {
  const SearchSummary& search = plan.search;
  Json lower_bound = nullptr, gap = nullptr;
  if (search.lower_bound.has_value()) {
    lower_bound = *search.lower_bound;
    gap = *search.lower_bound > 0 ? search.cost / *search.lower_bound - 1 : 0.0;
  }
  return {{"algorithm", search.algorithm}, {"objective", search.objective},
          {"price", search.price},         {"gradient_weight", plan.gradient_weight},
          {"zero", search.zero},           {"cost", search.cost},
          {"lower_bound", lower_bound},    {"gap", gap}};
}

}  // namespace

std::string PlanJson(const Graph& graph, const Plan& plan, const Program& program, const PlanFacts& facts) {
  Json mesh = Json::array();
  for (const MeshAxis& axis : plan.mesh.axes()) {
    mesh.push_back({{"axis", axis.name}, {"size", axis.size}, {"link", axis.link}, {"weight", axis.weight}});
  }
  JsonDocumentWriter writer;
  writer.Field("format", "cleave-plan");
  writer.Field("version", 1);
  writer.Field("model", {{"name", graph.model}, {"file", graph.file}, {"hash", graph.hash}});
  writer.Field("cluster", {{"name", plan.cluster}, {"devices", plan.mesh.rank_count()}});
  writer.Field("mesh", mesh);
  writer.Field("micro_batches", plan.micro_batches);
  if (plan.pipeline.has_value()) {
    writer.Field("pipeline", {{"axis", plan.mesh.axis(plan.pipeline->axis).name},
                              {"schedule", Text(PipelineScheduleName(plan.pipeline->schedule))}});
  }
  if (plan.zigzag > 0) writer.Field("zigzag", plan.zigzag);
  writer.Field("moves_steps", plan.moves_steps);
  writer.Field("search", SearchJson(plan));
  RuleTable rules;
  writer.BeginItems("ops");
  for (const Op& op : graph.ops) writer.Item(OpJson(graph, plan, op, rules.Of(graph, op)));
  writer.EndItems();
  writer.BeginItems("tensors");
  for (const Op& op : graph.ops) writer.Item(TensorJson(graph, plan, op, rules.Of(graph, op)));
  writer.EndItems();
  const std::map<OpId, std::string> names = ComputedNames(program);
  writer.BeginItems("collectives");
  for (const Step& step : program.steps) {
    const Collective* collective = CommunicationOf(program, step);
    if (collective != nullptr) writer.Item(CollectiveJson(names, program, step, *collective));
  }
  writer.EndItems();
  writer.Field("predicted", PredictedJson(facts));
  writer.Field("warnings", WarningsJson(facts));
  return std::move(writer).Done();
}

}  // namespace cleave::ir
