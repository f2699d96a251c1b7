#include "ir/transforms/differentiate/contributions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/transforms/differentiate/slices.h"

namespace cleave::ir {

void Contributions::Add(const Op& user, size_t input, OpId gradient) {
  Parts& parts = At(user.inputs[input]);
  Contribution own{.gradient = gradient, .missing = {}, .passes = user.repetition.passes};
  if (builder_.graph().is_manual()) {
    std::vector<RankAxisSet> inputs;
    for (OpId id : user.inputs) inputs.push_back(Variance(id));
    own.missing = WorkedOver(builder_.graph().rank_axes, user, inputs) - inputs[input];
  } else if (user.kind == OpKind::kSlice && builder_.graph().op(gradient).kind == OpKind::kPad) {
    parts.slices.push_back(gradient);
    return;
  }
  const auto other = std::find_if(parts.others.begin(), parts.others.end(), [&](const Contribution& before) {
    return before.missing == own.missing && before.passes != own.passes;
  });
  if (other == parts.others.end()) {
    parts.others.push_back(std::move(own));
  } else {
    other->gradient = builder_.Add(OpKind::kAdd, {other->gradient, gradient}, {}, absl::StrCat(user.name, ".grad_sum"));
  }
}

Contributions::Parts& Contributions::At(OpId value) {
  if (!of_value_.contains(value)) of_value_.resize(static_cast<size_t>(value.value()) + 1);
  return of_value_[value];
}

std::vector<Contributions::Contribution> Contributions::Joined(const Op& op) {
  std::vector<Contribution> parts = At(op.id).others;
  for (const OpId slices : PutTogether(builder_, At(op.id).slices, absl::StrCat(op.name, ".grad_slices"))) {
    parts.push_back({.gradient = slices});
  }
  std::vector<Contribution> joined;
  for (Contribution& part : parts) {
    const auto same = std::find_if(joined.begin(), joined.end(),
                                   [&](const Contribution& other) { return other.missing == part.missing; });
    if (same == joined.end()) {
      joined.push_back(std::move(part));
      continue;
    }
    const char* suffix = part.missing.empty() ? ".grad" : ".grad_part";
    same->gradient = builder_.Add(OpKind::kAdd, {same->gradient, part.gradient}, {}, absl::StrCat(op.name, suffix));
  }
  return joined;
}

OpId Contributions::Sum(const Op& op) {
  const std::vector<Contribution> joined = Joined(op);
  OpId sum = SumOverRanks(op, joined[0]);
  for (size_t i = 1; i < joined.size(); ++i) {
    sum = builder_.Add(OpKind::kAdd, {sum, SumOverRanks(op, joined[i])}, {}, absl::StrCat(op.name, ".grad"));
  }
  return sum;
}

// Ranks that computed the same contribution need no communication to sum it.
OpId Contributions::SumOverRanks(const Op& op, Contribution contribution) {
  const std::vector<RankAxis>& axes = builder_.graph().rank_axes;
  const RankAxisSet differing = contribution.missing & Variance(contribution.gradient);
  const RankAxisSet equal = contribution.missing - differing;
  OpId sum = contribution.gradient;
  const std::string name = absl::StrCat(op.name, ".grad_sum");
  if (!differing.empty()) {
    sum = builder_.Add(
        OpKind::kAllReduce, {sum},
        {{attribute::kGroup, GroupText(axes, differing)}, {attribute::kSize, GroupSize(axes, differing)}}, name);
  }
  if (equal.empty()) return sum;
  return builder_.Add(OpKind::kScale, {sum}, {{attribute::kFactor, static_cast<double>(GroupSize(axes, equal))}}, name);
}

bool Contributions::PassThroughGather(const Op& op) {
  if (op.kind != OpKind::kAllGather) return false;
  const std::vector<RankAxis>& axes = builder_.graph().rank_axes;
  const RankAxisSet group = GroupOf(axes, op.attributes.Get(attribute::kGroup)) & DividedAxes(axes);
  const std::vector<Contribution> joined = Joined(op);
  const RankAxisSet differing = joined[0].missing & Variance(joined[0].gradient);
  if (joined.size() > 1 || group.empty() || !differing.Contains(group)) {
    of_value_[op.id] = {.slices = {}, .others = joined};
    return false;
  }
  const OpId part = builder_.Add(OpKind::kReduceScatter, {joined[0].gradient},
                                 {{attribute::kAxis, op.attributes.Get(attribute::kAxis)},
                                  {attribute::kGroup, op.attributes.Get(attribute::kGroup)},
                                  {attribute::kSize, op.attributes.Get(attribute::kSize)}},
                                 absl::StrCat(op.name, ".grad_x"));
  Add(op, 0, SumOverRanks(op, {.gradient = part, .missing = joined[0].missing - group}));
  return true;
}

RankAxisSet Contributions::Variance(OpId id) {
  const Graph& graph = builder_.graph();
  if (!graph.is_manual()) return {};
  while (!variance_.contains(id)) {
    const Op& op = graph.op(OpId(static_cast<int64_t>(variance_.size())));
    variance_.push_back(VarianceOfOp(graph.rank_axes, op, VarianceOfInputs(op, variance_)));
  }
  return variance_[id];
}

}  // namespace cleave::ir
