#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json/json.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/rings/rings.h"
#include "ir/program/plan_json/plan_json.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {
namespace {

absl::StatusOr<AxisList> AxesOf(const Json& names, const Mesh& mesh, const std::string& where) {
  if (!names.is_array()) return JsonError(where, "expected a list of mesh axes");
  AxisList axes;
  for (const Json& name : names) {
    const std::optional<AxisId> axis = name.is_string() ? mesh.Find(name.get<std::string>()) : std::nullopt;
    if (!axis.has_value()) return JsonError(where, absl::StrCat("no mesh axis ", JsonLine(name)));
    axes.push_back(*axis);
  }
  return axes;
}

absl::StatusOr<Strategy> StrategyOf(const Json& factors, const Rule& rule, const Mesh& mesh, const std::string& where) {
  if (!factors.is_object()) return JsonError(where, "expected an object");
  Strategy strategy = Strategy::Replicated(rule);
  std::set<std::string> known;
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    const std::string& name = rule.factors[factor].name;
    known.insert(name);
    if (!factors.contains(name)) return JsonError(where, absl::StrCat("the factor \"", name, "\" is missing"));
    CLEAVE_ASSIGN_OR_RETURN(strategy.cuts[factor], AxesOf(factors.at(name), mesh, absl::StrCat(where, ".", name)));
  }
  for (const auto& [name, axes] : factors.items()) {
    if (known.count(name) == 0) return JsonError(where, absl::StrCat("the op has no factor \"", name, "\""));
  }
  return strategy;
}

absl::Status ReadPasses(const Json& passes, const Mesh& mesh, const std::string& where, Strategy& strategy) {
  if (!passes.is_array()) return JsonError(where, "expected a list");
  for (const Json& pass : passes) {
    CLEAVE_RETURN_IF_ERROR(CheckFields(pass, where, {"axis", "group"}));
    CLEAVE_ASSIGN_OR_RETURN(const std::string name, StringAt(pass, "axis", where));
    CLEAVE_ASSIGN_OR_RETURN(const int64_t group, IntegerAt(pass, "group", where));
    const std::optional<AxisId> axis = mesh.Find(name);
    if (!axis.has_value()) return JsonError(where, absl::StrCat("no mesh axis \"", name, "\""));
    strategy.passes.push_back({.axis = *axis, .group = static_cast<int>(group)});
  }
  return absl::OkStatus();
}

absl::StatusOr<CostParts> PartsOf(const Json& json, const std::string& where) {
  CLEAVE_RETURN_IF_ERROR(
      CheckFields(json, where, {"inside", "inputs", "output", "backward", "gradients", "elsewhere", "collectives"}));
  CostParts parts;
  CLEAVE_ASSIGN_OR_RETURN(parts.inside, NumberAt(json, "inside", where));
  CLEAVE_ASSIGN_OR_RETURN(parts.inputs, NumberAt(json, "inputs", where));
  CLEAVE_ASSIGN_OR_RETURN(parts.output, NumberAt(json, "output", where));
  CLEAVE_ASSIGN_OR_RETURN(parts.backward, NumberAt(json, "backward", where));
  CLEAVE_ASSIGN_OR_RETURN(parts.gradients, NumberAt(json, "gradients", where));
  CLEAVE_ASSIGN_OR_RETURN(parts.elsewhere, NumberAt(json, "elsewhere", where));
  CLEAVE_ASSIGN_OR_RETURN(const int64_t collectives, IntegerAt(json, "collectives", where));
  parts.collectives = static_cast<int>(collectives);
  return parts;
}

absl::StatusOr<Choice> ChoiceOf(const Json& json, const Rule& rule, const Mesh& mesh, const std::string& where) {
  CLEAVE_RETURN_IF_ERROR(CheckFields(json, where, {"factors", "cost", "chosen"}, {"parts"}));
  Choice choice;
  CLEAVE_ASSIGN_OR_RETURN(choice.strategy, StrategyOf(json.at("factors"), rule, mesh, where));
  CLEAVE_ASSIGN_OR_RETURN(choice.cost, NumberAt(json, "cost", where));
  if (!json.at("chosen").is_boolean()) return JsonError(where, "expected \"chosen\" to be true or false");
  choice.chosen = json.at("chosen").get<bool>();
  if (json.contains("parts")) {
    CLEAVE_ASSIGN_OR_RETURN(choice.parts, PartsOf(json.at("parts"), absl::StrCat(where, ".parts")));
  }
  return choice;
}

