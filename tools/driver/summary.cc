#include "tools/driver/summary.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/text.h"
#include "search/explain/overview.h"

namespace cleave {
namespace {

std::string FirstLine(const Compilation& compilation) {
  const Plan& plan = *compilation.plan;
  int64_t collectives = 0;
  double sent = 0;
  for (const Step& step : compilation.program.steps) {
    if (const auto* collective = std::get_if<Collective>(&step.action)) {
      ++collectives;
      sent += SentBytes(compilation.program, *collective);
    }
  }
  return absl::StrCat(compilation.training_graph.model, ": ", Plural(plan.mesh.rank_count(), "rank"),
                      plan.mesh.axis_count() > 0 ? absl::StrCat(" (", plan.mesh.ToString(), ")") : "", ", ",
                      plan.search.algorithm, ", ", Plural(collectives, "collective"), " and ",
                      FormatBytes(Bytes(static_cast<int64_t>(sent))), " sent per rank and step\n");
}

// GPUs differ more than a plan should leave unsaid.
std::string TargetLine(const CompileOptions& options, const Plan& plan) {
  if (options.target != "cuda") return "";
  const bool is_default = options.cluster.empty() && options.plan_file.empty();
  return absl::StrCat("for GPUs, planned for the cluster ", plan.cluster,
                      is_default ? " (the default: `--cluster` names another)" : "", "\n");
}

std::string ManualProofText(const ManualReport& proof) {
  if (!proof.is_simulated) {
    return absl::StrCat("checked statically on all ", Plural(proof.ranks, "rank"),
                        "; not proven by simulation: ", absl::StrFormat("%.1e", proof.operations),
                        " operations a step are too many");
  }
  return absl::StrCat("proven on ", Plural(proof.ranks, "simulated rank"), ", ", Plural(proof.values, "value"),
                      " compared, gradients of ", Plural(proof.parameters, "parameter"), " measured");
}

std::string ProofText(const Compilation& compilation) {
  if (compilation.manual_proof.has_value()) return ManualProofText(*compilation.manual_proof);
  if (!compilation.proof.has_value()) return "checked statically on all ranks; not proven by simulation: --plan-only";
  return absl::StrCat("proven on ", Plural(compilation.proof->ranks, "simulated rank"), ", ",
                      Plural(compilation.proof->values, "value"), " compared");
}

}  // namespace

Explained ExplainedOf(const Compilation& compilation) {
  return {.graph = compilation.training_graph,
          .plan = *compilation.plan,
          .distributed = compilation.distributed,
          .program = compilation.program,
          .predicted = Predict(compilation.program, *compilation.cluster),
          .memory = MemoryOf(compilation.distributed.graph, compilation.program, compilation.fuse).prediction,
          .pins = compilation.module->pins};
}

std::string Summary(const CompileOptions& options, const Compilation& compilation, Seconds taken) {
  std::string text;
  if (options.plan_only) {
    const Plan& plan = *compilation.plan;
    text = absl::StrCat(compilation.training_graph.model, ": ", Plural(plan.mesh.rank_count(), "rank"), " of ",
                        plan.cluster, ", ", plan.search.algorithm, "\n");
    if (!options.explain.has_value()) {
      const Explained explained = ExplainedOf(compilation);
      absl::StrAppend(&text, PlanOverview(explained.program, explained.predicted, explained.memory));
    }
  } else {
    text = absl::StrCat(FirstLine(compilation), TargetLine(options, *compilation.plan));
  }
  if (compilation.plan->search.algorithm == "exact" && !options.explain.has_value()) {
    absl::StrAppend(&text, "cost ", CostLine(*compilation.plan), "\n");
  }
  absl::StrAppend(&text, ProofText(compilation), "; compiled in ", FormatSeconds(taken), "\n");
  if (!compilation.proof.has_value()) return text;
  for (const std::string& axis : compilation.proof->axes_left_out) {
    absl::StrAppend(&text, "note: mesh axis ", axis, " was too much to simulate; it was checked statically\n");
  }
  return text;
}

}  // namespace cleave
