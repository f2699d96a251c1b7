#include "search/propagate/offers.h"

#include <algorithm>

namespace cleave::search {
namespace {

bool UsesAxis(const ir::Strategy& strategy, ir::AxisId axis) {
  return std::any_of(strategy.cuts.begin(), strategy.cuts.end(), [&](const std::vector<ir::AxisId>& axes) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  });
}

}  // namespace

bool CutsBy(const ir::Layout& layout, const AxisGroup& group) {
  return std::any_of(group.begin(), group.end(), [&](ir::AxisId axis) { return DimensionCutBy(layout, axis) >= 0; });
}

bool CutsBy(const ir::Strategy& strategy, const AxisGroup& group) { return AxesUsed(strategy, group) > 0; }

int AxesUsed(const ir::Strategy& strategy, const AxisGroup& group) {
  return static_cast<int>(
      std::count_if(group.begin(), group.end(), [&](ir::AxisId axis) { return UsesAxis(strategy, axis); }));
}

ir::Strategy WithoutGroup(ir::Strategy strategy, const AxisGroup& group) {
  for (ir::AxisId axis : group) strategy = Without(strategy, axis);
  return strategy;
}

ir::Strategy TakeOffer(const Assignment& assignment, ir::OpId op, ir::Strategy strategy, const Offer& offer,
                       const AxisGroup& group) {
  const ir::Rule& rule = assignment.facts().rule(op);
  const std::vector<ir::FactorList>& dimensions =
      offer.slot < 0 ? rule.output : rule.inputs[static_cast<size_t>(offer.slot)];
  for (ir::AxisId axis : group) {
    const int dimension = DimensionCutBy(offer.layout, axis);
    if (dimension < 0 || UsesAxis(strategy, axis)) continue;
    const auto d = static_cast<size_t>(dimension);
    strategy = WithDimensionCut(strategy, rule, assignment.mesh(), dimensions, d, axis, offer.layout.dimensions[d])
                   .value_or(strategy);
  }
  return strategy;
}

Offers::Offers(const Assignment& assignment)
    : assignment_(assignment),
      facts_(assignment.facts()),
      sources_(facts_.graph->ops.size()),
      active_(facts_.graph->ops.size(), 1) {
  for (const ir::Op& op : facts_.graph->ops) sources_[op.id] = SourceOf(op.id);
}

std::optional<Offers::Source> Offers::SourceOf(ir::OpId value) const {
  if (facts_.is_set(value)) return std::nullopt;
  const Role role = facts_.roles[value];
  const bool given = role == Role::kInput && assignment_.options().dataset.has_value();
  const bool pinned = assignment_.fixed(value) || assignment_.demanded_output(value).has_value();
  if (given || pinned) return Source{.layout = assignment_.seen(value), .from = value};
  if (role == Role::kCopy) return sources_[facts_.op(value).inputs[0]];
  if (role != Role::kData) return std::nullopt;
  const ir::Rule& rule = facts_.rule(value);
  const std::vector<ir::OpId>& inputs = facts_.op(value).inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<Source>& source = sources_[inputs[i]];
    if (!source.has_value()) continue;
    const ir::Strategy like = StrategyFromDimensions(source->layout, rule.inputs[i], rule, assignment_.mesh());
    return Source{.layout = ir::OutputLayout(like, rule), .from = source->from};
  }
  return std::nullopt;
}

void Offers::AddFromInput(ir::OpId op, int input, std::vector<Offer>& offers) const {
  const ir::OpId maker = facts_.op(op).inputs[static_cast<size_t>(input)];
  const bool demanded = active_[maker] && assignment_.demanded_output(maker).has_value();
  if (facts_.is_set(maker)) {
    if (assignment_.decided(maker) || demanded) {
      offers.push_back({.slot = input, .layout = assignment_.seen(maker), .from = maker});
    }
    return;
  }
  if (const std::optional<Source>& source = sources_[maker]; source.has_value()) {
    if (!active_[source->from]) return;
    offers.push_back({.slot = input, .layout = source->layout, .from = source->from});
    return;
  }
  if (facts_.roles[maker] != Role::kParameter && facts_.roles[maker] != Role::kCopy) return;
  for (const Read& read : facts_.parameter_reads(maker)) {
    if (read.reader == op || !facts_.is_set(read.reader) || !assignment_.decided(read.reader)) continue;
    offers.push_back({.slot = input, .layout = assignment_.wanted(read.reader, read.input), .from = read.reader});
  }
}

std::vector<Offer> Offers::To(ir::OpId op, const AxisGroup& group) const {
  std::vector<Offer> offers;
  for (size_t i = 0; i < facts_.op(op).inputs.size(); ++i) AddFromInput(op, static_cast<int>(i), offers);
  if (const std::optional<ir::Layout> own = assignment_.demanded_output(op); own.has_value() && active_[op]) {
    offers.push_back({.slot = -1, .layout = *own, .from = op});
  }
  for (const Read& read : facts_.reads[op]) {
    if (!facts_.is_set(read.reader) || !assignment_.decided(read.reader)) continue;
    offers.push_back({.slot = -1, .layout = assignment_.wanted(read.reader, read.input), .from = read.reader});
  }
  offers.erase(
      std::remove_if(offers.begin(), offers.end(), [&](const Offer& offer) { return !CutsBy(offer.layout, group); }),
      offers.end());
  return offers;
}

void Offers::AddReaders(ir::OpId value, std::vector<ir::OpId>& ops) const {
  for (const Read& read : facts_.reads[value]) {
    if (facts_.roles[read.reader] == Role::kData || facts_.roles[read.reader] == Role::kCopy) {
      AddReaders(read.reader, ops);
    } else if (facts_.is_set(read.reader) && !assignment_.fixed(read.reader)) {
      ops.push_back(read.reader);
    }
  }
}

std::vector<ir::OpId> Offers::Neighbours(ir::OpId op) const {
  std::vector<ir::OpId> ops;
  AddReaders(op, ops);
  for (ir::OpId input : facts_.op(op).inputs) {
    if (facts_.is_set(input) && !assignment_.fixed(input)) ops.push_back(input);
    if (facts_.roles[input] == Role::kParameter) AddReaders(input, ops);
    if (facts_.roles[input] == Role::kCopy) AddReaders(facts_.op(input).inputs[0], ops);
  }
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

}  // namespace cleave::search
