// How the ops that a search does not set follow those that it sets.
//
// Follow(op) is called after op's strategy changed and renews what depends on it, in this order: backward ops that
// inherit, the storage of the parameters that the op leads (and with it their updates), the data that it reads, sums of
// gradients. Each of these is a function of the strategies it follows, so the result does not depend on the order of
// changes.
#include <algorithm>

#include "search/assignment/assignment.h"

namespace cleave {
namespace {

// What two layouts of one tensor have in common: per dimension the longest common beginning.
void Meet(const Layout& other, Layout& layout) {
  layout.partial.clear();
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    std::vector<AxisId>& axes = layout.dimensions[d];
    size_t common = 0;
    while (common < axes.size() && common < other.dimensions[d].size() && axes[common] == other.dimensions[d][common]) {
      ++common;
    }
    axes.resize(common);
  }
}

// All axes cut the first dimension, as many as it has elements for.
Layout BatchCut(const Shape& shape, const Mesh& mesh) {
  Layout layout = Layout::Replicated(static_cast<int>(shape.size()));
  if (shape.empty()) return layout;
  int64_t pieces = 1;
  for (AxisId axis : mesh.AxisIds()) {
    if (pieces * mesh.axis(axis).size > shape[0]) continue;
    pieces *= mesh.axis(axis).size;
    layout.dimensions[0].push_back(axis);
  }
  return layout;
}

}  // namespace

Strategy StrategyFromDimensions(const Layout& layout, const std::vector<FactorList>& dimensions, const Rule& rule,
                                const Mesh& mesh) {
  Strategy strategy = Strategy::Replicated(rule);
  for (size_t d = 0; d < dimensions.size(); ++d) {
    for (AxisId axis : layout.dimensions[d]) {
      for (int factor : dimensions[d]) {
        const Factor& at = rule.factors[static_cast<size_t>(factor)];
        if (at.kind == FactorKind::kWhole) break;
        const bool exhausted = mesh.Size(strategy.cuts[static_cast<size_t>(factor)]) >= at.size;
        if (exhausted && factor != dimensions[d].back()) continue;
        absl::StatusOr<Strategy> next = WithCut(strategy, rule, mesh, factor, axis);
        if (next.ok()) strategy = *std::move(next);
        break;
      }
    }
  }
  return strategy;
}

void Assignment::Follow(OpId changed) {
  for (OpId heir : facts_.inheritors[changed]) DeriveInherited(heir);
  for (OpId parameter : facts_.led[changed]) DeriveStorage(parameter);
  for (OpId input : facts_.op(changed).inputs) {
    const Role role = facts_.roles[input];
    if (role == Role::kData || role == Role::kInput) DeriveData(input);
  }
  for (OpId member : facts_.update_groups[changed]) Choose(member, LyingLike(member, entry(changed).output));
  for (OpId sum : facts_.sums[changed]) DeriveSum(sum);
  for (const Read& read : facts_.reads[changed]) {
    const Role role = facts_.roles[read.reader];
    if (role == Role::kSum) DeriveSum(read.reader);
    if (role == Role::kData && options_.dataset.has_value()) DeriveData(read.reader);
  }
  if (facts_.roles[changed] == Role::kInput && options_.dataset.has_value()) DeriveData(changed);
  if (facts_.roles[changed] == Role::kSum) DeriveSum(changed);
}

void Assignment::DeriveInherited(OpId op) {
  const Inheritance& inheritance = *facts_.op(op).inherits;
  const std::pair<int, int> key(op.value(), chosen_[inheritance.op]);
  auto found = inherited_.find(key);
  if (found == inherited_.end()) {
    const Strategy own = InheritStrategy(strategy(inheritance.op), inheritance, facts_.rule(op), mesh());
    found = inherited_.emplace(key, Intern(op, own)).first;
  }
  Choose(op, found->second);
}

int Assignment::LyingLike(OpId op, LayoutIndex layout) {
  const std::pair<int, int> key(facts_.rule_of[op], layout);
  auto found = lying_like_.find(key);
  if (found == lying_like_.end()) {
    const Rule& rule = facts_.rule(op);
    const Strategy own = StrategyFromDimensions(prices_.layout(layout), rule.output, rule, mesh());
    found = lying_like_.emplace(key, Intern(op, own)).first;
  }
  return found->second;
}

void Assignment::DeriveStorage(OpId parameter) {
  const Read& leader = facts_.leaders[parameter];
  if (fixed_[parameter] || leader.reader == parameter) return;
  Choose(parameter, LyingLike(parameter, entry(leader.reader).inputs[static_cast<size_t>(leader.input)]));
}

