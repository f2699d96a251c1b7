// Reading guide: PageData lists the parts of the page in their order, and each function below makes one of them. Places
// interns what many values share: layouts, and how dimensions are cut.
#include "tools/page/data.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "base/layer_names/layer_names.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/memory/memory_over_step.h"
#include "search/explain/decisions.h"
#include "search/explain/ledger.h"
#include "search/explain/plans.h"
#include "search/explain/table.h"
#include "search/explain/why_not.h"
#include "search/knobs/memory/memory.h"
#include "search/solve/sapp/choices.h"
#include "tools/page/tree.h"

namespace cleave::tools {
namespace {

// The memory of a step is shown at so many moments at most.
constexpr size_t kMostMoments = 800;

std::string Text(absl::string_view text) { return std::string(text); }

// With five digits, which are few characters.
double Short(double value) { return std::strtod(absl::StrFormat("%.5g", value).c_str(), nullptr); }
double Short(Seconds seconds) { return Short(seconds.value()); }

// Of the timeline, where differences count.
int64_t Nanoseconds(Seconds seconds) { return std::llround(seconds.value() * 1e9); }

Json AxisNumbers(absl::Span<const ir::AxisId> axes) {
  Json numbers = Json::array();
  for (const ir::AxisId axis : axes) numbers.push_back(axis.value());
  return numbers;
}

// What many values have in common, each once.
class Places {
 public:
  explicit Places(const ir::Mesh& mesh) : mesh_(mesh), ranks_(std::min(mesh.rank_count(), kMostRanksShown)) {}

  // The number of a layout.
  int64_t LayoutNumber(const ir::Layout& layout) {
    const auto [found, is_new] = layout_of_.emplace(ir::LayoutText(layout, mesh_), layouts_.size());
    if (is_new) layouts_.push_back(LayoutJson(layout));
    return static_cast<int64_t>(found->second);
  }

  // The number of the ways in which a dimension lies in pieces: where they begin, and where the last one ends.
  int64_t CutNumber(int64_t elements, int64_t pieces) {
    const auto [found, is_new] = cut_of_.emplace(std::pair(elements, pieces), cuts_.size());
    if (is_new) {
      Json begins = Json::array();
      for (int64_t i = 0; i < pieces; ++i) begins.push_back(ir::PieceOf(elements, pieces, i).begin);
      begins.push_back(elements);
      cuts_.push_back(std::move(begins));
    }
    return static_cast<int64_t>(found->second);
  }

  Json Layouts() { return std::move(layouts_); }
  Json Cuts() { return std::move(cuts_); }

 private:
  Json LayoutJson(const ir::Layout& layout) const {
    Json dimensions = Json::array(), partial = Json::array(), ranks = Json::array();
    for (const ir::AxisList& axes : layout.dimensions) dimensions.push_back(AxisNumbers(axes));
    for (const ir::PartialAxis& axis : layout.partial) {
      partial.push_back(Json::array({axis.axis.value(), Text(ir::ReductionName(axis.reduction))}));
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      Json pieces = Json::array();
      for (const ir::AxisList& axes : layout.dimensions) pieces.push_back(mesh_.Index(rank, axes));
      ranks.push_back(std::move(pieces));
    }
    return JsonObject(
        {{"dimensions", std::move(dimensions)}, {"partial", std::move(partial)}, {"ranks", std::move(ranks)}});
  }

