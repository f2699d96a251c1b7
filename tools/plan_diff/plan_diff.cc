#include "tools/plan_diff/plan_diff.h"

#include <map>
#include <utility>

namespace cleave::tools {
namespace {

// Calls `found` with the items of both lists that have the same `key_of`, in the order of `before`, then of `after`;
// null where a list has none.
template <typename Item, typename KeyOf, typename Found>
void MatchByKey(const std::vector<Item>& before, const std::vector<Item>& after, const KeyOf& key_of,
                const Found& found) {
  std::map<std::string, const Item*> later;
  for (const Item& item : after) later.emplace(key_of(item), &item);
  for (const Item& item : before) {
    const auto match = later.find(key_of(item));
    found(&item, match == later.end() ? nullptr : match->second);
    if (match != later.end()) later.erase(match);
  }
  for (const Item& item : after) {
    const auto left = later.find(key_of(item));
    if (left != later.end() && left->second == &item) found(nullptr, &item);
  }
}

using Setting = std::pair<std::string, std::string>;
using Figure = std::pair<std::string, double>;

std::optional<std::string> LayoutOf(const TensorView* tensor) {
  return tensor == nullptr ? std::nullopt : std::optional(tensor->layout);
}

std::vector<CollectiveChange> SumsOf(const PlanView& before, const PlanView& after) {
  std::vector<CollectiveChange> sums;
  const auto sum_of = [&](const CollectiveView& collective) -> CollectiveChange& {
    for (CollectiveChange& sum : sums) {
      if (sum.kind == collective.kind && sum.phase == collective.phase) return sum;
    }
    return sums.emplace_back(CollectiveChange{.kind = collective.kind, .phase = collective.phase});
  };
  for (const CollectiveView& collective : before.collectives) {
    CollectiveChange& sum = sum_of(collective);
    ++sum.count_before;
    sum.bytes_before += collective.sent_bytes;
  }
  for (const CollectiveView& collective : after.collectives) {
    CollectiveChange& sum = sum_of(collective);
    ++sum.count_after;
    sum.bytes_after += collective.sent_bytes;
  }
  return sums;
}

}  // namespace

PlanDiff Diff(const PlanView& before, const PlanView& after) {
  PlanDiff diff;
  MatchByKey(
      before.settings, after.settings, [](const Setting& setting) { return setting.first; },
      [&](const Setting* a, const Setting* b) {
        const std::optional<std::string> was = a == nullptr ? std::nullopt : std::optional(a->second);
        const std::optional<std::string> is = b == nullptr ? std::nullopt : std::optional(b->second);
        if (was != is) diff.settings.push_back({(a == nullptr ? b : a)->first, was, is});
      });
  MatchByKey(
      before.figures, after.figures, [](const Figure& figure) { return figure.first; },
      [&](const Figure* a, const Figure* b) {
        const std::optional<double> was = a == nullptr ? std::nullopt : std::optional(a->second);
        const std::optional<double> is = b == nullptr ? std::nullopt : std::optional(b->second);
        if (was != is) diff.figures.push_back({(a == nullptr ? b : a)->first, was, is});
      });
  MatchByKey(
      before.ops, after.ops, [](const OpView& op) { return op.name; },
      [&](const OpView* a, const OpView* b) {
        const std::optional<OpView> was = a == nullptr ? std::nullopt : std::optional(*a);
        const std::optional<OpView> is = b == nullptr ? std::nullopt : std::optional(*b);
        if (was != is) diff.ops.push_back({(a == nullptr ? b : a)->name, was, is});
      });
  MatchByKey(
      before.tensors, after.tensors, [](const TensorView& tensor) { return tensor.name; },
      [&](const TensorView* a, const TensorView* b) {
        if (LayoutOf(a) != LayoutOf(b)) {
          diff.tensors.push_back({(a == nullptr ? b : a)->name, LayoutOf(a), LayoutOf(b)});
        }
      });
  for (CollectiveChange& sum : SumsOf(before, after)) {
    if (sum.count_before != sum.count_after || sum.bytes_before != sum.bytes_after) {
      diff.collectives.push_back(std::move(sum));
    }
  }
  return diff;
}

}  // namespace cleave::tools