// Data is made as all its readers want it: what their layouts have in common, from which each takes its slice for free.
// A metric asks only where nothing else reads. Where the user says how data lies, that is where it starts.
void Assignment::DeriveData(OpId op) {
  if (fixed_[op]) return;
  const Rule& rule = facts_.rule(op);
  if (options_.dataset.has_value()) {
    if (facts_.roles[op] == Role::kInput) {
      const bool cut = *options_.dataset == DatasetLayout::kDataParallel;
      const Layout layout =
          cut ? BatchCut(facts_.op(op).type.shape, mesh()) : Layout::Replicated(facts_.op(op).type.rank());
      Choose(op, Intern(op, StrategyFromDimensions(layout, rule.output, rule, mesh())));
      return;
    }
    const Op& self = facts_.op(op);
    if (self.inputs.empty()) return;
    Choose(op, Intern(op, StrategyFromDimensions(seen(self.inputs[0]), rule.inputs[0], rule, mesh())));
    return;
  }
  std::optional<Layout> common;
  for (const bool metrics : {false, true}) {
    if (common.has_value()) break;
    for (const Read& read : facts_.reads[op]) {
      if ((facts_.op(read.reader).phase == Phase::kMetric) != metrics) continue;
      if (facts_.classes[read.reader] == OpClass::kEffect) continue;
      const Layout& layout = wanted(read.reader, read.input);
      if (common.has_value()) {
        Meet(layout, *common);
      } else {
        common = Layout{.dimensions = layout.dimensions, .partial = {}};
      }
    }
  }
  if (!common.has_value()) return;
  Strategy strategy = StrategyFromDimensions(*common, rule.output, rule, mesh());
  Layout made = OutputLayout(strategy, rule);
  const Layout before = made;
  Meet(*common, made);
  // What the rule can only say in other axes would have to be sent: cut less instead.
  if (!(made == before)) strategy = StrategyFromDimensions(made, rule.output, rule, mesh());
  Choose(op, Intern(op, strategy));
}

// Summands that lie alike, partial or not, are added as they lie; others meet where the value whose gradient this is
// lies.
void Assignment::DeriveSum(OpId op) {
  const Op& self = facts_.op(op);
  const LayoutIndex first = seen_index(self.inputs[0]);
  const bool alike = std::all_of(self.inputs.begin(), self.inputs.end(), [&](OpId input) {
    return seen_index(input) == first && facts_.op(input).type.shape == self.type.shape;
  });
  if (alike) {
    const int passing = PassingThrough(op, first);
    if (passing >= 0) {
      Choose(op, passing);
      return;
    }
  }
  // An inner sum of a chain has no value of its own: it lies like what it is added to in the end.
  const std::optional<OpId>& value = facts_.op(facts_.whole_sums[op]).gradient_of;
  const bool fits = value.has_value() && facts_.op(*value).type.rank() == self.type.rank();
  if (fits) {
    Choose(op, LyingLike(op, seen_index(*value)));
  } else if (facts_.op(self.inputs[0]).type.rank() == self.type.rank()) {
    Choose(op, LyingLike(op, first));
  }
}

int Assignment::PassingThrough(OpId op, LayoutIndex index) {
  const std::pair<int, int> key(facts_.rule_of[op], index);
  if (const auto found = passing_.find(key); found != passing_.end()) return found->second;
  const Rule& rule = facts_.rule(op);
  const Layout layout = prices_.layout(index);
  std::vector<int> all_inputs;
  for (size_t i = 0; i < rule.inputs.size(); ++i) all_inputs.push_back(static_cast<int>(i));
  const auto group = std::find(rule.linear.begin(), rule.linear.end(), all_inputs);
  const bool only_sums = std::all_of(layout.partial.begin(), layout.partial.end(),
                                     [](const PartialAxis& partial) { return partial.reduction == Reduction::kSum; });
  int strategy = -1;
  if (!layout.is_partial() || (group != rule.linear.end() && only_sums)) {
    Strategy own = StrategyFromDimensions(layout, rule.inputs[0], rule, mesh());
    for (const PartialAxis& partial : layout.partial) {
      own.passes.push_back({.axis = partial.axis, .group = static_cast<int>(group - rule.linear.begin())});
    }
    strategy = Intern(op, own);
  }
  passing_.emplace(key, strategy);
  return strategy;
}

}  // namespace cleave
