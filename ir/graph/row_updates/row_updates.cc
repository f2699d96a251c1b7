#include "ir/graph/row_updates/row_updates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/scalar/scalar.h"

namespace cleave::ir {
namespace {

// The gradient of a table by which rows 0, 1, … of its first dimension are looked up.
bool IsOfTable(const Graph& graph, const Op& op) {
  if (op.phase != Phase::kBackward || !op.gradient_of.has_value()) return false;
  if (graph.op(*op.gradient_of).kind != OpKind::kParameter) return false;
  if (op.kind == OpKind::kEmbeddingGradient) return true;
  const bool is_first = op.kind == OpKind::kScatterAdd && !op.attributes.Has(attribute::kBatch);
  return is_first &&
         (op.attributes.Get(attribute::kAxis) == 0 || op.attributes.Get(attribute::kAxis) == -op.type.rank());
}

// Whether all rows of a tensor of this shape are one, where it is read beside a table.
bool IsSameInAllRows(const Shape& shape, const Shape& table) {
  return shape.size() < table.size() || (shape.size() == table.size() && shape[0] == 1 && table[0] != 1);
}

bool IsElementwise(const Op& op) {
  const OpDefinition& definition = DefinitionOf(op);
  return definition.element.has_value() && !definition.depends_on_place;
}

bool SumsAllElements(const Op& op) { return op.kind == OpKind::kReduceSum && op.type.elements() == 1; }

std::string NameOf(OpId op) { return absl::StrCat("x", op.value()); }

// What an op that does not depend on the gradient is to those that do. A positive number that a flag of the program
// changes, such as an epsilon, stays positive: with 0 in its place no update that divides by it would be a number.
Scalar Given(const Op& op) {
  if (op.kind == OpKind::kConstant) return op.attributes.Get(attribute::kValue);
  if (op.kind == OpKind::kStepScalar) {
    const Scalar formula = *ParseScalar(op.attributes.Get(attribute::kFormula));
    if (formula.Is(Primitive::kNumber) && formula.number() > 0) return Exp(Variable(NameOf(op.id)));
  }
  return Variable(NameOf(op.id));
}

class Finder {
 public:
  Finder(const Graph& graph, const Op& gradient)
      : graph_(graph),
        gradient_(gradient),
        result_{.table = *gradient.gradient_of,
                .gradient = gradient.id,
                .dy = gradient.inputs[0],
                .indices = gradient.inputs[1],
                .places = graph.op(gradient.inputs[1]).type.elements(),
                .ops = {},
                .sums = {},
                .reads = {}} {
    at_zero_.emplace(gradient.id, Scalar(0.0));
  }

  // Why it is not possible; nullopt where `result()` says how it is.
  std::optional<std::string> Run() {
    for (const Op& op : graph_.ops) {
      const bool reads = std::any_of(op.inputs.begin(), op.inputs.end(), [&](OpId x) { return at_zero_.count(x) > 0; });
      if (!reads) continue;
      if (std::optional<std::string> why = Add(op)) return why;
    }
    std::set<OpId> changed;
    for (const StateUpdate& update : graph_.updates) {
      const auto found = at_zero_.find(update.value);
      if (found == at_zero_.end()) continue;
      const std::string& state = graph_.op(update.state).name;
      if (!changed.insert(update.value).second) return absl::StrCat("`", state, "` has the value of another state");
      if (!found->second.Is(Primitive::kVariable) || found->second.variable() != NameOf(update.state)) {
        return absl::StrCat("`", state, "` changes where the gradient is zero");
      }
    }
    if (changed.empty()) return "no update reads it";
    for (const Look& look : graph_.looks) {
      if (at_zero_.count(look.value) > 0 && changed.count(look.value) == 0) {
        return absl::StrCat("`", graph_.op(look.value).name, "` is looked at as a whole");
      }
    }
    return std::nullopt;
  }

  const RowUpdate& result() const { return result_; }

 private:
  // Adds an op that reads what is computed of the gradient.
  std::optional<std::string> Add(const Op& op) {
    if (op.phase != Phase::kUpdate) return absl::StrCat("`", op.name, "` reads all of it");
    if (SumsAllElements(op)) {
      if (!at_zero_.at(op.inputs[0]).IsNumber(0)) return absl::StrCat("`", op.name, "` sums what has no gradient");
      result_.sums.push_back(op.id);
      return std::nullopt;
    }
    if (!IsElementwise(op) || op.type != gradient_.type) return absl::StrCat("`", op.name, "` reads all of it");
    const ElementFunction& element = *DefinitionOf(op).element;
    std::map<std::string, Scalar> values;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const OpId input = op.inputs[i];
      const Shape& shape = graph_.op(input).type.shape;
      const auto own = at_zero_.find(input);
      values.emplace(element.function.parameters[i], own != at_zero_.end() ? own->second : Given(graph_.op(input)));
      if (own != at_zero_.end() || IsSameInAllRows(shape, op.type.shape)) continue;
      const bool is_kept = graph_.op(input).kind == OpKind::kParameter || graph_.op(input).kind == OpKind::kState;
      if (!is_kept || shape != op.type.shape)
        return absl::StrCat("`", op.name, "` reads `", graph_.op(input).name, "`");
      if (std::find(result_.reads.begin(), result_.reads.end(), input) == result_.reads.end()) {
        result_.reads.push_back(input);
      }
    }
    const std::vector<double> numbers = element.NumbersOf(op.attributes, op.type.elements());
    for (size_t i = 0; i < numbers.size(); ++i) {
      values.emplace(element.function.parameters[op.inputs.size() + i], Scalar(numbers[i]));
    }
    at_zero_.emplace(op.id, Simplified(Substitute(WithoutCalls(element.function.value), values)));
    result_.ops.push_back(op.id);
    return std::nullopt;
  }

  const Graph& graph_;
  const Op& gradient_;
  RowUpdate result_;
  std::map<OpId, Scalar> at_zero_;  // What is computed of the gradient where that is 0.
};

}  // namespace

RowUpdates FindRowUpdates(const Graph& graph) {
  RowUpdates updates;
  if (graph.is_manual()) return updates;
  for (const Op& op : graph.ops) {
    if (!IsOfTable(graph, op)) continue;
    Finder finder(graph, op);
    if (std::optional<std::string> why = finder.Run()) {
      updates.impossible.push_back({.table = *op.gradient_of, .gradient = op.id, .why = *std::move(why)});
    } else {
      updates.possible.push_back(finder.result());
    }
  }
  return updates;
}

bool IsByRows(const Op& gradient) { return gradient.attributes.IsSet(attribute::kByRows); }

std::vector<RowUpdate> RowUpdatesOf(const Graph& graph) {
  const bool has_any = std::any_of(graph.ops.begin(), graph.ops.end(), IsByRows);
  if (!has_any) return {};
  std::vector<RowUpdate> updates = FindRowUpdates(graph).possible;
  updates.erase(std::remove_if(updates.begin(), updates.end(),
                               [&](const RowUpdate& update) { return !IsByRows(graph.op(update.gradient)); }),
                updates.end());
  return updates;
}

Graph WithRowUpdates(Graph graph, const std::vector<OpId>& gradients) {
  for (Op& op : graph.ops) {
    if (IsByRows(op)) op.attributes.Erase(attribute::kByRows);
  }
  for (const OpId gradient : gradients) graph.ops[gradient].attributes.Set(attribute::kByRows, true);
  return graph;
}

}  // namespace cleave::ir
