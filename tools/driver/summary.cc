#include "tools/driver/summary.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/match/match.h"
#include "base/text/text.h"
#include "search/explain/overview.h"

namespace cleave::tools {
namespace {

// GPUs differ so much that the summary should name the kind for which the plan was made.
std::string TargetLine(const CompileOptions& options, const ir::Plan& plan) {
  if (options.target != "cuda") return "";
  const bool is_default = options.cluster.empty() && options.plan_file.empty();
  return absl::StrCat("for GPUs, planned for the cluster ", plan.cluster,
                      is_default ? " (the default: `--cluster` names another)" : "", "\n");
}

// Which share of the parameters is trained where the others have adapters beside them.
std::string AdapterLine(const CompiledModel& compiled) {
  const ir::Training& training = compiled.model.module.training;
  if (training.adapters.empty() || training.mode != ir::Mode::kTrain) return "";
  int64_t all = 0, trained = 0;
  for (const ir::Op& op : compiled.model.training_graph.ops) {
    const bool is_scale = op.attributes.Has(ir::attribute::kStores) && op.type.dtype == ir::DType::kF32;
    if (op.kind != ir::OpKind::kParameter || is_scale) continue;
    all += op.type.elements();
    if (op.attributes.Get(ir::attribute::kTrained)) trained += op.type.elements();
  }
  return absl::StrCat(training.adapters, ": ", FormatCount(trained), " of ", FormatCount(all),
                      " parameters are trained", training.frozen == ir::DType::kI8 ? ", frozen matrices are i8" : "",
                      "\n");
}

std::string ManualProofText(const ir::ManualReport& proof) {
  if (!proof.is_simulated) {
    return absl::StrCat("checked statically on all ", Plural(proof.ranks, "rank"), "; not proven by simulation: ",
                        absl::StrFormat("%.1e operations on %.1e elements", proof.operations, proof.elements),
                        " a step are too many");
  }
  return absl::StrCat(
      "proven on ", Plural(proof.ranks, "simulated rank"), ", ", Plural(proof.values, "value"), " compared",
      proof.unmeasured.empty() ? absl::StrCat(", gradients of ", Plural(proof.parameters, "parameter"), " measured")
                               : absl::StrCat("; gradients not measured: ", proof.unmeasured));
}

}  // namespace

std::string PlanLine(const CompiledModel& compiled) {
  const ir::Plan& plan = compiled.planned.plan;
  int64_t collectives = 0;
  double sent = 0;
  const ir::Program& program = compiled.split.program;
  for (const ir::Step& step : program.steps) {
    if (const ir::Collective* collective = ir::CommunicationOf(program, step); collective != nullptr) {
      collectives += ir::RunsOf(program, step);
      sent += ir::SentBytes(program, *collective) * static_cast<double>(ir::RunsOf(program, step));
    }
  }
  if (compiled.pipeline.has_value()) sent = compiled.predicted.sent_bytes_per_rank;
  const std::string stages =
      compiled.pipeline.has_value()
          ? absl::StrFormat("%d stages (%s, bubble %.0f%%), ", ir::StageCount(plan),
                            ir::PipelineScheduleName(plan.pipeline->schedule), 100 * compiled.pipeline->bubble)
          : "";
  const std::string micro_batches = plan.micro_batches > 1 ? absl::StrCat(plan.micro_batches, " micro-batches, ") : "";
  const int64_t again = search::OpsComputedAgain(program);
  const Bytes on_host = compiled.split.memory.use.prediction.host;
  return absl::StrCat(compiled.model.training_graph.model, ": ", Plural(plan.mesh.rank_count(), "rank"),
                      plan.mesh.axis_count() > 0 ? absl::StrCat(" (", plan.mesh.ToString(), ")") : "", ", ", stages,
                      micro_batches, plan.zigzag > 0 ? absl::StrCat("rows in ", plan.zigzag, " zigzag pairs, ") : "",
                      again > 0 ? absl::StrCat(Plural(again, "op"), " computed again, ") : "",
                      on_host > Bytes(0) ? absl::StrCat(FormatBytes(on_host), " per rank on the host, ") : "",
                      plan.search.algorithm, ", ", Plural(collectives, "collective"), " and ",
                      FormatBytes(Bytes(static_cast<int64_t>(sent))), " sent per rank and step\n");
}

search::Explained ExplainedOf(const CompiledModel& compiled) {
  return {.graph = compiled.model.training_graph,
          .plan = compiled.planned.plan,
          .cluster = compiled.planned.cluster,
          .execution = compiled.execution,
          .made = compiled.split,
          .predicted = compiled.predicted,
          .pins = compiled.model.module.pins};
}

std::string ProofText(const Proof& proof) {
  return Match(
      proof,
      [](const NotSimulated&) -> std::string {
        return "checked statically on all ranks; not proven by simulation: --plan-only";
      },
      [](const ir::SimulationReport& simulated) {
        return absl::StrCat("proven on ", Plural(simulated.ranks, "simulated rank"), ", ",
                            Plural(simulated.values, "value"), " compared");
      },
      [](const ir::ManualReport& proven) { return ManualProofText(proven); });
}

std::string Summary(const CompileOptions& options, const CompiledModel& compiled, Seconds taken) {
  std::string text;
  if (options.plan_only) {
    const ir::Plan& plan = compiled.planned.plan;
    text = absl::StrCat(compiled.model.training_graph.model, ": ", Plural(plan.mesh.rank_count(), "rank"), " of ",
                        plan.cluster, ", ", plan.search.algorithm, "\n");
    if (!options.explain.has_value()) {
      absl::StrAppend(&text, search::PlanOverview(compiled.split, compiled.predicted));
      if (compiled.pipeline.has_value()) absl::StrAppend(&text, search::PipelineLine(*compiled.pipeline));
    }
  } else {
    text = absl::StrCat(PlanLine(compiled), TargetLine(options, compiled.planned.plan));
  }
  if (!options.explain.has_value()) {
    const bool takes_pins = options.plan_file.empty() && compiled.planned.plan.mesh.rank_count() > 1;
    absl::StrAppend(&text, AdapterLine(compiled),
                    takes_pins ? search::PinsLine(compiled.model.module.graph, compiled.model.forward_pins.pins) : "");
  }
  if (compiled.planned.plan.search.algorithm == "exact" && !options.explain.has_value()) {
    absl::StrAppend(&text, "cost ", search::CostLine(compiled.planned.plan), "\n");
  }
  // Without a program whose text unrolls to it there would be no summary (codegen/roll/unroll.h).
  const absl::string_view unrolled = options.plan_only ? "" : ", and what is written unrolls to it";
  absl::StrAppend(&text, ProofText(compiled.proof), unrolled, "; compiled in ", FormatSeconds(taken), "\n");
  const auto* simulated = std::get_if<ir::SimulationReport>(&compiled.proof);
  if (simulated == nullptr) return text;
  for (const std::string& axis : simulated->axes_left_out) {
    absl::StrAppend(&text, "note: mesh axis ", axis, " was too much to simulate; it was checked statically\n");
  }
  return text;
}

}  // namespace cleave::tools
