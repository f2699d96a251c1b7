#include "ir/proof/check/domain.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

int64_t InfiniteElements(const TensorOnRanks& tensors) {
  int64_t count = 0;
  for (const Tensor& tensor : tensors) {
    count += std::count_if(tensor.values.begin(), tensor.values.end(), [](double v) { return !std::isfinite(v); });
  }
  return count;
}

// The sources whose ranges may be chosen. States stay positive, as the squares that some of them are.
std::vector<OpId> FreeSources(const Graph& graph) {
  std::vector<OpId> sources;
  for (const Op& op : graph.ops) {
    const OpDefinition& definition = DefinitionOf(op);
    const bool is_free = definition.op_class == OpClass::kSource && definition.evaluate == nullptr &&
                         op.kind != OpKind::kState && !IsInteger(op.type.dtype);
    if (is_free) sources.push_back(op.id);
  }
  return sources;
}

SourceRange RandomRange(std::mt19937_64& random) {
  constexpr double kCenters[] = {0, 0.5, 1, 2, 5, 10, 30, 100, 1000};
  constexpr double kSpreads[] = {1, 0.3, 0.1, 0.01};
  const double center = kCenters[random() % std::size(kCenters)];
  return {.center = (random() & 1) != 0 ? center : -center, .spread = kSpreads[random() % std::size(kSpreads)]};
}

// The ranges of try number `attempt`, counted from 1, given the best so far.
SourceRanges NextRanges(int attempt, const std::vector<OpId>& sources, SourceRanges ranges, std::mt19937_64& random) {
  constexpr SourceRange kForAll[] = {{.center = 2, .spread = 1}, {.center = 0, .spread = 0.1}};
  if (attempt <= static_cast<int>(std::size(kForAll))) {
    for (OpId source : sources) ranges[source] = kForAll[attempt - 1];
    return ranges;
  }
  const size_t count = 1 + random() % 3;
  for (size_t i = 0; i < count; ++i) ranges[sources[random() % sources.size()]] = RandomRange(random);
  return ranges;
}

}  // namespace

Undefined UndefinedOf(const Graph& graph, const IdVector<OpId, TensorOnRanks>& values) {
  Undefined undefined;
  std::vector<OpId> results;
  if (graph.loss.has_value()) results.push_back(*graph.loss);
  for (const StateUpdate& update : graph.updates) results.push_back(update.value);
  for (OpId result : results) undefined.results += InfiniteElements(values[result]);
  for (const Op& op : graph.ops) {
    const bool reads_infinite = std::any_of(op.inputs.begin(), op.inputs.end(),
                                            [&](OpId input) { return InfiniteElements(values[input]) > 0; });
    if (reads_infinite) continue;
    const int64_t elements = InfiniteElements(values[op.id]);
    if (elements > 0 && !undefined.first.has_value()) undefined.first = op.id;
    undefined.origins += elements;
  }
  return undefined;
}

Domain FindDomain(const Graph& graph, int tries, const EvaluateIn& evaluate) {
  Domain domain{.ranges = {}, .left = UndefinedOf(graph, evaluate({})), .tries = 1};
  const std::vector<OpId> sources = FreeSources(graph);
  std::mt19937_64 random(1);
  while (!domain.found() && domain.tries < tries && !sources.empty()) {
    SourceRanges ranges = NextRanges(domain.tries, sources, domain.ranges, random);
    const Undefined undefined = UndefinedOf(graph, evaluate(ranges));
    ++domain.tries;
    if (undefined.results > 0 && undefined.origins > domain.left.origins) continue;
    domain.ranges = std::move(ranges);
    domain.left = undefined;
  }
  return domain;
}

}  // namespace cleave::ir
