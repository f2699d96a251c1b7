#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/text/text.h"
#include "ir/graph/graph.h"
#include "ir/graph/manual/manual.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/graph/roles.h"

namespace cleave::ir {
namespace {

std::string FindGroupError(const Graph& graph, const Op& op) {
  const std::string& text = op.attributes.Get(attribute::kGroup);
  const std::optional<RankAxisSet> group = ParseGroup(graph.rank_axes, text);
  if (!group.has_value()) return absl::StrCat("no group `", text, "`");
  const int64_t size = GroupSize(graph.rank_axes, *group);
  if (size == op.attributes.Get(attribute::kSize)) return "";
  return absl::StrCat("group `", text, "` has ", Plural(size, "rank"), ", not ", op.attributes.Get(attribute::kSize));
}

// The error of a table that must have `row` entries for each rank; empty if there is none.
std::string FindTableError(const Graph& graph, size_t entries, size_t row) {
  const int64_t ranks = RankCount(graph.rank_axes);
  if (entries == static_cast<size_t>(ranks) * row) return "";
  return absl::StrCat("a table of ", entries, " for ", Plural(ranks, "rank"));
}

// What is wrong with the ranks that `op` names: they must be those of the graph, or there must be none. Empty: nothing.
// REQUIRES: inference accepts the op.
std::string FindRankError(const Graph& graph, const Op& op) {
  const bool local =
      (op.kind == OpKind::kParameter || op.kind == OpKind::kState) && op.attributes.Get(attribute::kLocal);
  if (!graph.is_manual()) {
    if (local) return "it is local in a model without ranks";
    return DefinitionOf(op).rank_use == RankUse::kNone ? "" : "it names ranks in a model without ranks";
  }
  const Attributes& attributes = op.attributes;
  if (attributes.Has(attribute::kGroup)) return FindGroupError(graph, op);
  if (op.kind == OpKind::kRankValue) return FindTableError(graph, attributes.Get(attribute::kValues).size(), 1);
  if (attributes.Has(attribute::kStarts)) return FindTableError(graph, attributes.Get(attribute::kStarts).size(), 1);
  if (attributes.Has(attribute::kSendRanks)) {
    return FindTableError(graph, attributes.Get(attribute::kSendRanks).size(),
                          attributes.Get(attribute::kSendSizes).size());
  }
  return "";
}

// Errors for values that vary over ranks where they must not: the loss, and new values of states that do not vary.
// REQUIRES: graph.is_manual(), FindRankError finds nothing.
std::vector<std::string> FindVarianceErrors(const Graph& graph) {
  const IdVector<OpId, RankAxisSet> variance = VarianceOf(graph);
  std::vector<std::string> errors;
  if (graph.loss.has_value() && !variance[*graph.loss].empty()) {
    errors.push_back(absl::StrCat("the loss ", VarianceText(graph.rank_axes, variance[*graph.loss])));
  }
  for (const StateUpdate& update : graph.updates) {
    if (variance[update.state].Contains(variance[update.value])) continue;
    errors.push_back(absl::StrCat("update of ", graph.op(update.state).name, " by a value that ",
                                  VarianceText(graph.rank_axes, variance[update.value])));
  }
  return errors;
}

// What is wrong with one op, given that the ops before it are valid; empty when nothing is. `rules` are those of ops in
// which nothing but ranks can be wrong.
std::string FindOpError(const Graph& graph, const Op& op, RuleTable& rules) {
  const OpDefinition& definition = DefinitionOf(op);
  for (OpId input : op.inputs) {
    if (!graph.ops.contains(input) || input >= op.id) {
      return absl::StrCat("input %", input.value(), " does not stand before it");
    }
  }
  if (rules.Known(graph, op) != nullptr) return FindRankError(graph, op);
  Attributes attributes = op.attributes;
  if (auto error = CompleteAttributes(definition, op.inputs.size(), attributes)) return error->message;
  if (attributes != op.attributes) return "attributes with defaults are missing";
  const std::vector<TensorType> inputs = InputTypes(graph, op);
  const InferResult inferred = InferType(definition, inputs, op.attributes);
  if (const OpError* error = std::get_if<OpError>(&inferred)) return error->message;
  const TensorType& type = std::get<TensorType>(inferred);
  if (type != op.type) return absl::StrCat("is ", op.type.ToString(), ", inferred ", type.ToString());
  if (std::string error = FindRankError(graph, op); !error.empty()) return error;
  std::vector<Shape> shapes;
  for (const TensorType& input : inputs) shapes.push_back(input.shape);
  return FindRuleError(rules.Of(graph, op), shapes, op.type.shape);
}

std::string FindLinkError(const Graph& graph, const Op& op, RuleTable& rules) {
  if (op.gradient_of.has_value() && !graph.ops.contains(*op.gradient_of)) return "gradient_of names no op";
  if (!op.inherits.has_value()) return "";
  if (!graph.ops.contains(op.inherits->op) || op.inherits->op >= op.id) return "from names no op before it";
  const Rule& own = rules.Of(graph, op);
  const Rule& forward = rules.Of(graph, graph.op(op.inherits->op));
  if (op.inherits->factors.size() != own.factors.size()) {
    return absl::StrCat("from maps ", op.inherits->factors.size(), " factors of ", own.factors.size());
  }
  for (int factor : op.inherits->factors) {
    if (factor < -1 || factor >= static_cast<int>(forward.factors.size())) {
      return absl::StrCat("from names factor ", factor, " of ", forward.factors.size());
    }
  }
  return "";
}

void FindRoleErrors(const Graph& graph, std::vector<std::string>& errors) {
  auto check_scalar = [&](OpId id, const std::string& what) {
    if (!graph.ops.contains(id)) {
      errors.push_back(absl::StrCat(what, " %", id.value(), " does not exist"));
      return;
    }
    const TensorType& type = graph.op(id).type;
    // A metric that is computed from totals may be a table.
    const bool is_table =
        errors.empty() && type.dtype == DType::kF32 && graph.loss != id && !MetricSourcesOf(graph, id).totals.empty();
    if (type != TensorType{DType::kF32, {}} && !is_table) {
      errors.push_back(absl::StrCat(what, " is ", type.ToString(), ", not a scalar"));
    }
  };
  if (graph.loss.has_value()) check_scalar(*graph.loss, "the loss");
  for (const Metric& metric : graph.metrics) check_scalar(metric.value, absl::StrCat("metric ", metric.name));
  for (const Look& look : graph.looks) {
    if (!graph.ops.contains(look.value))
      errors.push_back(absl::StrCat("a look at %", look.value.value(), ", which does not exist"));
  }
  for (const StateUpdate& update : graph.updates) {
    if (!graph.ops.contains(update.state) || !graph.ops.contains(update.value)) {
      errors.push_back("an update names an op that does not exist");
      continue;
    }
    const Op& state = graph.op(update.state);
    if (state.kind != OpKind::kParameter && state.kind != OpKind::kState) {
      errors.push_back(absl::StrCat("update of ", state.name, ", which is no parameter and no state"));
    } else if (state.type != graph.op(update.value).type) {
      errors.push_back(absl::StrCat("update of ", state.name, " by a value of another type"));
    }
  }
}

}  // namespace

std::vector<std::string> VerifyGraph(const Graph& graph) {
  std::vector<std::string> errors;
  for (const RankAxis& axis : graph.rank_axes) {
    if (!axis.name.empty() && axis.size >= 1) continue;
    errors.push_back(absl::StrCat("rank axis `", axis.name, "` of ", axis.size));
  }
  if (!errors.empty()) return errors;
  RuleTable rules;
  absl::flat_hash_set<absl::string_view> names;
  names.reserve(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(static_cast<int64_t>(i))];
    const auto add = [&](absl::string_view what) {
      errors.push_back(absl::StrCat("%", i, " (", op.name, "): ", what));
    };
    if (op.id != OpId(static_cast<int64_t>(i))) {
      add(absl::StrCat("its id is ", op.id.value()));
      return errors;
    }
    if (op.name.empty()) add("it has no name");
    if (!names.insert(op.name).second) add("its name is taken");
    if (const std::string error = FindOpError(graph, op, rules); !error.empty()) {
      add(error);
      // The following checks may depend on this one.
      return errors;
    }
    if (const std::string error = FindLinkError(graph, op, rules); !error.empty()) add(error);
  }
  FindRoleErrors(graph, errors);
  if (graph.is_manual() && errors.empty()) errors = FindVarianceErrors(graph);
  return errors;
}

}  // namespace cleave::ir