// False where the field is missing.
absl::StatusOr<bool> FlagAt(const Json& json, const char* field, const std::string& where) {
  if (!json.contains(field)) return false;
  if (!json.at(field).is_boolean()) return JsonError(absl::StrCat(where, ".", field), "expected true or false");
  return json.at(field).get<bool>();
}

// `whole`: the plan, as far as it is known before its ops.
absl::StatusOr<OpPlan> OpPlanOf(const Json& json, const Graph& graph, const Op& op, const Plan& whole,
                                const std::string& where) {
  const Mesh& mesh = whole.mesh;
  CLEAVE_RETURN_IF_ERROR(
      CheckFields(json, where, {"name", "factors", "decided_by"},
                  {"kind",    "phase",  "line",  "inputs",     "output",       "in_strategy", "out_strategy",
                   "partial", "passes", "stage", "out_layout", "gather_again", "recompute",   "offload",
                   "by_rows", "ring",   "parts", "chunks",     "reason",       "choices"}));
  OpPlan plan;
  CLEAVE_ASSIGN_OR_RETURN(plan.ring, FlagAt(json, "ring", where));
  Op planned = op;
  if (plan.ring) {
    if (const std::optional<std::string> why = WhyNoRing(graph, op); why.has_value())
      return JsonError(absl::StrCat(where, ".ring"), absl::StrCat("`", op.name, "` is no ring: ", *why));
    planned.attributes.Set(attribute::kRing, true);
  }
  const Rule rule = RuleOf(graph, planned);
  CLEAVE_ASSIGN_OR_RETURN(plan.strategy, StrategyOf(json.at("factors"), rule, mesh, absl::StrCat(where, ".factors")));
  if (json.contains("passes")) {
    CLEAVE_RETURN_IF_ERROR(ReadPasses(json.at("passes"), mesh, absl::StrCat(where, ".passes"), plan.strategy));
  }
  if (const absl::Status valid = VerifyIn(whole, plan.strategy, rule); !valid.ok()) {
    return JsonError(absl::StrCat(where, ".factors"), std::string(valid.message()));
  }
  if (json.contains("out_layout") && !json.at("out_layout").is_null()) {
    const Json& dimensions = json.at("out_layout");
    const std::string place = absl::StrCat(where, ".out_layout");
    if (!dimensions.is_array()) return JsonError(place, "expected a list of lists of mesh axes");
    Layout layout;
    for (const Json& axes : dimensions) {
      CLEAVE_ASSIGN_OR_RETURN(AxisList cut, AxesOf(axes, mesh, place));
      layout.dimensions.push_back(std::move(cut));
    }
    if (const absl::Status valid = VerifyLayout(layout, mesh, op.type.rank()); !valid.ok()) {
      return JsonError(place, std::string(valid.message()));
    }
    plan.output = std::move(layout);
  }
  CLEAVE_ASSIGN_OR_RETURN(const bool gather_again, FlagAt(json, "gather_again", where));
  CLEAVE_ASSIGN_OR_RETURN(const bool recompute, FlagAt(json, "recompute", where));
  CLEAVE_ASSIGN_OR_RETURN(const bool offload, FlagAt(json, "offload", where));
  CLEAVE_ASSIGN_OR_RETURN(plan.by_rows, FlagAt(json, "by_rows", where));
  if (json.contains("parts")) {
    CLEAVE_ASSIGN_OR_RETURN(plan.parts, IntegerAt(json, "parts", where));
    if (op.kind != OpKind::kCrossEntropy || plan.parts < 1) {
      return JsonError(absl::StrCat(where, ".parts"), absl::StrCat("`", op.name, "` is not computed in so many parts"));
    }
  }
  if (json.contains("chunks")) {
    CLEAVE_ASSIGN_OR_RETURN(plan.chunks, IntegerAt(json, "chunks", where));
    if (op.kind != OpKind::kMatmul || plan.chunks < 2 || plan.chunks > kMostChunks) {
      return JsonError(absl::StrCat(where, ".chunks"),
                       absl::StrCat("`", op.name, "` is not computed in so many chunks"));
    }
  }
  if ((recompute || offload) && !CanBeRecomputed(graph, op)) {
    return JsonError(absl::StrCat(where, recompute ? ".recompute" : ".offload"),
                     absl::StrCat("`", op.name, "` is always kept"));
  }
  if (gather_again) plan.retention = Retention::kRedistribute;
  if (recompute) plan.retention = Retention::kRecompute;
  if (offload) plan.retention = Retention::kOffload;
  if (json.contains("stage")) {
    CLEAVE_ASSIGN_OR_RETURN(const int64_t stage, IntegerAt(json, "stage", where));
    if (stage < 0 || stage >= StageCount(whole)) {
      return JsonError(absl::StrCat(where, ".stage"),
                       absl::StrCat("0 to ", StageCount(whole) - 1, " expected, found ", stage));
    }
    plan.stage = static_cast<int>(stage);
  }
  CLEAVE_ASSIGN_OR_RETURN(const std::string decided_by, StringAt(json, "decided_by", where));
  const std::optional<DecidedBy> decided = ParseDecidedBy(decided_by);
  if (!decided.has_value())
    return JsonError(absl::StrCat(where, ".decided_by"), absl::StrCat("unknown value \"", decided_by, "\""));
  plan.decided_by = *decided;
  if (json.contains("reason")) {
    CLEAVE_ASSIGN_OR_RETURN(plan.reason, StringAt(json, "reason", where));
  }
  if (json.contains("choices")) {
    const std::string place = absl::StrCat(where, ".choices");
    if (!json.at("choices").is_array()) return JsonError(place, "expected a list");
    for (const Json& choice : json.at("choices")) {
      CLEAVE_ASSIGN_OR_RETURN(Choice read, ChoiceOf(choice, rule, mesh, place));
      plan.choices.push_back(std::move(read));
    }
  }
  return plan;
}

