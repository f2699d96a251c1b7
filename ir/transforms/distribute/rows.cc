#include "ir/transforms/distribute/rows.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/ops.h"
#include "ir/transforms/distribute/append.h"
#include "ir/transforms/distribute/built_form.h"

namespace cleave::ir {
RowForms::RowForms(const Graph& graph, const Plan& plan, const Graph& grown, const IdVector<OpId, OpId>& values,
                   Append append)
    : graph_(graph),
      plan_(plan),
      grown_(grown),
      values_(values),
      append_(std::move(append)),
      updates_(RowUpdatesOf(graph)) {
  for (size_t i = 0; i < updates_.size(); ++i) {
    update_of_[updates_[i].gradient] = i;
    for (const OpId op : updates_[i].ops) update_of_[op] = i;
    for (const OpId sum : updates_[i].sums) update_of_[sum] = i;
  }
  for (const StateUpdate& update : graph.updates) state_of_[update.value] = update.state;
}

OpId RowForms::Add(const Op& op) {
  if (IsByRows(op)) return AddRows(op);
  if (op.kind == OpKind::kReduceSum) return AddSum(op);
  const OpId rows = AddComputed(op);
  rows_[op.id] = rows;
  const auto state = state_of_.find(op.id);
  return state == state_of_.end() ? rows : AddScatter(op, state->second, rows);
}

OpId RowForms::AddRows(const Op& op) {
  const RowUpdate& update = updates_[update_of_.at(op.id)];
  const Rule rule = RuleOf(graph_, op);
  const Strategy& strategy = plan_.ops[op.id].strategy;
  const size_t dimensions = graph_.op(update.indices).type.shape.size();
  const OpId indices = AsList(op, values_[update.indices], dimensions, Layout::Replicated(static_cast<int>(dimensions)),
                              absl::StrCat(op.name, ".ids"));
  const Layout of_dy = InputLayout(strategy, rule, 0);
  const OpId dy = AsList(op, values_[update.dy], dimensions, of_dy, absl::StrCat(op.name, ".by_place"));
  const Layout list = Layout::Replicated(1);
  Attributes attributes = {{attribute::kRows, op.type.shape[0]}};
  const OpId places =
      AddOp(op, OpKind::kDistinct, {indices}, std::move(attributes), absl::StrCat(op.name, ".places"), {&list});
  places_[op.id] = places;
  Layout rows = of_dy;
  rows.dimensions.erase(rows.dimensions.begin(), rows.dimensions.begin() + static_cast<int64_t>(dimensions));
  rows.dimensions.emplace(rows.dimensions.begin());
  return rows_[op.id] = AddOp(op, OpKind::kSumEqual, {dy, indices, places}, {}, op.name, {&rows, &list, &list});
}

OpId RowForms::AddSum(const Op& op) {
  const Layout layout = RowLayout(graph_.op(op.inputs[0]));
  return AddOp(op, op.kind, {rows_.at(op.inputs[0])}, op.attributes, op.name, {&layout});
}

OpId RowForms::AddComputed(const Op& op) {
  const Layout layout = RowLayout(op);
  const Layout whole = Layout::Replicated(0);
  std::vector<OpId> inputs;
  std::vector<const Layout*> layouts;
  for (const OpId input : op.inputs) {
    inputs.push_back(RowsOf(op, input));
    const bool has_rows = grown_.op(inputs.back()).type.shape.size() == layout.dimensions.size();
    layouts.push_back(has_rows ? &layout : &whole);
  }
  const std::string name = state_of_.count(op.id) > 0 ? absl::StrCat(op.name, ".rows") : op.name;
  return AddOp(op, op.kind, std::move(inputs), op.attributes, name, layouts);
}

OpId RowForms::AddScatter(const Op& op, OpId state, OpId rows) {
  const Layout stored = StoredLayout(state);
  Layout whole_rows = stored;
  whole_rows.dimensions[0].clear();
  const Layout list = Layout::Replicated(1);
  const OpId places = places_.at(updates_[update_of_.at(op.id)].gradient);
  return AddOp(op, OpKind::kScatter, {values_[state], rows, places}, {{attribute::kAxis, 0}}, op.name,
               {&stored, &whole_rows, &list});
}

OpId RowForms::RowsOf(const Op& reader, OpId read) {
  const auto rows = rows_.find(read);
  if (rows != rows_.end()) return rows->second;
  return graph_.op(read).type.shape == reader.type.shape ? Gathered(reader, read) : values_[read];
}

OpId RowForms::Gathered(const Op& reader, OpId table) {
  const OpId gradient = updates_[update_of_.at(reader.id)].gradient;
  const auto [found, is_new] = gathered_.emplace(std::pair(gradient, table), OpId());
  if (is_new) {
    const Layout stored = StoredLayout(table);
    const Layout list = Layout::Replicated(1);
    found->second = AddOp(reader, OpKind::kGather, {values_[table], places_.at(gradient)}, {{attribute::kAxis, 0}},
                          absl::StrCat(graph_.op(table).name, ".touched"), {&stored, &list});
  }
  return found->second;
}

OpId RowForms::AsList(const Op& original, OpId value, size_t dimensions, const Layout& layout,
                      const std::string& name) {
  if (dimensions == 1) return value;
  const Shape& shape = grown_.op(value).type.shape;
  const auto behind = shape.begin() + static_cast<int64_t>(dimensions);
  Shape list = {ElementCount(Shape(shape.begin(), behind))};
  list.insert(list.end(), behind, shape.end());
  return AddOp(original, OpKind::kReshape, {value}, {{attribute::kShape, std::move(list)}}, name, {&layout});
}

OpId RowForms::AddOp(const Op& original, OpKind kind, std::vector<OpId> inputs, Attributes attributes,
                     const std::string& name, const std::vector<const Layout*>& layouts) {
  Op op{.id = {},
        .name = name,
        .kind = kind,
        .phase = original.phase,
        .inputs = std::move(inputs),
        .attributes = std::move(attributes),
        .line = original.line};
  op.type = TypeIn(grown_, kind, op.inputs, op.attributes);
  Strategy strategy = StrategyOfBuilt(RuleOf(grown_, op), layouts, {}, plan_.mesh);
  return append_(std::move(op), original, std::move(strategy));
}

Layout RowForms::StoredLayout(OpId table) const {
  return OutputLayout(plan_.ops[table].strategy, RuleOf(graph_, graph_.op(table)));
}

Layout RowForms::RowLayout(const Op& op) const {
  Layout layout = OutputLayout(plan_.ops[op.id].strategy, RuleOf(graph_, op));
  layout.dimensions[0].clear();
  layout.partial.clear();
  return layout;
}

}  // namespace cleave::ir
