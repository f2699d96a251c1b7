#include "tools/driver/plan_file.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "ir/graph/manual/manual.h"
#include "ir/graph/rings/rings.h"
#include "ir/graph/row_updates/row_updates.h"
#include "ir/graph/sliced_losses/sliced_losses.h"
#include "ir/program/plan_json/plan_json.h"
#include "ir/transforms/distribute/chunks.h"
#include "ir/transforms/zigzag/zigzag.h"
#include "search/model/cluster/presets.h"
#include "search/model/cluster/resolve.h"
#include "search/search.h"
#include "tools/driver/choose_cluster.h"

namespace cleave::tools {
namespace {

constexpr int64_t kMostFileBytes = int64_t{256} << 20;

using ModelInPairs = std::function<std::optional<UnderstoodModel>(int64_t pairs)>;

class PlanFile {
 public:
  PlanFile(const CompileOptions& options, UnderstoodModel& model, const ModelInPairs& in_zigzag,
           Diagnostics& diagnostics)
      : options_(options), model_(model), in_zigzag_(in_zigzag), diagnostics_(diagnostics) {}

  std::optional<PlannedModel> Read() {
    std::optional<ir::Plan> plan = ReadPlan();
    if (!plan.has_value() || !HasRightDevices(*plan)) return std::nullopt;
    std::optional<search::Cluster> cluster = FindCluster(*plan);
    if (!cluster.has_value()) return std::nullopt;
    return PlannedModel{.cluster = ForTarget(*std::move(cluster), options_.target, model_.module.training.precision),
                        .plan = *std::move(plan)};
  }

 private:
  Diagnostic PlanError(absl::string_view what) const {
    return Error(Code::kE0604, absl::StrCat("the plan file `", options_.plan_file, "` ", what));
  }

  std::optional<ir::Plan> ReadPlan() {
    const absl::StatusOr<std::string> text =
        ReadFile(options_.plan_file, {.what = "plan file", .most_bytes = kMostFileBytes, .pipes = Pipes::kRead});
    if (!text.ok()) {
      diagnostics_.Add(Error(Code::kE0604, std::string(text.status().message())));
      return std::nullopt;
    }
    const absl::StatusOr<int64_t> pairs = ir::ZigzagOfPlanJson(*text);
    if (!pairs.ok()) {
      diagnostics_.Add(PlanError("does not fit this model").Note(std::string(pairs.status().message())));
      return std::nullopt;
    }
    if (!TakesZigzag(*pairs)) return std::nullopt;
    absl::StatusOr<ir::Plan> plan = ir::ParsePlanJson(*text, model_.training_graph);
    if (!plan.ok()) {
      diagnostics_.Add(PlanError("does not fit this model").Note(std::string(plan.status().message())));
      return std::nullopt;
    }
    if (!RowsArePossible(*plan)) return std::nullopt;
    return *std::move(plan);
  }

  bool TakesZigzag(int64_t pairs) {
    const std::optional<int64_t>& asked = model_.module.pins.settings.zigzag;
    if (asked.value_or(pairs) != pairs) {
      const auto text = [](int64_t count) { return count == 0 ? std::string("none") : absl::StrCat(count); };
      diagnostics_.Add(
          PlanError(absl::StrCat("has `zigzag = ", text(pairs), "`, the model `zigzag = ", text(*asked), "`"))
              .Help(absl::StrCat("`--set zigzag=", text(pairs), "`, or search for a new plan")));
      return false;
    }
    if (pairs == 0) return true;
    if (const std::optional<std::string> why = ir::WhyNoZigzag(model_.module.graph, pairs); why.has_value()) {
      diagnostics_.Add(PlanError("does not fit this model").Note(*why));
      return false;
    }
    std::optional<UnderstoodModel> changed = in_zigzag_(pairs);
    if (!changed.has_value()) return false;
    model_ = *std::move(changed);
    return true;
  }

  bool RowsArePossible(const ir::Plan& plan) {
    const std::vector<ir::RowUpdate> possible = ir::FindRowUpdates(model_.training_graph).possible;
    for (const ir::OpId gradient : ir::GradientsByRows(plan)) {
      const bool is_possible = std::any_of(possible.begin(), possible.end(),
                                           [&](const ir::RowUpdate& update) { return update.gradient == gradient; });
      if (is_possible) continue;
      diagnostics_.Add(PlanError("does not fit this model")
                           .Note(absl::StrCat("`", model_.training_graph.op(gradient).name,
                                              "` is applied by rows, and the optimizer needs all of it")));
      return false;
    }
    return true;
  }