absl::StatusOr<Mesh> MeshOf(const Json& json) {
  if (!json.is_array()) return JsonError("mesh", "expected a list");
  std::vector<MeshAxis> axes;
  for (const Json& axis : json) {
    CLEAVE_RETURN_IF_ERROR(CheckFields(axis, "mesh", {"axis", "size"}, {"link", "weight"}));
    MeshAxis read;
    CLEAVE_ASSIGN_OR_RETURN(read.name, StringAt(axis, "axis", "mesh"));
    CLEAVE_ASSIGN_OR_RETURN(read.size, IntegerAt(axis, "size", "mesh"));
    if (axis.contains("link")) {
      CLEAVE_ASSIGN_OR_RETURN(read.link, StringAt(axis, "link", "mesh"));
    }
    if (axis.contains("weight")) {
      CLEAVE_ASSIGN_OR_RETURN(read.weight, NumberAt(axis, "weight", "mesh"));
    }
    if (read.size < 2) return JsonError("mesh", absl::StrCat("axis \"", read.name, "\" has size ", read.size));
    axes.push_back(std::move(read));
  }
  absl::StatusOr<Mesh> mesh = Mesh::Create(std::move(axes));
  if (!mesh.ok()) return JsonError("mesh", std::string(mesh.status().message()));
  return mesh;
}

absl::Status CheckModel(const Json& model, const Graph& graph) {
  CLEAVE_RETURN_IF_ERROR(CheckFields(model, "model", {"name", "hash"}, {"file"}));
  CLEAVE_ASSIGN_OR_RETURN(const std::string name, StringAt(model, "name", "model"));
  CLEAVE_ASSIGN_OR_RETURN(const std::string hash, StringAt(model, "hash", "model"));
  if (hash == graph.hash) return absl::OkStatus();
  return JsonError("model.hash", absl::StrCat("the plan is for ", name, " with hash ", hash, ", this model is ",
                                              graph.model, " with hash ", graph.hash));
}

