#include "search/explain/overview.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/layer_names/layer_names.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "search/explain/table.h"

namespace cleave::search {
namespace {

constexpr size_t kLargest = 5;

// "m0=2 m1=2 (network, weight 1), m2=2 (host, weight 0.1)"
std::string MeshText(const ir::Mesh& mesh) {
  std::vector<std::string> links;
  std::string axes;
  for (int i = 0; i < mesh.axis_count(); ++i) {
    const ir::MeshAxis& axis = mesh.axis(ir::AxisId(i));
    absl::StrAppend(&axes, axes.empty() ? "" : " ", axis.name, "=", axis.size);
    if (i + 1 < mesh.axis_count() && mesh.axis(ir::AxisId(i + 1)).link == axis.link) continue;
    links.push_back(absl::StrFormat("%s (%s, weight %.3g)", axes, axis.link, axis.weight));
    axes.clear();
  }
  return links.empty() ? "one rank" : absl::StrJoin(links, ", ");
}

std::string SentText(const ir::Program& program, const Prediction& predicted) {
  return absl::StrCat(FormatBytes(Bytes(static_cast<int64_t>(predicted.sent_bytes_per_rank))),
                      " per rank and step, in ", Plural(CollectivesOfStep(program), "collective"));
}

// ", checkpoint 8.0 MB" or "; on the host 24 MB, of it checkpoint 8.0 MB".
std::string EndOfMemoryText(const ir::MemoryPrediction& memory) {
  const std::string checkpoint =
      memory.checkpoint > Bytes(0) ? absl::StrCat("checkpoint ", FormatBytes(memory.checkpoint)) : "";
  if (memory.host == Bytes(0)) return checkpoint.empty() ? "" : absl::StrCat(", ", checkpoint);
  return absl::StrCat("; on the host ", FormatBytes(memory.host),
                      checkpoint.empty() ? "" : absl::StrCat(", of it ", checkpoint));
}

std::string MemoryText(const ir::MemoryPrediction& memory) {
  return absl::StrCat(FormatBytes(memory.peak), " per rank: parameters ", FormatBytes(memory.parameters),
                      ", gradients ", FormatBytes(memory.gradients), ", optimizer ", FormatBytes(memory.optimizer),
                      ", activations ", FormatBytes(memory.activations),
                      memory.cache > Bytes(0) ? absl::StrCat(", cache ", FormatBytes(memory.cache)) : "", ", buffers ",
                      FormatBytes(memory.buffers), EndOfMemoryText(memory));
}

std::string TimeText(const Prediction& predicted) {
  return absl::StrCat(FormatSeconds(predicted.step), " per step, predicted: compute ", FormatSeconds(predicted.compute),
                      ", communication ", FormatSeconds(predicted.communication),
                      predicted.host_copies > Seconds(0)
                          ? absl::StrCat(", copies to the host and back ", FormatSeconds(predicted.host_copies))
                          : "");
}

// "x.0..95.ffn.up.matmul f32[1024, 49152]": what ops compute and memory holds, equal layers together.
std::string LargestText(const ir::LoweredProgram& made) {
  struct Group {
    std::vector<std::string> names;
    ir::TensorType type;
  };
  std::vector<Group> groups;
  std::map<std::pair<std::string, ir::Shape>, size_t> group_of;
  const auto add = [&](const ir::Program& program, const ir::Storage& storage) {
    for (const ir::Step& step : program.steps) {
      const auto* compute = std::get_if<ir::Compute>(&step.action);
      // A value inside of one kernel is not stored.
      if (compute == nullptr || !storage.root[compute->output].has_value()) continue;
      const ir::Value& value = program.value(compute->output);
      const ir::Shape local = ir::LargestLocalShape(program, compute->output);
      const auto [found, is_new] = group_of.emplace(std::pair(LayerNameOf(value.name).place, local), groups.size());
      if (is_new) groups.push_back({.names = {}, .type = {.dtype = value.type.dtype, .shape = local}});
      groups[found->second].names.push_back(value.name);
    }
  };
  if (made.parts.empty()) add(made.program, made.memory.storage);
  for (const ir::PartProgram& part : made.parts) add(part.program, part.memory.storage);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.type.bytes() > b.type.bytes(); });
  if (groups.size() > kLargest) groups.resize(kLargest);
  return absl::StrJoin(groups, ", ", [](std::string* out, const Group& group) {
    absl::StrAppend(out, FoldedName(group.names), " ", group.type.ToString());
  });
}

