// How the ops that a search does not set get their strategies from those that it sets.
//
// Follow(op) is called after op's strategy changed and renews what depends on it, in this order: backward ops that
// inherit, the storage of the parameters that the op leads (and with it their updates), the data that it reads, sums of
// gradients. Each of these is a function of the strategies it follows, so the result does not depend on the order of
// changes.
#include <optional>
#include <vector>

#include "search/solve/assignment/assignment.h"

namespace cleave::search {

void Assignment::Follow(ir::OpId changed) {
  if (!holds_) return FollowNow(changed);
  if (is_held_[changed]) return;
  is_held_[changed] = 1;
  held_.push_back(changed);
}

void Assignment::FollowNow(ir::OpId changed) {
  for (ir::OpId heir : facts_.inheritors[changed]) Choose(heir, table_.Inherited(heir, chosen_[changed]));
  for (ir::OpId parameter : facts_.led[changed]) DeriveStorage(parameter);
  for (ir::OpId input : facts_.op(changed).inputs) {
    const Role role = facts_.roles[input];
    if (role == Role::kData || role == Role::kInput) DeriveData(input);
  }
  for (ir::OpId member : facts_.update_groups[changed])
    Choose(member, table_.LyingLike(member, produced_index(changed)));
  for (ir::OpId sum : facts_.sums[changed]) DeriveSum(sum);
  for (const Read& read : facts_.reads[changed]) {
    const Role role = facts_.roles[read.reader];
    if (role == Role::kSum) DeriveSum(read.reader);
    if (role == Role::kData && options_.dataset.has_value()) DeriveData(read.reader);
  }
  if (facts_.roles[changed] == Role::kInput && options_.dataset.has_value()) DeriveData(changed);
  if (facts_.roles[changed] == Role::kSum) DeriveSum(changed);
}

void Assignment::DeriveStorage(ir::OpId parameter) {
  const Read& leader = facts_.leaders[parameter];
  if (fixed_[parameter] || leader.reader == parameter) return;
  Choose(parameter, table_.LyingLike(parameter, wanted_index(leader.reader, leader.input)));
}

void Assignment::DeriveData(ir::OpId op) {
  if (fixed_[op]) return;
  if (options_.dataset.has_value()) {
    if (facts_.roles[op] == Role::kInput) {
      Choose(op, *options_.dataset == ir::DatasetLayout::kDataParallel ? table_.BatchCut(op) : 0);
    } else if (!facts_.op(op).inputs.empty()) {
      Choose(op, table_.DataFrom(op, seen_index(facts_.op(op).inputs[0])));
    }
    return;
  }
  std::vector<LayoutIndex> wanted;
  for (const Read& read : facts_.reads[op]) wanted.push_back(wanted_index(read.reader, read.input));
  if (!wanted.empty()) Choose(op, table_.Data(op, wanted));
}

void Assignment::DeriveSum(ir::OpId op) {
  std::vector<LayoutIndex> inputs;
  for (ir::OpId input : facts_.op(op).inputs) inputs.push_back(seen_index(input));
  // An inner sum of a chain is the gradient of no value. It has the layout of the last sum of its chain.
  const std::optional<ir::OpId>& value = facts_.op(facts_.whole_sums[op]).gradient_of;
  Choose(op, table_.Sum(op, inputs, value.has_value() ? std::optional(seen_index(*value)) : std::nullopt));
}

}  // namespace cleave::search