absl::StatusOr<SearchSummary> SearchOf(const Json& json, double& gradient_weight) {
  CLEAVE_RETURN_IF_ERROR(CheckFields(json, "search", {"algorithm", "objective", "price", "cost"},
                                     {"lower_bound", "gap", "gradient_weight", "zero", "seconds"}));
  SearchSummary search;
  CLEAVE_ASSIGN_OR_RETURN(search.algorithm, StringAt(json, "algorithm", "search"));
  CLEAVE_ASSIGN_OR_RETURN(search.objective, StringAt(json, "objective", "search"));
  CLEAVE_ASSIGN_OR_RETURN(search.price, StringAt(json, "price", "search"));
  CLEAVE_ASSIGN_OR_RETURN(search.cost, NumberAt(json, "cost", "search"));
  if (json.contains("lower_bound") && !json.at("lower_bound").is_null()) {
    CLEAVE_ASSIGN_OR_RETURN(search.lower_bound, NumberAt(json, "lower_bound", "search"));
  }
  if (json.contains("zero")) {
    CLEAVE_ASSIGN_OR_RETURN(const int64_t zero, IntegerAt(json, "zero", "search"));
    if (zero < 0 || zero > 3) return JsonError("search.zero", absl::StrCat("0 to 3 expected, found ", zero));
    search.zero = static_cast<int>(zero);
  }
  if (json.contains("gradient_weight")) {
    CLEAVE_ASSIGN_OR_RETURN(gradient_weight, NumberAt(json, "gradient_weight", "search"));
  }
  return search;
}

absl::StatusOr<Pipeline> PipelineOf(const Json& json, const Mesh& mesh) {
  CLEAVE_RETURN_IF_ERROR(CheckFields(json, "pipeline", {"axis", "schedule"}));
  CLEAVE_ASSIGN_OR_RETURN(const std::string name, StringAt(json, "axis", "pipeline"));
  const std::optional<AxisId> axis = mesh.Find(name);
  if (!axis.has_value()) return JsonError("pipeline.axis", absl::StrCat("the mesh has no axis \"", name, "\""));
  CLEAVE_ASSIGN_OR_RETURN(const std::string schedule, StringAt(json, "schedule", "pipeline"));
  const std::optional<PipelineSchedule> parsed = ParsePipelineSchedule(schedule);
  if (!parsed.has_value()) return JsonError("pipeline.schedule", absl::StrCat("unknown value \"", schedule, "\""));
  return Pipeline{.axis = *axis, .schedule = *parsed};
}

absl::StatusOr<int64_t> PairsOf(const Json& document) {
  if (!document.is_object() || !document.contains("zigzag")) return 0;
  CLEAVE_ASSIGN_OR_RETURN(const int64_t pairs, IntegerAt(document, "zigzag", "plan"));
  if (pairs >= 1 && pairs <= kMostZigzagPairs) return pairs;
  return JsonError("plan.zigzag", absl::StrCat("1 to ", kMostZigzagPairs, " expected, found ", pairs));
}