  const ir::Mesh& mesh_;
  const int ranks_;
  std::map<std::string, size_t> layout_of_;
  std::map<std::pair<int64_t, int64_t>, size_t> cut_of_;
  Json layouts_ = Json::array(), cuts_ = Json::array();
};

// Values of the training graph: those of equal layers that lie in the same way are one.
Json ValuesJson(const search::Explained& explained, Places& places) {
  struct Group {
    std::vector<std::string> names;
    const ir::Op* first = nullptr;
    const ir::Layout layout;
  };
  const ir::Plan& plan = explained.plan;
  std::vector<Group> groups;
  std::map<std::string, size_t> group_of;
  ir::RuleTable rules;
  for (const ir::Op& op : explained.graph.ops) {
    const ir::OpPlan& planned = plan.ops[op.id];
    ir::Layout layout = planned.output.value_or(ir::OutputLayout(planned.strategy, rules.Of(explained.graph, op)));
    const std::string key =
        absl::StrJoin({LayerNameOf(op.name).place, Text(ir::PhaseName(op.phase)), absl::StrCat(op.line),
                       op.type.ToString(), ir::LayoutText(layout, plan.mesh), absl::StrCat(planned.stage)},
                      "\n");
    const auto [found, is_new] = group_of.emplace(key, groups.size());
    if (is_new) groups.push_back({.names = {}, .first = &op, .layout = std::move(layout)});
    groups[found->second].names.push_back(op.name);
  }
  Json values = Json::array();
  for (const Group& group : groups) {
    const ir::Op& op = *group.first;
    const ir::OpPlan& planned = plan.ops[op.id];
    Json cuts = Json::array();
    for (size_t d = 0; d < op.type.shape.size(); ++d) {
      cuts.push_back(places.CutNumber(op.type.shape[d], plan.mesh.Size(group.layout.dimensions[d])));
    }
    Json value = JsonObject({{"name", FoldedName(group.names)},
                             {"count", group.names.size()},
                             {"kind", Text(ir::OpKindName(op.kind))},
                             {"phase", Text(ir::PhaseName(op.phase))},
                             {"line", op.line},
                             {"dtype", Text(ir::DTypeName(op.type.dtype))},
                             {"shape", op.type.shape},
                             {"layout", places.LayoutNumber(group.layout)},
                             {"cuts", std::move(cuts)},
                             {"by", Text(ir::DecidedByName(planned.decided_by))},
                             {"reason", group.names.size() > 1 ? FoldedText(planned.reason) : planned.reason}});
    if (explained.made.program.pipeline.has_value() && !ir::IsOnEveryStage(op)) {
      value["stage"] = planned.stage;
      value["part"] = ir::TimetableOf(explained.made.program).PartOf(planned.stage);
    }
    values.push_back(std::move(value));
  }
  return values;
}

// A group of ranks that run the same program: all ranks, or those of a part of a pipeline.
struct Part {
  const ir::Program& program;
  const ir::MemoryPlan& memory;
  search::Ledger ledger;  // Of one of the ranks.
};

std::vector<Part> PartsOf(const search::Explained& explained) {
  const ir::LoweredProgram& made = explained.made;
  std::vector<Part> parts;
  std::vector<search::Ledger> ledgers = search::LedgersOf(explained);
  for (size_t p = 0; p < ledgers.size(); ++p) {
    const bool is_whole = made.parts.empty();
    parts.push_back({.program = is_whole ? made.program : made.parts[p].program,
                     .memory = is_whole ? made.memory : made.parts[p].memory,
                     .ledger = std::move(ledgers[p])});
  }
  return parts;
}

// Kernels, collectives and copies of a step.
Json WorkJson(const std::vector<Part>& parts) {
  Json work = Json::array();
  for (size_t p = 0; p < parts.size(); ++p) {
    const Part& part = parts[p];
    for (const search::LedgerRow& row : part.ledger.rows) {
      const ir::Step& step = part.program.steps[static_cast<size_t>(row.step)];
      Json json = JsonObject({{"kind", Text(search::WorkKindName(row.kind))},
                              {"phase", Text(ir::PhaseName(row.phase))},
                              {"name", FoldedName(row.names)},
                              {"runs", row.Runs()},
                              {"each", Short(row.each.seconds)},
                              {"limit", Text(search::LimitName(row.each.limit))},
                              {"line", step.line}});
      if (parts.size() > 1) json["part"] = p;
      if (row.ops.size() > 1) json["ops"] = row.ops.size();
      if (!row.what.empty()) json["what"] = row.what;
      if (row.each.flops > Flops(0)) json["flops"] = Short(row.each.flops.value());
      if (row.each.bytes > Bytes(0)) json["bytes"] = row.each.bytes.value();
      if (row.each.sent > 0) json["sent"] = Short(row.each.sent);
      if (!row.links.empty()) json["links"] = row.links;
      if (const auto* collective = std::get_if<ir::Collective>(&step.action); collective != nullptr) {
        json["axes"] = AxisNumbers(collective->axes);
        json["why"] = row.names.size() > 1 ? FoldedText(collective->why) : collective->why;
      } else if (std::holds_alternative<ir::Send>(step.action)) {
        json["axes"] = AxisNumbers({part.program.pipeline->axis});
        json["why"] = absl::StrCat("stage ", std::get<ir::Send>(step.action).to, " reads it");
      }
      work.push_back(std::move(json));
    }
  }
  return work;
}

// What is held where a step needs most memory, equal layers together.
struct Held {
  std::vector<std::string> names;
  const ir::HeldTensor* first = nullptr;
};

std::vector<Held> HeldAtPeak(const ir::MemoryUse& use) {
  std::vector<Held> held;
  std::map<std::string, size_t> held_of;
  for (const ir::HeldTensor& tensor : use.at_peak) {
    const std::string key = absl::StrCat(LayerNameOf(tensor.name).place, "\n", tensor.role, "\n", tensor.size.value());
    const auto [found, is_new] = held_of.emplace(key, held.size());
    if (is_new) held.push_back({.names = {}, .first = &tensor});
    held[found->second].names.push_back(tensor.name);
  }
  return held;
}

double BytesOf(const Held& held) {
  return static_cast<double>(held.first->size.value()) * static_cast<double>(held.names.size());
}

Json TreeJson(const std::vector<Part>& parts, const ir::MemoryUse& use) {
  ModuleTree tree;
  for (const Part& part : parts) {
    for (const search::LedgerRow& row : part.ledger.rows) {
      tree.Add(row.names,
               {.seconds = row.AllSeconds().value(), .sent = row.each.sent * static_cast<double>(row.Runs())});
    }
  }
  for (const Held& held : HeldAtPeak(use)) tree.Add(held.names, {.bytes = BytesOf(held)});
  return tree.ToJson();
}

Json TimelineJson(const Part& part) {
  Json bars = Json::array();
  for (const search::TimedRow& run : part.ledger.timeline) {
    if (run.seconds > Seconds(0))
      bars.push_back(Json::array({run.row, Nanoseconds(run.begin), Nanoseconds(run.seconds)}));
  }
  return bars;
}

Json PipelineJson(const PageFacts& facts) {
  if (facts.pipeline == nullptr) return nullptr;
  const search::PipelinePrediction& pipeline = *facts.pipeline;
  const ir::Timetable timetable = ir::TimetableOf(facts.explained.made.parts.front().program);
  Json passes = Json::array(), once = Json::array();
  for (const search::PassTime& pass : pipeline.passes) {
    passes.push_back(
        Json::array({timetable.PartOf(pass.stage), pass.stage, pass.micro_batch, static_cast<int>(pass.kind),
                     Nanoseconds(pass.begin), Nanoseconds(pass.end - pass.begin)}));
  }
  for (const Seconds seconds : pipeline.once) once.push_back(Nanoseconds(seconds));
  return JsonObject({{"axis", facts.explained.plan.pipeline->axis.value()},
                     {"schedule", ir::PipelineScheduleName(facts.explained.plan.pipeline->schedule)},
                     {"parts", timetable.parts()},
                     {"stages", timetable.stages()},
                     {"bubble", Short(pipeline.bubble)},
                     {"passes", std::move(passes)},
                     {"once", std::move(once)}});
}

// The memory of the ranks that need most, and when: of a pipeline in the order of their program, else in time.
Json MemoryJson(const search::Explained& explained, const std::vector<Part>& parts) {
  const Part& part = *std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.memory.use.prediction.peak < b.memory.use.prediction.peak;
  });
  const ir::MemoryUse& use = part.memory.use;
  const std::vector<ir::HeldBytes> moments =
      ir::MemoryOverStep(explained.made.distributed.graph, part.program, part.memory);
  // Of several moments the one that needs most.
  const size_t together = std::max<size_t>(1, (moments.size() + kMostMoments - 1) / kMostMoments);
  Json points = Json::array();
  for (size_t i = 0; i < moments.size(); i += together) {
    const auto begin = moments.begin() + static_cast<int64_t>(i);
    const auto end = moments.begin() + static_cast<int64_t>(std::min(i + together, moments.size()));
    const ir::HeldBytes& most =
        *std::max_element(begin, end, [](const ir::HeldBytes& a, const ir::HeldBytes& b) { return a.sum() < b.sum(); });
    Json point = Json::array(
        {parts.size() > 1 ? static_cast<int64_t>(begin->stage) : Nanoseconds(part.ledger.BeginOf(begin->stage))});
    for (const Bytes bytes : most.by_role) point.push_back(bytes.value());
    points.push_back(std::move(point));
  }
  Json roles = Json::array(), held = Json::array();
  for (const ir::MemoryRole role : ir::kMemoryRoles) roles.push_back(Text(ir::MemoryRoleName(role)));
  std::vector<Held> all = HeldAtPeak(use);
  std::stable_sort(all.begin(), all.end(), [](const Held& a, const Held& b) { return BytesOf(a) > BytesOf(b); });
  for (const Held& own : all) {
    held.push_back(JsonObject({{"name", FoldedName(own.names)},
                               {"count", own.names.size()},
                               {"role", static_cast<int>(own.first->role)},
                               {"bytes", own.first->size.value()},
                               {"line", own.first->line}}));
  }
  const std::optional<search::MemoryLimit> limit = search::MemoryLimitOf(explained.pins.settings, explained.cluster);
  return JsonObject({{"peak", use.prediction.peak.value()},
                     {"checkpoint", use.prediction.checkpoint.value()},
                     {"host", use.prediction.host.value()},
                     {"waiting", use.waiting.value()},
                     {"limit", limit.has_value() ? Json(limit->bytes.value()) : Json(nullptr)},
                     {"part", &part - parts.data()},
                     {"roles", std::move(roles)},
                     {"points", std::move(points)},
                     {"held", std::move(held)}});
}

