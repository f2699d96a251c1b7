// Reading guide: Of groups the ops of a place by KeyOf, which is short and the same for layers that are alike, and
// writes TextOf for the first op of each group.
#include "tools/lsp/plan_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/layer_names/layer_names.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/layout/layout.h"
#include "search/explain/decisions.h"
#include "search/explain/overview.h"
#include "search/explain/table.h"
#include "search/knobs/memory/memory.h"
#include "search/solve/sapp/choices.h"

namespace cleave::tools {
namespace {

constexpr size_t kMostGroups = 3;
constexpr size_t kMostCollectives = 4;

ir::Layout LayoutOf(const search::Explained& explained, const ir::Op& op) {
  const ir::OpPlan& planned = explained.plan.ops[op.id];
  return planned.output.value_or(ir::OutputLayout(planned.strategy, ir::RuleOf(explained.graph, op)));
}

// "`dp` (4) cuts dimension 0".
std::string AxisText(const ir::Mesh& mesh, ir::AxisId axis, const ir::Layout& layout) {
  const ir::MeshAxis& own = mesh.axes()[static_cast<size_t>(axis.value())];
  const std::string head = absl::StrCat("`", own.name, "` (", own.size, ") ");
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    const ir::AxisList& axes = layout.dimensions[d];
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return absl::StrCat(head, "cuts dimension ", d);
  }
  for (const ir::PartialAxis& partial : layout.partial) {
    if (partial.axis == axis) {
      return absl::StrCat(head, "has parts, whose ", ir::ReductionName(partial.reduction), " is the value");
    }
  }
  return absl::StrCat(head, "has replicas");
}

}  // namespace

std::string VerdictLine(const CompiledModel& compiled) {
  const ir::Plan& plan = compiled.planned.plan;
  const std::optional<search::MemoryLimit> limit =
      search::MemoryLimitOf(compiled.model.module.pins.settings, compiled.planned.cluster);
  const std::string of_limit = limit.has_value() ? absl::StrCat(" of ", FormatBytes(limit->bytes)) : "";
  std::string text = absl::StrCat("step ", FormatSeconds(compiled.predicted.step), ", ",
                                  FormatBytes(compiled.split.memory.use.prediction.peak), of_limit, " per rank");
  if (plan.mesh.rank_count() > 1) {
    absl::StrAppend(&text, ", ", FormatBytes(Bytes(static_cast<int64_t>(compiled.predicted.sent_bytes_per_rank))),
                    " sent in ", Plural(search::CollectivesOfStep(compiled.split.program), "collective"));
  }
  return absl::StrCat(text, ": ", Plural(plan.mesh.rank_count(), "rank"), " of ", plan.cluster, ", ",
                      plan.search.algorithm);
}

PlanTexts::PlanTexts(const search::Explained& explained) : explained_(explained) {
  for (const ir::Op& op : explained.graph.ops) ops_.emplace(op.name, op.id);
  const ir::Program& program = explained.made.program;
  const auto& originals = explained.made.distributed.originals;
  for (const ir::Step& step : program.steps) {
    const ir::Collective* const collective = ir::CommunicationOf(program, step);
    if (collective == nullptr) continue;
    for (const ir::Transfer& transfer : collective->transfers) {
      std::vector<const ir::Step*>& steps = collectives_[originals[program.value(transfer.input).origin].value()];
      if (steps.empty() || steps.back() != &step) steps.push_back(&step);
    }
  }
}

std::string PlanTexts::KeyOf(const ir::Op& op) const {
  const ir::OpPlan& planned = explained_.plan.ops[op.id];
  const auto collectives = collectives_.find(op.id.value());
  const ir::Choice* const chosen = search::ChosenOf(planned);
  return absl::StrCat(op.type.ToString(), ir::LayoutText(LayoutOf(explained_, op), explained_.plan.mesh), " ",
                      collectives == collectives_.end() ? 0 : collectives->second.size(), " ", planned.stage, " ",
                      chosen == nullptr ? 0.0 : chosen->cost);
}

const ir::Op& PlanTexts::DeciderOf(const ir::Op& op) const {
  constexpr int kMostSteps = 8;
  const ir::Op* at = &op;
  for (int i = 0; i < kMostSteps; ++i) {
    if (explained_.plan.ops[at->id].choices.size() > 1) return *at;
    const auto before = std::find_if(at->inputs.begin(), at->inputs.end(), [&](ir::OpId input) {
      const ir::Op& own = explained_.graph.op(input);
      return own.line == op.line && ir::DefinitionOf(own).op_class != ir::OpClass::kSource;
    });
    if (before == at->inputs.end()) break;
    at = &explained_.graph.op(*before);
  }
  return op;
}