// How the step saves memory: empty where it does not.
std::string SavingsText(const ir::Program& program) {
  std::vector<std::string> savings;
  if (const int64_t count = ir::MicroBatches(program); count > 1) {
    savings.push_back(absl::StrCat("the batch in ", count, " micro-batches"));
  }
  if (const int64_t ops = OpsComputedAgain(program); ops > 0) {
    savings.push_back(absl::StrCat(Plural(ops, "op"), " computed again in the backward pass"));
  }
  if (const auto copies = std::count_if(program.steps.begin(), program.steps.end(), ir::IsCopyOut); copies > 0) {
    savings.push_back(absl::StrCat(Plural(copies, "value"), " in the host's memory until the backward pass"));
  }
  return absl::StrJoin(savings, ", ");
}

}  // namespace

int64_t CollectivesOfStep(const ir::Program& program) {
  int64_t collectives = 0;
  for (const ir::Step& step : program.steps) {
    if (step.phase == ir::Phase::kMetric || ir::CommunicationOf(program, step) == nullptr) continue;
    collectives += ir::RunsOf(program, step);
  }
  return collectives;
}

int64_t OpsComputedAgain(const ir::Program& program) {
  int64_t again = 0;
  std::set<ir::OpId> computed;
  for (const ir::Step& step : program.steps) {
    const auto* compute = std::get_if<ir::Compute>(&step.action);
    // An update makes the copies that are kept for the next step.
    if (compute == nullptr || step.phase == ir::Phase::kUpdate) continue;
    if (!computed.insert(compute->op).second) ++again;
  }
  return again;
}

std::string PlanOverview(const ir::LoweredProgram& made, const Prediction& predicted) {
  const ir::Program& program = made.program;
  const std::string savings = SavingsText(program);
  return absl::StrCat(Wrapped("  mesh      ", MeshText(ir::RankMesh(program)), 12),
                      savings.empty() ? "" : Wrapped("  saving    ", savings, 12),
                      Wrapped("  sent      ", SentText(program, predicted), 12),
                      Wrapped("  memory    ", MemoryText(made.memory.use.prediction), 12),
                      Wrapped("  time      ", TimeText(predicted), 12), Wrapped("  largest   ", LargestText(made), 12));
}

std::string PinsLine(const ir::Graph& graph, absl::Span<const ir::Pin> pins) {
  constexpr size_t kShown = 8;
  std::map<int, std::vector<std::string>> names_by_line;
  for (const ir::Pin& pin : pins) names_by_line[graph.op(pin.op).line].push_back(graph.op(pin.op).name);
  if (names_by_line.empty()) return "";
  std::vector<std::string> shown;
  for (const auto& [line, names] : names_by_line) {
    if (shown.size() == kShown) break;
    const LayerName first = LayerNameOf(names.front());
    const bool are_alike = std::all_of(names.begin(), names.end(),
                                       [&](const std::string& name) { return LayerNameOf(name).place == first.place; });
    shown.push_back(
        absl::StrCat(are_alike ? FoldedName(names) : absl::StrCat(names.front(), ", …"), " (line ", line, ")"));
  }
  const size_t more = names_by_line.size() - shown.size();
  return Wrapped(
      "pins taken: ",
      absl::StrCat(absl::StrJoin(shown, ", "), more > 0 ? absl::StrCat(", and of ", Plural(more, "more line")) : ""),
      12);
}

std::string PipelineLine(const PipelinePrediction& pipeline) {
  const auto passes = [](const StageSeconds& stage) { return stage.forward + stage.backward; };
  const StageSeconds& slowest =
      *std::max_element(pipeline.stages.begin(), pipeline.stages.end(),
                        [&](const StageSeconds& a, const StageSeconds& b) { return passes(a) < passes(b); });
  return Wrapped(
      "  stages    ",
      absl::StrFormat("%d, idle for %.1f%% of the passes; the slowest takes %s forward and %s backward for a "
                      "micro-batch",
                      pipeline.stages.size(), 100 * pipeline.bubble, FormatSeconds(slowest.forward),
                      FormatSeconds(slowest.backward)),
      12);
}

std::string CostLine(const ir::Plan& plan) {
  const ir::SearchSummary& search = plan.search;
  if (search.algorithm == "manual") return "none: the model says itself what each rank computes and sends";
  const bool is_exact = search.algorithm == "exact";
  const bool is_bounded = is_exact || search.algorithm == "propagate";
  std::string text = absl::StrCat(CostText(search.cost, search.price), " under the price ", search.price,
                                  ", gradient_weight ", absl::StrFormat("%g", plan.gradient_weight));
  if (!search.lower_bound.has_value()) {
    if (!is_bounded) return text;
    return absl::StrCat(text, is_exact ? "; no bound: there are too many ways to cut ops" : "; no bound is known");
  }
  absl::StrAppend(&text, ", at least ", CostText(*search.lower_bound, search.price));
  if (*search.lower_bound > 0) {
    absl::StrAppendFormat(&text, " (gap %.2f%%)", 100 * (search.cost / *search.lower_bound - 1));
  }
  if (is_bounded && search.cost > *search.lower_bound) absl::StrAppend(&text, "; the gap is not closed");
  return text;
}

}  // namespace cleave::search