Json ChoiceJson(const ir::Choice& choice, const ir::Choice* chosen, const ir::Rule& rule, const ir::Plan& plan) {
  Json json = JsonObject({{"cuts", search::CutsText(choice.strategy, rule, plan.mesh)},
                          {"cost", search::CostText(choice.cost, plan.search.price)},
                          {"chosen", choice.chosen}});
  if (chosen != nullptr && chosen->cost > 0) json["ratio"] = Short(choice.cost / chosen->cost);
  if (choice.parts.has_value()) json["parts"] = search::PartsText(*choice.parts, plan.search.price);
  return json;
}

// The ops that were decided by themselves, each with its choices and what would have to change for others.
Json DecisionsJson(const search::Explained& explained) {
  const ir::Plan& plan = explained.plan;
  std::optional<search::WhyNot> why_not;
  Json decisions = Json::array();
  for (const search::DecidedOps& ops : search::DecidedOpsOf(explained.graph, plan)) {
    const ir::Op& op = explained.graph.op(ops.first);
    const ir::OpPlan& planned = plan.ops[op.id];
    const ir::Rule rule = ir::RuleOf(explained.graph, op);
    Json choices = Json::array();
    const ir::Choice* const chosen = search::ChosenOf(planned);
    for (const ir::Choice& choice : planned.choices) choices.push_back(ChoiceJson(choice, chosen, rule, plan));
    Json json = JsonObject({{"name", FoldedName(ops.names)},
                            {"count", ops.names.size()},
                            {"line", op.line},
                            {"kind", Text(ir::OpKindName(op.kind))},
                            {"rule", rule.ToString()},
                            {"cuts", ops.cuts},
                            {"cost", ops.cost},
                            {"sum", Short(ops.sum)},
                            {"by", Text(ir::DecidedByName(planned.decided_by))},
                            {"reason", ops.names.size() > 1 ? FoldedText(planned.reason) : planned.reason},
                            {"choices", std::move(choices)}});
    if (planned.choices.size() > 1) {
      if (!why_not.has_value()) why_not.emplace(explained);
      Json others = Json::array();
      for (const search::OtherChoice& other : why_not->OthersFor(op.id)) {
        others.push_back(JsonObject({{"cuts", search::CutsText(other.strategy, rule, plan.mesh)},
                                     {"costs_less", absl::StrJoin(other.conditions, ", or ")}}));
      }
      json["others"] = why_not->is_known() ? std::move(others) : Json(nullptr);
    }
    decisions.push_back(std::move(json));
  }
  return decisions;
}

