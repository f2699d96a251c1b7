// Reading guide: Intern numbers strategies. Each function that follows answers one question about these numbers and
// remembers the answer: what an op inherits, which strategy gives its value a layout, and what sums and data have.
#include "search/solve/assignment/strategy_table.h"

#include <algorithm>

namespace cleave::search {
namespace {

// Marks strategies that are not memoized yet; memoized ones are numbers from -1 on.
constexpr int kUnknown = -2;
// Marks prices that are not memoized yet.
constexpr double kUnknownPrice = -1;

// A strategy as numbers: per factor its axes and -1, then the passes.
std::vector<int> KeyOf(const ir::Strategy& strategy) {
  std::vector<int> key;
  for (const ir::AxisList& axes : strategy.cuts) {
    for (ir::AxisId axis : axes) key.push_back(axis.value());
    key.push_back(-1);
  }
  for (const ir::PassThrough& pass : strategy.passes) {
    key.push_back(pass.axis.value());
    key.push_back(pass.group);
  }
  return key;
}

// Reduces `layout` to what both layouts of a tensor have in common: in each dimension the longest common beginning.
void Meet(const ir::Layout& other, ir::Layout& layout) {
  layout.partial.clear();
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    ir::AxisList& axes = layout.dimensions[d];
    size_t common = 0;
    while (common < axes.size() && common < other.dimensions[d].size() && axes[common] == other.dimensions[d][common]) {
      ++common;
    }
    axes.resize(common);
  }
}

}  // namespace

StrategyTable::StrategyTable(const GraphFacts& facts, const ir::Mesh& mesh, LayoutRelaxation relaxation, Prices paid,
                             const SearchTuning& tuning)
    : facts_(facts),
      paid_(std::move(paid)),
      prices_(mesh, facts.graph->sums, std::move(relaxation), paid_, tuning),
      local_kinds_(facts.graph->ops.size(), 0),
      local_rows_(facts.graph->ops.size(), -1),
      local_prices_(kUnknownPrice),
      types_(facts.graph->ops.size()),
      inheritance_kinds_(facts.graph->ops.size(), -1),
      entries_(facts.rules.size()),
      entry_index_(facts.rules.size()),
      inherited_(kUnknown),
      passing_(kUnknown),
      lying_like_(kUnknown) {
  std::map<std::tuple<int, int, std::vector<int>>, int> kinds;
  std::map<std::pair<int, int>, int> rows;
  for (const ir::Op& op : facts.graph->ops) {
    types_[op.id] = prices_.TypeOf(facts, op.id);
    if (paid_.local != nullptr) local_kinds_[op.id] = paid_.local_kind(op.id);
    if (local_kinds_[op.id] != 0) {
      const std::pair row(facts.rule_of[op.id], local_kinds_[op.id]);
      local_rows_[op.id] = rows.emplace(row, static_cast<int>(rows.size())).first->second;
    }
    Intern(op.id, ir::Strategy::Replicated(facts.rule(op.id)));
    if (facts.roles[op.id] != Role::kInherits) continue;
    const std::tuple key(facts.rule_of[op.id], facts.rule_of[op.inherits->op], op.inherits->factors);
    inheritance_kinds_[op.id] = kinds.emplace(key, static_cast<int>(kinds.size())).first->second;
  }
}

int StrategyTable::Intern(ir::OpId op, const ir::Strategy& strategy) {
  const auto rule_index = static_cast<size_t>(facts_.rule_of[op]);
  std::deque<Entry>& entries = entries_[rule_index];
  const auto [found, is_new] = entry_index_[rule_index].emplace(KeyOf(strategy), static_cast<int>(entries.size()));
  if (is_new) {
    const ir::Rule& rule = facts_.rules[rule_index];
    Entry entry{.strategy = strategy, .inputs = {}, .output = prices_.Intern(ir::OutputLayout(strategy, rule))};
    for (size_t i = 0; i < rule.inputs.size(); ++i) {
      entry.inputs.push_back(prices_.Intern(ir::InputLayout(strategy, rule, static_cast<int>(i))));
    }
    entries.push_back(std::move(entry));
  }
  return found->second;
}