  bool HasRightDevices(const ir::Plan& plan) {
    const ir::Graph graph = search::GraphOf(model_.training_graph, plan);
    const int64_t ranks = plan.mesh.rank_count();
    const std::string is_for = absl::StrCat("is for ", Plural(ranks, "device"));
    if (graph.is_manual() && ir::RankCount(graph.rank_axes) != ranks) {
      diagnostics_.Add(PlanError(absl::StrCat(is_for, ", and the manual model for ", ir::RankCount(graph.rank_axes)))
                           .Help(absl::StrCat("`--devices ", ranks, "`")));
      return false;
    }
    const std::optional<int64_t> micro_batches = model_.module.pins.settings.micro_batches;
    if (micro_batches.value_or(plan.micro_batches) != plan.micro_batches) {
      diagnostics_.Add(
          PlanError(absl::StrCat("takes the batch in ", Plural(plan.micro_batches, "part"), ", the model in ",
                                 *micro_batches))
              .Help(absl::StrCat("`--set micro_batches=", plan.micro_batches, "`, or search for a new plan")));
      return false;
    }
    const int64_t stages = plan.pipeline.has_value() ? plan.mesh.axis(plan.pipeline->axis).size : 1;
    if (const std::optional<int64_t>& asked = model_.module.pins.settings.stages; asked.value_or(stages) != stages) {
      diagnostics_.Add(PlanError(absl::StrCat("has ", Plural(stages, "stage"), ", the model ", *asked))
                           .Help(absl::StrCat("`--set stages=", stages, "`, or search for a new plan")));
      return false;
    }
    for (const std::string& error : ir::VerifyPlan(graph, plan)) {
      diagnostics_.Add(PlanError("does not fit this model").Note(error));
      return false;
    }
    for (const ir::Op& op : graph.ops) {
      const int64_t chunks = plan.ops[op.id].chunks;
      if (chunks == 0) continue;
      if (const auto why = ir::WhyNotInChunks(graph, plan, op.id, chunks); why.has_value()) {
        diagnostics_.Add(PlanError("does not fit this model")
                             .Note(absl::StrCat("`", op.name, "` is not computed in ", chunks, " chunks: ", *why)));
        return false;
      }
    }
    const bool offloads = std::any_of(plan.ops.begin(), plan.ops.end(),
                                      [](const ir::OpPlan& own) { return own.retention == ir::Retention::kOffload; });
    if (offloads && options_.target != "cuda") {
      diagnostics_.Add(PlanError("lets values wait in the host's memory, which only GPUs do")
                           .Help("`--target cuda`, or search for a new plan"));
      return false;
    }
    if (options_.devices.has_value() && *options_.devices != ranks) {
      diagnostics_.Add(PlanError(absl::StrCat(is_for, ", not ", *options_.devices))
                           .Help("leave `--devices` out, or search for a new plan"));
      return false;
    }
    return true;
  }

  std::optional<search::Cluster> FindCluster(const ir::Plan& plan) {
    const std::string is_for = absl::StrCat("is for cluster `", plan.cluster, "`");
    const std::optional<search::Machines> machines =
        options_.cluster.empty() ? search::FindPreset(plan.cluster) : model_.machines;
    if (!machines.has_value()) {
      diagnostics_.Add(PlanError(absl::StrCat(is_for, ", which is not a preset"))
                           .Help("name the file that describes it: `--cluster FILE.json`"));
      return std::nullopt;
    }
    std::optional<search::Cluster> cluster = search::ResolveCluster(
        {.name_or_path = options_.cluster.empty() ? plan.cluster : options_.cluster, .devices = plan.mesh.rank_count()},
        *machines, diagnostics_);
    if (!cluster.has_value()) return std::nullopt;
    if (cluster->name != plan.cluster) {
      diagnostics_.Add(PlanError(absl::StrCat(is_for, ", not `", cluster->name, "`"))
                           .Help("leave `--cluster` out, or search for a new plan"));
      return std::nullopt;
    }
    for (const ir::MeshAxis& axis : plan.mesh.axes()) {
      if (cluster->FindLink(axis.link) != nullptr) continue;
      diagnostics_.Add(PlanError(absl::StrCat("has a mesh axis `", axis.name, "` over the link `", axis.link,
                                              "`, which cluster `", plan.cluster, "` does not have"))
                           .Help("search for a new plan"));
      return std::nullopt;
    }
    return cluster;
  }

  const CompileOptions& options_;
  UnderstoodModel& model_;
  const ModelInPairs& in_zigzag_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::optional<PlannedModel> ReadPlanFile(const CompileOptions& options, UnderstoodModel& model,
                                         const ModelInPairs& in_zigzag, Diagnostics& diagnostics) {
  return PlanFile(options, model, in_zigzag, diagnostics).Read();
}

}  // namespace cleave::tools
