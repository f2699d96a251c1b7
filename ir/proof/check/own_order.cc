#include "ir/proof/check/own_order.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/proof/check/compare.h"
#include "ir/proof/check/conditioning.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/transforms/zigzag/zigzag.h"

namespace cleave::ir {
namespace {

// What a step gives to others: it does not depend on the order in which rows lie.
std::vector<std::pair<std::string, OpId>> Results(const Graph& graph) {
  std::vector<std::pair<std::string, OpId>> results;
  if (graph.loss.has_value()) results.emplace_back("the loss", *graph.loss);
  for (const Metric& metric : graph.metrics) results.emplace_back(absl::StrCat("`", metric.name, "`"), metric.value);
  for (const StateUpdate& update : graph.updates) {
    results.emplace_back(absl::StrCat("the new `", graph.op(update.state).name, "`"), update.value);
  }
  // What is watched are numbers about all elements.
  for (const Look& look : graph.looks) {
    if (look.kind != LookKind::kWatch)
      results.emplace_back(absl::StrCat("what is shown of `", look.name, "`"), look.value);
  }
  return results;
}

std::string FindDifference(const Graph& graph, const Graph& in_own_order, uint64_t seed) {
  constexpr int64_t kStep = 3;  // Past the first, so that step-dependent scalars differ from their starts.
  const SourceValues sources = RandomSources(graph, seed);
  const IdVector<OpId, Tensor> expected = InterpretGraph(in_own_order, sources, kStep);
  const IdVector<OpId, Tensor> actual = InterpretGraph(graph, sources, kStep);
  IdVector<OpId, char> hangs;
  for (const auto& [name, value] : Results(graph)) {
    const Difference difference = LargestDifference(expected[value], expected[value], actual[value]);
    if (difference.relative <= kTolerance) continue;
    if (hangs.empty()) hangs = HangOnRounding(in_own_order, sources, kStep);
    if (hangs[value]) continue;
    return absl::StrCat(name, " differs with rows in zigzag order: element ", difference.element, " is ",
                        actual[value].values[difference.element], ", the model gives ",
                        expected[value].values[difference.element]);
  }
  return "";
}

}  // namespace

absl::Status CompareInOwnOrder(const Graph& graph) {
  const Graph in_own_order = InOwnOrder(graph);
  constexpr uint64_t kDraws = 3;
  std::string first;
  for (uint64_t draw = 1; draw <= kDraws; ++draw) {
    std::string difference = FindDifference(graph, in_own_order, draw);
    if (difference.empty()) return absl::OkStatus();
    if (first.empty()) first = std::move(difference);
  }
  return absl::InternalError(first);
}

}  // namespace cleave::ir
