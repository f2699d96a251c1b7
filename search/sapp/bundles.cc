#include "search/sapp/bundles.h"

#include <algorithm>
#include <deque>
#include <map>

namespace cleave {

Bundles FindBundles(const GraphFacts& facts) {
  const Graph& graph = *facts.graph;
  std::vector<OpId> parents;
  for (const Op& op : graph.ops) parents.push_back(op.id);
  const auto root = [&](OpId id) {
    while (parents[static_cast<size_t>(id.value())] != id) id = parents[static_cast<size_t>(id.value())];
    return id;
  };
  for (const Op& op : graph.ops) {
    if (facts.roles[op.id] != Role::kLight) continue;
    for (OpId input : op.inputs) {
      if (facts.roles[input] != Role::kLight) continue;
      const OpId a = root(op.id), b = root(input);
      parents[static_cast<size_t>(std::max(a, b).value())] = std::min(a, b);
    }
  }
  Bundles result{.bundles = {}, .bundle_of = IdVector<OpId, int>(graph.ops.size(), -1)};
  std::map<OpId, int> index;
  for (const Op& op : graph.ops) {
    if (facts.roles[op.id] != Role::kLight) continue;
    const auto [found, is_new] = index.emplace(root(op.id), static_cast<int>(result.bundles.size()));
    if (is_new) result.bundles.emplace_back();
    result.bundles[static_cast<size_t>(found->second)].push_back(op.id);
    result.bundle_of[op.id] = found->second;
  }
  return result;
}

Strategy Without(const Strategy& strategy, AxisId axis) {
  Strategy result = strategy;
  for (std::vector<AxisId>& axes : result.cuts) axes.erase(std::remove(axes.begin(), axes.end(), axis), axes.end());
  result.passes.erase(std::remove_if(result.passes.begin(), result.passes.end(),
                                     [&](const PassThrough& pass) { return pass.axis == axis; }),
                      result.passes.end());
  return result;
}

std::optional<Strategy> WithFactorCut(const Strategy& strategy, const Rule& rule, const Mesh& mesh, int factor,
                                      AxisId axis, const std::vector<AxisId>& order) {
  if (rule.factors[static_cast<size_t>(factor)].kind == FactorKind::kWhole) return std::nullopt;
  Strategy result = strategy;
  std::vector<AxisId>& axes = result.cuts[static_cast<size_t>(factor)];
  const auto own = std::find(order.begin(), order.end(), axis);
  const auto place = std::find_if(axes.begin(), axes.end(), [&](AxisId other) {
    return own != order.end() && std::find(own, order.end(), other) != order.end();
  });
  axes.insert(place, axis);
  if (!VerifyStrategy(result, rule, mesh).ok()) return std::nullopt;
  return result;
}

std::optional<Strategy> WithDimensionCut(const Strategy& strategy, const Rule& rule, const Mesh& mesh,
                                         const std::vector<FactorList>& dimensions, size_t dimension, AxisId axis,
                                         const std::vector<AxisId>& order) {
  for (int factor : dimensions[dimension]) {
    const int64_t pieces = mesh.Size(strategy.cuts[static_cast<size_t>(factor)]);
    const bool exhausted = pieces >= rule.factors[static_cast<size_t>(factor)].size;
    if (exhausted && factor != dimensions[dimension].back()) continue;
    return WithFactorCut(strategy, rule, mesh, factor, axis, order);
  }
  return std::nullopt;
}

int DimensionCutBy(const Layout& layout, AxisId axis) {
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    const std::vector<AxisId>& axes = layout.dimensions[d];
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return static_cast<int>(d);
  }
  return -1;
}

namespace {

// `op` with `axis` where `layout` has it in the given dimensions of the rule, and nowhere where it cannot be.
Strategy CutLike(const Assignment& assignment, OpId op, const std::vector<FactorList>& dimensions, const Layout& layout,
                AxisId axis) {
  const Strategy without = Without(assignment.strategy(op), axis);
  const int dimension = DimensionCutBy(layout, axis);
  if (dimension < 0) return without;
  const auto d = static_cast<size_t>(dimension);
  return WithDimensionCut(without, assignment.facts().rule(op), assignment.mesh(), dimensions, d, axis,
                          layout.dimensions[d])
      .value_or(without);
}

}  // namespace

std::vector<Change> MoveAxis(const Assignment& assignment, const Bundles& bundles, OpId start, const Strategy& strategy,
                             AxisId axis) {
  const GraphFacts& facts = assignment.facts();
  const int bundle = bundles.bundle_of[start];
  std::map<OpId, Strategy> moved;
  std::deque<OpId> queue = {start};
  moved.emplace(start, assignment.fixed(start) ? assignment.strategy(start) : strategy);
  const auto visit = [&](OpId op, const std::vector<FactorList>& dimensions, const Layout& layout) {
    if (bundles.bundle_of[op] != bundle || moved.count(op) > 0) return;
    moved.emplace(op, assignment.fixed(op) ? assignment.strategy(op) : CutLike(assignment, op, dimensions, layout, axis));
    queue.push_back(op);
  };
  while (!queue.empty()) {
    const OpId op = queue.front();
    queue.pop_front();
    const Rule& rule = facts.rule(op);
    const Strategy own = moved.at(op);
    const Layout output = OutputLayout(own, rule);
    for (const Read& read : facts.reads[op]) {
      visit(read.reader, facts.rule(read.reader).inputs[static_cast<size_t>(read.input)], output);
    }
    for (size_t i = 0; i < facts.op(op).inputs.size(); ++i) {
      visit(facts.op(op).inputs[i], facts.rule(facts.op(op).inputs[i]).output, InputLayout(own, rule, static_cast<int>(i)));
    }
  }
  std::vector<Change> changes;
  for (auto& [op, own] : moved) changes.push_back({.op = op, .strategy = std::move(own)});
  return changes;
}

void FollowDown(Assignment& assignment, const Bundles& bundles, OpId product, AxisId axis) {
  const GraphFacts& facts = assignment.facts();
  std::vector<int> done;
  for (const Read& read : facts.reads[product]) {
    const int bundle = bundles.bundle_of[read.reader];
    if (bundle < 0 || std::find(done.begin(), done.end(), bundle) != done.end()) continue;
    done.push_back(bundle);
    const Strategy start = CutLike(assignment, read.reader, facts.rule(read.reader).inputs[static_cast<size_t>(read.input)],
                                  assignment.seen(product), axis);
    assignment.Apply(MoveAxis(assignment, bundles, read.reader, start, axis));
  }
}

void FollowUp(Assignment& assignment, const Bundles& bundles, OpId product, AxisId axis) {
  const GraphFacts& facts = assignment.facts();
  std::vector<int> done;
  const std::vector<OpId>& inputs = facts.op(product).inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int bundle = bundles.bundle_of[inputs[i]];
    if (bundle < 0 || std::find(done.begin(), done.end(), bundle) != done.end()) continue;
    done.push_back(bundle);
    const Strategy start = CutLike(assignment, inputs[i], facts.rule(inputs[i]).output,
                                  assignment.wanted(product, static_cast<int>(i)), axis);
    assignment.Apply(MoveAxis(assignment, bundles, inputs[i], start, axis));
  }
}

}  // namespace cleave