std::string PlanTexts::ChoiceText(const ir::Op& op) const {
  const ir::Plan& plan = explained_.plan;
  const ir::OpPlan& planned = plan.ops[op.id];
  const ir::Choice* const chosen = search::ChosenOf(planned);
  const ir::Choice* next = nullptr;
  for (const ir::Choice& choice : planned.choices) {
    if (!choice.chosen && (next == nullptr || choice.cost < next->cost)) next = &choice;
  }
  if (chosen == nullptr || next == nullptr) return "";
  const ir::Rule rule = ir::RuleOf(explained_.graph, op);
  const std::string times = chosen->cost > 0 ? absl::StrFormat(", %.2f times as much", next->cost / chosen->cost) : "";
  return absl::StrCat("- chosen `", search::CutsText(chosen->strategy, rule, plan.mesh), "` for ",
                      search::CostText(chosen->cost, plan.search.price), "; the best other `",
                      search::CutsText(next->strategy, rule, plan.mesh), "` for ",
                      search::CostText(next->cost, plan.search.price), times, "\n");
}

std::string PlanTexts::CollectivesText(const ir::Op& op) const {
  const ir::Plan& plan = explained_.plan;
  std::string text;
  const auto collectives = collectives_.find(op.id.value());
  for (size_t i = 0; collectives != collectives_.end() && i < collectives->second.size(); ++i) {
    if (i == kMostCollectives) {
      absl::StrAppend(&text, "- and ", collectives->second.size() - i, " more\n");
      break;
    }
    const ir::Program& program = explained_.made.program;
    const ir::Step& step = *collectives->second[i];
    const ir::Collective& collective = *ir::CommunicationOf(program, step);
    absl::StrAppend(&text, "- ", ir::CollectiveKindName(collective.kind), " over `",
                    search::AxesText(collective.axes, plan.mesh), "`, ", ir::PhaseName(step.phase), ", ",
                    FormatBytes(Bytes(static_cast<int64_t>(ir::SentBytes(program, collective)))),
                    " sent: ", collective.why, "\n");
  }
  return text;
}

std::string PlanTexts::TextOf(const ir::Op& op) const {
  const ir::Plan& plan = explained_.plan;
  const ir::OpPlan& planned = plan.ops[op.id];
  const ir::Layout layout = LayoutOf(explained_, op);
  const Bytes held = ir::LargestLocalBytes(layout, plan.mesh, op.type);
  std::string text = absl::StrCat("- layout `", ir::LayoutText(layout, plan.mesh), "`");
  for (int axis = 0; axis < plan.mesh.axis_count(); ++axis) {
    absl::StrAppend(&text, axis == 0 ? ": " : ", ", AxisText(plan.mesh, ir::AxisId(axis), layout));
  }
  absl::StrAppend(&text, "\n- a rank holds ", FormatBytes(held),
                  held == op.type.bytes() ? "" : absl::StrCat(" of ", FormatBytes(op.type.bytes())), "\n");
  if (explained_.made.program.pipeline.has_value() && !ir::IsOnEveryStage(op)) {
    absl::StrAppend(&text, "- stage ", planned.stage, "\n");
  }
  absl::StrAppend(&text, "- decided by ", ir::DecidedByName(planned.decided_by), planned.reason.empty() ? "" : ": ",
                  planned.reason, "\n");
  const ir::Op& decider = DeciderOf(op);
  if (decider.id == op.id) return absl::StrCat(text, CollectivesText(op), ChoiceText(op));
  const std::string before = absl::StrCat(CollectivesText(decider), ChoiceText(decider));
  return absl::StrCat(text, CollectivesText(op), "\nof `", decider.name, "`, from which it follows:\n\n", before);
}

std::string PlanTexts::Of(absl::Span<const std::string> names) {
  struct Group {
    std::string key;
    const ir::Op* first = nullptr;
    std::vector<std::string> names;
  };
  std::vector<Group> groups;
  for (const std::string& name : names) {
    const auto found = ops_.find(name);
    if (found == ops_.end()) continue;
    const ir::Op& op = explained_.graph.op(found->second);
    std::string key = absl::StrCat(LayerNameOf(op.name).place, " ", KeyOf(op));
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& each) { return each.key == key; });
    if (group == groups.end()) {
      groups.push_back({.key = std::move(key), .first = &op, .names = {op.name}});
    } else if (group->names.back() != op.name) {
      group->names.push_back(op.name);
    }
  }
  std::string text;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i == kMostGroups) {
      absl::StrAppend(&text, "\nand ", groups.size() - i, " more\n");
      break;
    }
    absl::StrAppend(
        &text, i == 0 ? "" : "\n", "`", FoldedName(groups[i].names), "`",
        groups[i].names.size() > 1 ? absl::StrCat(", ", groups[i].names.size(), " of them; the first:") : "", "\n\n",
        TextOf(*groups[i].first));
  }
  return text;
}

}  // namespace cleave::tools