Json WarningsJson(const Diagnostics* diagnostics) {
  Json warnings = Json::array();
  if (diagnostics == nullptr) return warnings;
  for (const Diagnostic& diagnostic : diagnostics->items()) {
    if (diagnostic.severity != Severity::kWarning) continue;
    warnings.push_back(JsonObject({{"code", Text(CodeName(diagnostic.code))}, {"message", diagnostic.message}}));
  }
  return warnings;
}

Json MeshJson(const ir::Mesh& mesh) {
  Json axes = Json::array();
  for (const ir::MeshAxis& axis : mesh.axes()) {
    axes.push_back(
        JsonObject({{"name", axis.name}, {"size", axis.size}, {"link", axis.link}, {"weight", axis.weight}}));
  }
  return axes;
}

Json CoordinatesJson(const ir::Mesh& mesh) {
  Json ranks = Json::array();
  for (int rank = 0; rank < std::min(mesh.rank_count(), kMostRanksShown); ++rank) {
    ranks.push_back(mesh.Coordinates(rank));
  }
  return ranks;
}

}  // namespace

Json PageData(const PageFacts& facts) {
  const search::Explained& explained = facts.explained;
  const ir::Plan& plan = explained.plan;
  const std::vector<Part> parts = PartsOf(explained);
  Places places(plan.mesh);
  Json data = JsonObject({{"format", "cleave-page"},
                          {"version", 1},
                          {"model", explained.graph.model},
                          {"file", explained.graph.file},
                          {"source", Text(facts.source)},
                          {"mesh", MeshJson(plan.mesh)},
                          {"rank_count", plan.mesh.rank_count()},
                          {"coordinates", CoordinatesJson(plan.mesh)},
                          {"micro_batches", plan.micro_batches},
                          {"step", explained.predicted.step.value()},
                          {"price", plan.search.price},
                          {"values", ValuesJson(explained, places)},
                          {"work", WorkJson(parts)},
                          {"tree", TreeJson(parts, explained.made.memory.use)},
                          {"memory", MemoryJson(explained, parts)},
                          {"decisions", DecisionsJson(explained)},
                          {"warnings", WarningsJson(facts.warnings)}});
  data["timeline"] = parts.size() > 1 ? Json(nullptr) : TimelineJson(parts.front());
  data["pipeline"] = PipelineJson(facts);
  data["layouts"] = places.Layouts();
  data["cuts"] = places.Cuts();
  return data;
}

Json PlansData(const search::Explained& explained) {
  if (explained.graph.is_manual()) return nullptr;
  const search::OtherPlans others = search::OtherPlansOf(explained);
  Json plans = Json::array(), refused = Json::array();
  for (const search::TriedPlan& tried : others.plans) {
    const search::Prediction& predicted = tried.predicted;
    plans.push_back(JsonObject({{"settings", absl::StrJoin(tried.flags, "; or ")},
                                {"chosen", tried.is_chosen},
                                {"step", Short(predicted.step)},
                                {"compute", Short(predicted.compute)},
                                {"communication", Short(predicted.communication)},
                                {"memory", tried.peak.value()},
                                {"sent", Short(predicted.sent_bytes_per_rank)},
                                {"why", tried.why}}));
  }
  for (const search::TriedPlan& tried : others.refused) {
    refused.push_back(JsonObject({{"settings", tried.flags.front()}, {"why", tried.refusal}}));
  }
  return JsonObject({{"plans", std::move(plans)}, {"refused", std::move(refused)}});
}

}  // namespace cleave::tools