std::optional<int> StrategyTable::Known(ir::OpId op, const ir::Strategy& strategy) const {
  const auto& numbers = entry_index_[static_cast<size_t>(facts_.rule_of[op])];
  const auto found = numbers.find(KeyOf(strategy));
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

double StrategyTable::LocalPrice(ir::OpId op, int index) {
  const int row = local_rows_[op];
  if (row < 0) return 0;
  double price = local_prices_.Of(row, index);
  if (price == kUnknownPrice) {
    price = paid_.local(op, strategy(op, index));
    local_prices_.Set(row, index, price);
  }
  return price;
}

int StrategyTable::Inherited(ir::OpId heir, int forward) {
  const int kind = inheritance_kinds_[heir];
  if (const int known = inherited_.Of(kind, forward); known != kUnknown) return known;
  const ir::Inheritance& inheritance = *facts_.op(heir).inherits;
  const ir::Strategy own =
      ir::InheritStrategy(strategy(inheritance.op, forward), inheritance, facts_.rule(heir), mesh());
  const int index = Intern(heir, own);
  inherited_.Set(kind, forward, index);
  return index;
}

int StrategyTable::LyingLike(ir::OpId op, LayoutIndex layout) {
  const int rule_index = facts_.rule_of[op];
  if (const int known = lying_like_.Of(rule_index, layout); known != kUnknown) return known;
  const ir::Rule& rule = facts_.rule(op);
  const int index = Intern(op, StrategyFromDimensions(prices_.layout(layout), rule.output, rule, mesh()));
  lying_like_.Set(rule_index, layout, index);
  return index;
}

int StrategyTable::PassingThrough(ir::OpId op, LayoutIndex layout_index) {
  const int rule_index = facts_.rule_of[op];
  if (const int known = passing_.Of(rule_index, layout_index); known != kUnknown) return known;
  const ir::Rule& rule = facts_.rule(op);
  const ir::Layout& like = prices_.layout(layout_index);
  std::vector<int> all_inputs;
  for (size_t i = 0; i < rule.inputs.size(); ++i) all_inputs.push_back(static_cast<int>(i));
  const auto group = std::find(rule.linear.begin(), rule.linear.end(), all_inputs);
  const bool only_sums = std::all_of(like.partial.begin(), like.partial.end(), [](const ir::PartialAxis& partial) {
    return partial.reduction == ir::Reduction::kSum;
  });
  int index = -1;
  if (!like.is_partial() || (group != rule.linear.end() && only_sums)) {
    ir::Strategy own = StrategyFromDimensions(like, rule.inputs[0], rule, mesh());
    for (const ir::PartialAxis& partial : like.partial) {
      own.passes.push_back({.axis = partial.axis, .group = static_cast<int>(group - rule.linear.begin())});
    }
    if (ir::InputLayout(own, rule, 0) == like) index = Intern(op, own);
  }
  passing_.Set(rule_index, layout_index, index);
  return index;
}

int StrategyTable::CutLike(ir::OpId op, int index, int slot, LayoutIndex layout, ir::AxisId axis) {
  const std::tuple<int, int, int, int, int> key(facts_.rule_of[op], index, slot, layout, axis.value());
  if (const auto found = cut_like_.find(key); found != cut_like_.end()) return found->second;
  const ir::Rule& rule = facts_.rule(op);
  ir::Strategy result = Without(strategy(op, index), axis);
  const ir::Layout& like = prices_.layout(layout);
  const int dimension = DimensionCutBy(like, axis);
  if (dimension >= 0) {
    const auto d = static_cast<size_t>(dimension);
    const std::vector<ir::FactorList>& dimensions = slot < 0 ? rule.output : rule.inputs[static_cast<size_t>(slot)];
    result = WithDimensionCut(result, rule, mesh(), dimensions, d, axis, like.dimensions[d]).value_or(result);
  }
  // Without the axis, the cut of the other axes in a compound dimension may be invalid.
  const int cut = ir::VerifyStrategy(result, rule, mesh()).ok() ? Intern(op, result) : index;
  cut_like_.emplace(key, cut);
  return cut;
}

int StrategyTable::Sum(ir::OpId sum, absl::Span<const LayoutIndex> inputs, std::optional<LayoutIndex> value) {
  const ir::Op& self = facts_.op(sum);
  const ir::Rule& rule = facts_.rule(sum);
  const LayoutIndex first = inputs[0];
  bool alike = true;
  for (size_t i = 0; i < inputs.size(); ++i) alike = alike && inputs[i] == first && rule.inputs[i] == rule.output;
  alike = alike || inputs.size() == 1;
  if (alike && !facts_.continues_other_sum[sum]) {
    const int passing = PassingThrough(sum, first);
    if (passing >= 0) return passing;
  }
  if (value.has_value() && prices_.layout(*value).dimensions.size() == self.type.shape.size()) {
    return LyingLike(sum, *value);
  }
  const bool fits = prices_.layout(first).dimensions.size() == self.type.shape.size();
  return fits ? LyingLike(sum, first) : 0;
}

int StrategyTable::Data(ir::OpId op, absl::Span<const LayoutIndex> wanted) {
  if (wanted.empty()) return 0;
  const ir::Rule& rule = facts_.rule(op);
  ir::Layout common{.dimensions = prices_.layout(wanted[0]).dimensions, .partial = {}};
  for (LayoutIndex other : wanted.subspan(1)) Meet(prices_.layout(other), common);
  ir::Strategy strategy = StrategyFromDimensions(common, rule.output, rule, mesh());
  ir::Layout made = ir::OutputLayout(strategy, rule);
  const ir::Layout before = made;
  Meet(common, made);
  // If the rule can express the layout only with other axes, data would have to be sent. Then the data is cut less
  // instead.
  if (!(made == before)) strategy = StrategyFromDimensions(made, rule.output, rule, mesh());
  return Intern(op, strategy);
}

int StrategyTable::DataFrom(ir::OpId op, LayoutIndex input) {
  const ir::Rule& rule = facts_.rule(op);
  return Intern(op, StrategyFromDimensions(prices_.layout(input), rule.inputs[0], rule, mesh()));
}

int StrategyTable::BatchCut(ir::OpId input) {
  const ir::Rule& rule = facts_.rule(input);
  if (!ir::IsSamples(facts_.op(input).kind, facts_.op(input).attributes)) return 0;
  return Intern(input,
                StrategyFromDimensions(CutByBatch(facts_.op(input).type.shape, mesh()), rule.output, rule, mesh()));
}

}  // namespace cleave::search