absl::StatusOr<Plan> PlanOf(const Json& document, const Graph& graph) {
  CLEAVE_RETURN_IF_ERROR(CheckFields(
      document, "plan", {"format", "version", "model", "cluster", "mesh", "search", "ops"},
      {"micro_batches", "zigzag", "moves_steps", "pipeline", "tensors", "collectives", "predicted", "warnings"}));
  CLEAVE_ASSIGN_OR_RETURN(const std::string format, StringAt(document, "format", "plan"));
  if (format != "cleave-plan")
    return JsonError("plan.format", absl::StrCat("expected \"cleave-plan\", found \"", format, "\""));
  CLEAVE_ASSIGN_OR_RETURN(const int64_t version, IntegerAt(document, "version", "plan"));
  if (version != 1) return JsonError("plan.version", absl::StrCat("this version reads 1, found ", version));
  CLEAVE_RETURN_IF_ERROR(CheckModel(document.at("model"), graph));

  Plan plan;
  CLEAVE_RETURN_IF_ERROR(CheckFields(document.at("cluster"), "cluster", {"name", "devices"}));
  CLEAVE_ASSIGN_OR_RETURN(plan.cluster, StringAt(document.at("cluster"), "name", "cluster"));
  CLEAVE_ASSIGN_OR_RETURN(plan.mesh, MeshOf(document.at("mesh")));
  CLEAVE_ASSIGN_OR_RETURN(const int64_t devices, IntegerAt(document.at("cluster"), "devices", "cluster"));
  if (devices != plan.mesh.rank_count()) {
    return JsonError("cluster.devices",
                     absl::StrCat(devices, " devices, but the mesh has ", plan.mesh.rank_count(), " ranks"));
  }
  CLEAVE_ASSIGN_OR_RETURN(plan.moves_steps, FlagAt(document, "moves_steps", "plan"));
  if (document.contains("micro_batches")) {
    CLEAVE_ASSIGN_OR_RETURN(plan.micro_batches, IntegerAt(document, "micro_batches", "plan"));
    if (plan.micro_batches < 1 || plan.micro_batches > kMostMicroBatches) {
      return JsonError("plan.micro_batches",
                       absl::StrCat("1 to ", kMostMicroBatches, " expected, found ", plan.micro_batches));
    }
  }
  CLEAVE_ASSIGN_OR_RETURN(plan.zigzag, PairsOf(document));
  if (document.contains("pipeline")) {
    CLEAVE_ASSIGN_OR_RETURN(plan.pipeline, PipelineOf(document.at("pipeline"), plan.mesh));
  }
  CLEAVE_ASSIGN_OR_RETURN(plan.search, SearchOf(document.at("search"), plan.gradient_weight));

  plan.ops.resize(graph.ops.size());
  if (!document.at("ops").is_array()) return JsonError("ops", "expected a list");
  std::set<std::string> seen;
  for (const Json& json : document.at("ops")) {
    if (!json.is_object() || !json.contains("name")) return JsonError("ops", "an op without a name");
    CLEAVE_ASSIGN_OR_RETURN(const std::string name, StringAt(json, "name", "ops"));
    const std::optional<OpId> id = graph.Find(name);
    if (!id.has_value()) return JsonError("ops", absl::StrCat("the model has no op `", name, "`"));
    if (!seen.insert(name).second) return JsonError("ops", absl::StrCat("the op `", name, "` occurs twice"));
    CLEAVE_ASSIGN_OR_RETURN(plan.ops[*id],
                            OpPlanOf(json, graph, graph.op(*id), plan, absl::StrCat("ops[`", name, "`]")));
  }
  for (const Op& op : graph.ops) {
    if (seen.count(op.name) == 0) return JsonError("ops", absl::StrCat("the op `", op.name, "` is missing"));
  }
  if (const std::vector<std::string> errors = VerifyPlan(graph, plan); plan.pipeline.has_value() && !errors.empty()) {
    return JsonError("ops", errors.front());
  }
  return plan;
}

}  // namespace

absl::StatusOr<int64_t> ZigzagOfPlanJson(absl::string_view text) {
  CLEAVE_ASSIGN_OR_RETURN(const Json document, ParseStrictJson(text));
  absl::StatusOr<int64_t> pairs = PairsOf(document);
  if (!pairs.ok()) return WithPlace(pairs.status(), text);
  return pairs;
}

absl::StatusOr<Plan> ParsePlanJson(absl::string_view text, const Graph& graph) {
  CLEAVE_ASSIGN_OR_RETURN(const Json document, ParseStrictJson(text));
  absl::StatusOr<Plan> plan = PlanOf(document, graph);
  if (!plan.ok()) return WithPlace(plan.status(), text);
  return plan;
}

}  // namespace cleave::ir
